"""Programs ask the same of the device as of torch.cuda: but for what known_differences.py has, which
has nothing else."""

from concurrent.futures import ThreadPoolExecutor

import families
import pytest
from known_differences import KNOWN, Known

# In how many shares a family is tested, so that pytest's workers have as much to do.
SHARES = {"operators": 6, "modules": 2, "optimizers": 1, "attention": 1, "graphs": 1, "training": 1}
SHARES |= {"choices": 2, "compiled": 2}


@pytest.mark.parametrize(
    "name, share",
    [
        pytest.param(name, f"{i}/{count}", id=f"{name}-{i + 1}-of-{count}")
        for name, count in SHARES.items()
        for i in range(count)
    ],
)
def test_the_device_asks_what_torch_cuda_asks(family, name, share):
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(family, name, device, share=share) for device in ("acme", "cuda")]
        here, there = (each.result() for each in runs)
    assert there
    told = families.differences(here, there)
    known = {program: known for program, known in by_program(name).items() if is_in(program, share)}
    new = {program: words for program, words in told.items() if program not in known}
    assert new == {}, f"{len(new)} that are not known"
    assert sorted(known) == sorted(told), "these no longer differ: take them from the list"
    for program, each in known.items():
        assert each.tells(told[program]), (program, told[program])
