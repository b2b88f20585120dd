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


# The backend's entry point, in a torch that has CUDA, and two devices by NVML.
UNASKED = """
import sys, torch, warnings
torch.version.cuda = "13.0"
torch.cuda._raw_device_count_nvml = lambda: 2
import _torch_acme_autoload
_torch_acme_autoload.load_unless_cuda()
print("torch_acme" in sys.modules, torch.cuda.is_initialized())
"""
SAID = (
    "torch_acme was not loaded, since it would break the autograd of CUDA tensors "
    "(pytorch#161129): `import torch_acme` loads it in one program, OUTBACK_AUTOLOAD=1 in all, "
    "and OUTBACK_AUTOLOAD=0 ends this message."
)


@pytest.fixture
def unasked(run_python):
    """What a program prints, and what it says on stderr."""

    def run(source: str = UNASKED, **variables: str) -> tuple[str, str]:
        unset = dict.fromkeys(["OUTBACK_AUTOLOAD", "OUTBACK_AUTOLOAD_SAID"], "")
        given = {"CUDA_VISIBLE_DEVICES": "0", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"} | unset
        done = run_python(source, check=False, **given | variables)
        assert done.code == 0, done
        return done.output, done.errors

    return run


def test_where_torch_has_cuda_devices_it_waits_to_be_imported(unasked):
    later = "import torch_acme; print(torch.ones(1).acme().is_acme)"
    assert unasked(UNASKED + later) == ("False False\nTrue", SAID)


@pytest.mark.parametrize("visible, loaded", [("", True), ("2", True), ("1", False)])
def test_devices_that_cuda_hides_do_not_count(unasked, visible, loaded):
    said = "" if loaded else SAID
    assert unasked(CUDA_VISIBLE_DEVICES=visible) == (f"{loaded} False", said)


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param("lambda: 2", "lambda: warnings.warn('no') or -1", id="NVML does not start"),
        pytest.param('"13.0"', "None", id="no CUDA in torch"),
        pytest.param("load_unless_cuda", "load", id="a device of CUDA's own"),
    ],
)
def test_otherwise_it_is_loaded(unasked, before, after):
    assert unasked(UNASKED.replace(before, after)) == ("True False", "")


def test_a_tree_of_processes_says_so_once(unasked):
    child = f"import subprocess; subprocess.run([sys.executable, '-c', {UNASKED!r}], check=True)"
    assert unasked(UNASKED + child) == ("False False\nFalse False", SAID)


@pytest.mark.parametrize("load", ["load", "load_unless_cuda"])
def test_a_variable_decides(unasked, load):
    source = UNASKED.replace("load_unless_cuda", load)
    assert unasked(source, OUTBACK_AUTOLOAD="1") == ("True False", "")
    assert unasked(source, OUTBACK_AUTOLOAD="0") == ("False False", "")


def test_a_malformed_variable_is_refused(unasked):
    printed, said = unasked(OUTBACK_AUTOLOAD="yes\n")
    assert printed == "False False"
    assert r"torch_acme was not loaded: OUTBACK_AUTOLOAD=yes\n: expected 0 or 1" in said


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
