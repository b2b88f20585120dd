"""torchrun starts as many processes as there are devices."""

import pytest
import torch
from torch.distributed.run import determine_local_world_size

pytestmark = pytest.mark.any_runtime

WORKER = """
import os
import torch, torch_acme
rank = int(os.environ["LOCAL_RANK"])
torch.acme.set_device(rank)
assert torch.ones(3, device="acme").sum().item() == 3
name = f"{rank}-of-{os.environ['LOCAL_WORLD_SIZE']}"
open(os.path.join(os.path.dirname(__file__), name), "w").close()
"""


def test_a_process_for_each_device(run_python, tmp_path):
    (tmp_path / "worker.py").write_text(WORKER)
    done = run_python(
        f"""
        from torch.distributed.run import main
        main(["--standalone", "--nproc-per-node=auto", {str(tmp_path / "worker.py")!r}])
        """,
        check=False,
        OMP_NUM_THREADS="1",
    )
    assert done.code == 0, done
    devices = torch.acme.device_count()
    ranks = sorted(path.name for path in tmp_path.glob("*-of-*"))
    assert ranks == [f"{rank}-of-{devices}" for rank in range(devices)], done


@pytest.mark.parametrize("count", ["auto", "acme"])
def test_the_devices_are_counted(count):
    assert determine_local_world_size(count) == torch.acme.device_count()
