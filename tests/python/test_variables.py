"""A variable that cannot be read: one sentence, no backend, and `import torch` goes on."""

from pathlib import Path

import pytest
import torch_acme

pytestmark = pytest.mark.any_runtime

PROGRAM = """
import sys
import torch
backend = torch._C._get_privateuse1_backend_name()
print(torch.ones(2).sum().item(), backend, "torch_acme" in sys.modules)
for attempt in range(2):
    try:
        import torch_acme
    except Exception as error:
        print(type(error).__name__, error)
"""

# A value that cannot be read, and what is said of it after the variable's name.
OF_THE_TORCH_HALF = [
    ("OUTBACK_VALIDATE", "perhaps", "=perhaps: expected 0 or 1"),
    ("OUTBACK_VALIDATE", "\udcff\n", "=\\xff\\x0a: expected 0 or 1"),
    (
        "OUTBACK_TRACE",
        "/nowhere/\udcff.json",
        ': the trace "/nowhere/\\xff.json" cannot be written: No such file or directory',
    ),
    (
        "OUTBACK_FAULTS",
        "mem_alloc:1=oom\udcff",
        ': faults "mem_alloc:1=oom\\xff", character 13 ("oom\\xff"): expected delay(5ms) or a '
        "status: invalid_argument, out_of_memory, device_lost, unsupported, internal or not_ready",
    ),
    ("OUTBACK_FALLBACK", "sometimes", "=sometimes: expected allow, warn or error"),
    ("OUTBACK_REPORT_LEAKS", "yes", "=yes: expected 0 or 1"),
    ("OUTBACK_FLOAT64", "no", "=no: expected 0 or 1"),
    ("OUTBACK_LAUNCH_BLOCKING", "on", "=on: expected 0 or 1"),
    ("OUTBACK_TWIN", "no", "=no: expected auto or never"),
    ("OUTBACK_PORTABLE", "yes", "=yes: expected apart, always or never"),
    (
        "OUTBACK_PORTABLE_EXCLUDED",
        "aten::mm,mm",
        '=aten::mm,mm: expected names such as "aten::mm" or "aten::add.Tensor", got "mm"',
    ),
    ("OUTBACK_SANITIZER", "on", "=on: expected 0 or 1"),
    ("OUTBACK_OPERATORS_STACK", "yes", "=yes: expected 0 or 1"),
]
OF_A_RUNTIME = {
    "python": [
        ("OUTBACK_HOST_DEVICES", "65", "=65: expected a number from 0 to 64"),
        (
            "OUTBACK_HOST_MEMORY",
            "lots",
            "=lots: expected a number of bytes above 0, with K, M or G after it or nothing",
        ),
        ("OUTBACK_HOST_ADDRESSABLE", "no", "=no: expected 0 or 1"),
        ("OUTBACK_HOST_PROTECTED", "no", "=no: expected 0 or 1"),
        ("OUTBACK_HOST_ADVERSARIAL", "-1", "=-1: expected a number from 0 to 18446744073709551615"),
        ("OUTBACK_HOST_FAIL_WORK", "-1", "=-1: expected a number from 0 to 18446744073709551615"),
    ],
    "python_cuda": [
        (name, "lib/x.so", "=lib/x.so: expected a library's absolute path, or its name without")
        for name in ("OUTBACK_CUDART", "OUTBACK_NVML")
    ],
    "python_opencl": [
        (
            "OUTBACK_OPENCL_LOADER",
            "./x.so",
            "=./x.so: expected a library's absolute path, or its name without",
        ),
    ],
    "python_level_zero": [
        (
            "OUTBACK_ZE_LOADER",
            "./x.so",
            "=./x.so: expected a library's absolute path, or its name without",
        ),
        (
            "OUTBACK_ZE_IN_ORDER",
            "yes",
            "=yes: expected 1 (lists keep their order where the driver can) or 0 (barriers do)",
        ),
    ],
}


def expect_refusal(run_python, variable: str, value: str, words: str) -> None:
    done = run_python(PROGRAM, check=False, **{variable: value})
    assert done.code == 0, done
    after, *errors = done.output.splitlines()
    assert after == "2.0 privateuseone False", done
    assert len(errors) == 2 and all("ImportError" in error for error in errors), done
    for said in (*errors, done.errors):
        assert said.count(f"{variable}{words}") == 1, done
    assert done.errors.count("UserWarning: torch_acme was not loaded: ") == 1, done
    assert "Traceback" not in done.errors, done


@pytest.mark.parametrize(("variable", "value", "words"), OF_THE_TORCH_HALF)
def test_it_is_refused(run_python, variable, value, words):
    expect_refusal(run_python, variable, value, words)


@pytest.mark.turns_on_driver
def test_it_is_refused_by_the_runtime_too(run_python):
    package = Path(torch_acme.__file__).parents[1].name
    if package not in OF_A_RUNTIME:
        pytest.skip("this runtime reads no variables")
    for variable, value, words in OF_A_RUNTIME[package]:
        expect_refusal(run_python, variable, value, words)


@pytest.mark.parametrize(
    "variable", [*sorted({name for name, _, _ in OF_THE_TORCH_HALF}), "OUTBACK_HOST_DEVICES"]
)
def test_an_empty_one_is_not_set(run_python, variable):
    source = "import torch, torch_acme; print(torch.ones(1).acme().device)"
    assert run_python(source, **{variable: ""}).output == "acme:0"


def test_a_list_of_devices_is_shown_as_what_it_is(run_python):
    done = run_python(
        """
        import torch, torch_acme
        try:
            torch.ones(1, device="acme:7")
        except torch.AcceleratorError as error:
            print(error)
        """,
        ACME_VISIBLE_DEVICES="0,\udcff\x1b",
    )
    assert done.output.endswith("(ACME_VISIBLE_DEVICES=0,\\xff\\x1b)"), done
