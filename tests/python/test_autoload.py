"""`import torch` alone loads the backend."""

import pytest

pytestmark = pytest.mark.any_runtime


def test_import_torch_is_enough(run_interpreter):
    run_interpreter(
        """
        import torch
        assert torch.acme.is_available()
        assert torch.ones(1).acme().is_acme
        """
    )


def test_autoload_can_be_switched_off(run_interpreter):
    run_interpreter(
        """
        import torch
        assert not hasattr(torch, "acme")
        import torch_acme
        assert torch.ones(1).acme().is_acme
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


def test_the_package_can_be_imported_first(run_interpreter):
    run_interpreter(
        """
        import torch_acme
        import torch
        assert torch.ones(1).acme().is_acme
        """
    )


IMPORTED = """
import torch

def drivers():
    with open("/proc/self/maps") as maps:
        files = {line.split()[-1] for line in maps}
    names = ("libcudart", "libze_", "libnvidia-ml")
    return {file for file in files if any(name in file for name in names)}

torchs_own = drivers()  # a torch made for CUDA is linked with libcudart
import torch_acme
torch.device("acme:1")
assert drivers() == torchs_own
"""


@pytest.mark.turns_on_driver
def test_the_import_asks_the_driver_nothing(run_python, tmp_path):
    def calls(source: str) -> list[str]:
        """Those of a whole process, as the trace is written in pieces."""
        trace = tmp_path / "calls.txt"
        run_python(source, OUTBACK_TRACE=str(trace), TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        return [line for line in trace.read_text().splitlines() if line and line[0] != "#"]

    assert calls(IMPORTED) == []
    assert "device_count" in calls(IMPORTED + "torch.acme.is_available()")[0]
