"""Programs ask the same of the device as of torch.cuda: but for what known_differences.py has,
which has nothing else."""

from concurrent.futures import ThreadPoolExecutor

import families
import pytest
from known_differences import KNOWN, known

# How many shares a family is tested in: so that pytest's workers have as much to do each.
SHARES = {
    "operators": 6,
    "choices": 2,
    "compiled": 2,
    "modules": 2,
    "optimizers": 1,
    "attention": 1,
    "training": 1,
    "graphs": 1,
}


@pytest.mark.parametrize(
    "name, share",
    [
        pytest.param(name, (i, count), id=f"{name}-{i + 1}-of-{count}")
        for name, count in SHARES.items()
        for i in range(count)
    ],
)
def test_the_device_asks_what_torch_cuda_asks(family, release, name, share):
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(family, name, device, share=share) for device in ("acme", "cuda")]
        here, there = (each.result() for each in runs)
    assert there
    told = families.differences(here, there)
    listed = {
        program: why for program, why in known(name, release) if families.is_of(program, share)
    }
    new = {program: words for program, words in told.items() if program not in listed}
    assert new == {}, "not in known_differences.py"
    assert listed.keys() == told.keys(), "these no longer differ: known_differences.py has them"
    for program, why in listed.items():
        assert why.explains(told[program]), (program, why.reason, told[program])


@pytest.mark.parametrize("release", ["2.11", "2.13", "2.14", "2.15"])
def test_each_program_is_listed_once(release):
    assert KNOWN.keys() <= SHARES.keys()
    for family in KNOWN:
        programs = [program for program, _ in known(family, release)]
        assert len(programs) == len(set(programs)), family
