"""Device memory that the CPU cannot address: on the host runtime it faults, and says where."""

import os

import pytest
from conftest import BUILD

pytestmark = pytest.mark.any_runtime

SOURCE = """
import torch, torch_acme
x = torch.arange(3.0).acme()
print((x + 1).tolist(), flush=True)
torch.ops.outback_test.peek(x)
"""


@pytest.fixture
def protected_path() -> str:
    folder = BUILD / "python_protected"
    if not folder.is_dir():
        pytest.skip("this build has no python_protected")
    return os.fspath(folder)


def test_a_kernel_that_reads_it_is_named(run_python, protected_path):
    done = run_python(SOURCE, check=False, PYTHONPATH=protected_path, OUTBACK_HOST_PROTECTED="1")
    assert done.output == "[1.0, 2.0, 3.0]"
    assert done.code < 0, "killed by a signal"
    assert (
        "outback: the CPU touched device memory that it cannot address, in outback_test::peek"
        in done.errors
    )


def test_the_same_kernel_runs_where_the_cpu_can(run_python, protected_path):
    run_python(SOURCE, PYTHONPATH=protected_path, OUTBACK_HOST_PROTECTED="0")
