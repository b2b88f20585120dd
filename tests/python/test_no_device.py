"""Where there is no device, nothing is available, and whatever needs one says why."""

import os
from pathlib import Path

import pytest
import torch_acme
from conftest import BUILD

pytestmark = pytest.mark.turns_on_driver

PACKAGE = Path(torch_acme.__file__).parents[1].name  # in the build tree, by the runtime
STAND_IN = str(BUILD / "tests/fakes") in os.environ.get("OUTBACK_CUDART", "")

# What makes each runtime find none, and what it says then.
NONE = {
    "python": ({"OUTBACK_HOST_DEVICES": "0"}, "there are no devices"),
    "python_level_zero": ({"OUTBACK_ZE_DEVICES": "0"}, "its drivers list no GPU"),
    "python_opencl": ({"OCL_ICD_VENDORS": "/nowhere"}, "OpenCL's loader lists no device"),
    # Driver and libcuda.so.1 are of different versions, and so is NVML.
    "python_cuda": (
        {"FAKE_CUDA_INIT_ERROR": "803", "FAKE_NVML_FAULTS": "nvmlInit_v2=18"},
        "cudaErrorSystemDriverMismatch (803)",
    ),
}

NEEDS_ONE = """
import torch, torch_acme
def refused(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("it did not need a device")

calls = (
    torch.acme.init,
    lambda: torch.ones(1, device="acme"),
    lambda: torch.ones(1).acme(),
    lambda: torch.acme.set_device(0),
    lambda: torch.acme.get_device_name(),
    torch.acme.synchronize,
    torch.acme.Stream,
)
"""


@pytest.mark.parametrize("validate", ["", "1"])
def test_what_needs_a_device_says_why_there_is_none(run_python, validate):
    if PACKAGE not in NONE or (PACKAGE == "python_cuda" and not STAND_IN):
        pytest.skip("nothing hides the devices of this runtime")
    environment, why = NONE[PACKAGE]
    done = run_python(
        NEEDS_ONE
        + """
assert not torch.acme.is_available() and not torch.accelerator.is_available()
assert torch.acme.device_count() == 0
for call in calls:
    print(refused(call))
assert not torch.acme.is_initialized()
assert not torch.acme.is_available()
""",
        OUTBACK_VALIDATE=validate,
        **environment,
    )
    said = done.output.splitlines()
    assert len(said) == 7
    for line in said:
        assert "no acme device is available: " in line, line
        assert why in line, line


@pytest.mark.skipif(not STAND_IN, reason="needs CUDA's stand-in")
def test_devices_that_were_counted_and_cannot_be_started(run_python):
    """NVML counts devices on a machine whose fabric manager does not run."""
    done = run_python(
        NEEDS_ONE
        + """
assert torch.acme.device_count() == 2  # nothing was started, as torch.cuda's count
for call in calls:
    print(refused(call))
assert torch.acme.device_count() == 0 and not torch.acme.is_available()
""",
        FAKE_CUDART_FAULTS="cudaGetDeviceCount:0=802",  # each time
        FAKE_CUDA_DEVICES="2",
    )
    for line in done.output.splitlines():
        assert "no acme device is available: " in line, line
        assert "cudaErrorSystemNotReady (802)" in line, line
        assert "systemctl status nvidia-fabricmanager" in line, line
