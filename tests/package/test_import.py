"""torch_acme, installed, loads in both ways, and refuses another torch in both."""

import os
import sys

import pytest
import torch
from conftest import ROOT, Environment, call, install_acme

OTHER = f"{torch.__version__.partition('.')[0]}.999"  # a release of the same major number
GATE = f"torch_acme was built for torch {OTHER} and this is torch"


@pytest.fixture
def for_another_torch(installed):
    """An environment whose torch_acme says that it was made for another torch."""
    (half,) = (installed.site / "torch_acme/_half").iterdir()
    # If a compiled part were loaded before the check, this is what would be noticed.
    for compiled in (*half.iterdir(), installed.site / "torch_acme/libtorch_acme_runtime.so"):
        compiled.write_bytes(b"not a library")
    half.rename(half.with_name(f"torch-{OTHER}"))
    return installed


def test_plain_import_registers_the_backend(installed):
    done = installed.run(
        "import torch_acme, torch; print(torch.zeros(1).acme().device)",
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert done.stdout == "acme:0\n", done.stderr


def test_a_backend_that_is_refused_leaves_no_kernels_behind(installed):
    """They would compute on the tensors of the backend that is loaded in its place."""
    file = installed.site / "torch_acme/__init__.py"
    file.write_text(file.read_text().replace("[torch.float16, torch.bfloat16]", "[torch.int8]"))
    done = installed.run(
        "import torch\n"
        "try: import torch_acme\n"
        "except ImportError as error: print('amp_dtypes' in str(error))\n"
        "print(torch._C._dispatch_has_kernel_for_dispatch_key('aten::zero_', 'PrivateUse1'))",
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert done.stdout == "True\nFalse\n", done.stderr


def test_why_kernels_cannot_be_loaded_is_said(installed):
    (kernels,) = (installed.site / "torch_acme").glob("_half/*/kernels.so")
    kernels.write_bytes(b"no library, and long enough for a header" * 9)
    done = installed.run("import torch_acme", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    why = f"ImportError: {kernels} cannot be loaded: {kernels}: invalid ELF header"
    assert done.stderr.splitlines()[-1] == why


def test_plain_import_works_with_autoload_on(installed):
    done = installed.run("import torch_acme, torch; print(torch.zeros(1).acme().device)")
    assert done.stdout == "acme:0\n", done.stderr
    assert "Warning" not in done.stderr


def test_import_torch_loads_the_backend_by_itself(installed):
    done = installed.run("import torch; print(torch.zeros(1).acme().device)")
    assert done.stdout == "acme:0\n", done.stderr
    assert "Warning" not in done.stderr


def test_autoload_can_be_turned_off(installed):
    done = installed.run(
        "import sys, torch; print('torch_acme' in sys.modules, hasattr(torch.Tensor, 'acme'))",
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert done.stdout == "False False\n", done.stderr


def test_what_is_written_in_python_comes_with_the_library(installed):
    done = installed.run(
        """
import importlib.util, traceback
import torch
assert importlib.util.find_spec("torch_outback") is None
try:
    torch.acme.make_graphed_callables(None, (), enable_annotations=True)
except NotImplementedError:
    print(traceback.format_exc())
"""
    )
    assert done.returncode == 0, done.stderr
    assert 'File "<torch.acme._outback>/graphs.py", line ' in done.stdout
    assert "refuse_annotations(enable_annotations)" in done.stdout


def test_plain_import_names_the_other_torch(for_another_torch):
    done = for_another_torch.run("import torch_acme")
    assert done.returncode == 1
    assert f"ImportError: {GATE}" in done.stderr.splitlines()[-1]


def test_import_torch_survives_a_backend_for_another_torch(for_another_torch):
    done = for_another_torch.run(
        "import sys, torch; print(torch.ones(2).sum().item(), 'torch_acme' in sys.modules)"
    )
    assert done.stdout == "2.0 False\n", done.stderr
    assert GATE in done.stderr


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


# What ./dev --torch VERSION has set up, of this Python.
OTHER_TORCHES = [
    site
    for site in sorted(ROOT.glob(f".venv-*/lib/python{minor(sys.version)}/site-packages"))
    if (site / "torch/version.py").exists()
]


@pytest.mark.parametrize("site", OTHER_TORCHES or [None], ids=lambda site: site and site.parts[-4])
def test_another_release_of_torch_is_refused(site, tmp_path, build_tree):
    if site is None:
        pytest.skip("no other release of torch is here: ./dev test --torch 2.15.0 sets one up")
    environment = Environment(tmp_path / "environment", site)
    install_acme(environment, build_tree)
    other = environment.run("import torch; print(torch.__version__)").stdout.strip()
    if minor(other) == minor(torch.__version__):
        pytest.skip(f"{other} is the release that torch_acme was built for")
    gate = (
        f"torch_acme was built for torch {minor(torch.__version__)} and this is torch {other}: "
        "install the torch_acme that was made for it, rebuild it here, or set OUTBACK_COMPILE=1, "
        "which compiles it here with torch-outback, which is not installed, and a C++ compiler."
    )
    done = environment.run(
        "import sys, torch; print(torch.ones(2).sum().item(), 'torch_acme' in sys.modules)"
    )
    assert done.stdout == "2.0 False\n", done.stderr
    assert f"UserWarning: torch_acme was not loaded: {gate}" in done.stderr
    assert "Traceback" not in done.stderr
    done = environment.run("import torch_acme")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"ImportError: {gate}"


def test_another_python_is_refused(installed):
    (compiled,) = (installed.site / "torch_acme").glob("_half/*/_C.*")
    compiled.rename(compiled.with_name("_C.cpython-39-x86_64-linux-gnu.so"))
    done = installed.run("import torch_acme", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.stderr.splitlines()[-1] == (
        "ImportError: torch_acme was built for another Python: it has "
        f"_C.cpython-39-x86_64-linux-gnu.so, and this Python imports {compiled.name}: install the "
        "torch_acme that was made for it, rebuild it here, or set OUTBACK_COMPILE=1, which "
        "compiles it here with torch-outback, which is not installed, and a C++ compiler."
    )


@pytest.mark.parametrize(
    "argument, instead, words",
    [
        ("amp_dtypes=[torch.float16,", "amp_dtypes=[torch.int32,", "amp_dtypes has Int"),
        (
            "amp_dtypes=[torch.float16,",
            "amp_dtypes=['half',",
            "amp_dtypes: expected a sequence of torch.dtype",
        ),
        (
            "unsupported",
            'fallback="never",\n    unsupported',
            'fallback: expected "allow", "warn" or',
        ),
        ('"acme",', '"zeta",', "libtorch_acme_runtime.so has no function zeta_runtime; expected "),
        (
            "unsupported",
            "fallback=None,\n    unsupported",
            'fallback: expected "allow", "warn" or "error", but found None',
        ),
        (
            "unsupported",
            "excluded_operators='aten::mm',\n    unsupported",
            "excluded_operators: expected a sequence of texts such as ",
        ),
        (
            "unsupported",
            "tensor_methods='no',\n    unsupported",
            "tensor_methods: expected True or False, but found 'no'",
        ),
    ],
)
def test_what_the_registration_refuses_fails_the_import(installed, argument, instead, words):
    package = installed.site / "torch_acme"
    text = (package / "__init__.py").read_text()
    assert text.count(argument) == 1
    (package / "__init__.py").write_text(text.replace(argument, instead))
    done = installed.run("import torch; print(torch.ones(2).sum().item(), hasattr(torch, 'acme'))")
    assert done.stdout == "2.0 False\n", done.stderr
    assert "torch_acme was not loaded: " in done.stderr and words in done.stderr


def test_a_module_of_the_package_may_have_the_name_of_a_compiled_part(installed):
    (installed.site / "torch_acme/kernels.py").write_text("mine = True\n")
    done = installed.run("import torch_acme.kernels; print(torch_acme.kernels.mine)")
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("part", ["libtorch_acme_runtime.so", "_half/*/_C.*", "_half/*/kernels.so"])
def test_import_torch_survives_a_compiled_part_that_does_not_load(installed, part):
    (compiled,) = (installed.site / "torch_acme").glob(part)
    compiled.write_bytes(b"not a library")
    done = installed.run("import torch; print(torch.ones(2).sum().item())")
    assert done.stdout == "2.0\n", done.stderr
    assert "torch_acme was not loaded" in done.stderr


def test_the_entry_point_can_be_called_again(installed):
    done = installed.run(
        """
import _torch_acme_autoload, sys
print("torch" in sys.modules)  # nothing circular: it imports nothing before it is called
_torch_acme_autoload.load()    # which imports torch, and that calls it again
import torch
_torch_acme_autoload.load()
print(torch.ones(1).acme().device, torch.acme is sys.modules["torch_acme._C"])
"""
    )
    assert done.stdout == "False\nacme:0 True\n", done.stderr
    assert done.stderr == ""


def test_an_error_of_the_backend_keeps_its_traceback(installed):
    with (installed.site / "torch_acme/__init__.py").open("a") as package:
        package.write("\n\ndef broken():\n    raise RuntimeError('no such luck')\n\n\nbroken()\n")
    done = installed.run("import torch")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    cause = lines.index("RuntimeError: no such luck")
    assert any("torch_acme/__init__.py" in line and "in broken" in line for line in lines[:cause])
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in lines[-1]


def test_what_could_not_be_imported_is_shown_where_it_happened_by_a_plain_import(installed):
    with (installed.site / "torch_acme/__init__.py").open("a") as package:
        package.write("\nimport there_is_no_such_module\n")
    done = installed.run("import torch; import torch_acme")
    assert done.returncode == 1
    assert "torch_acme was not loaded: No module named 'there_is_no_such_module'" in done.stderr
    traceback = done.stderr.split("Traceback")[1].splitlines()
    assert any("torch_acme/__init__.py" in line for line in traceback)
    assert traceback[-1] == "ModuleNotFoundError: No module named 'there_is_no_such_module'"


DRIVERS = {
    "cuda": {"OUTBACK_CUDART": "/nowhere/libcudart.so", "OUTBACK_NVML": "/nowhere/libnvml.so"},
    "level_zero": {"ZE_ENABLE_ALT_DRIVERS": "/nowhere/libze_driver.so"},
    "opencl": {"OUTBACK_OPENCL_LOADER": "/nowhere/libOpenCL.so.1"},
}
REASONS = {
    "cuda": "OUTBACK_CUDART=/nowhere/libcudart.so cannot be opened: ",
    "level_zero": "Level Zero cannot be used: zeInit: ZE_RESULT_ERROR_UNINITIALIZED",
    "opencl": "there is no OpenCL loader: /nowhere/libOpenCL.so.1: ",
}


@pytest.mark.parametrize("runtime", DRIVERS)
def test_without_a_driver_nothing_is_available(build_tree, runtime):
    package = build_tree / f"python_{runtime}"
    if not package.is_dir():
        pytest.skip(f"this build has no {runtime} runtime, for want of its headers")
    said = call(
        [
            sys.executable,
            "-c",
            """
import torch
print(torch.acme.is_available(), torch.acme.device_count(), torch.accelerator.is_available())
try:
    torch.ones(1, device="acme")
except RuntimeError as error:
    print(error)
""",
        ],
        PYTHONPATH=os.fspath(package),
        **DRIVERS[runtime],
    )
    lines = said.splitlines()
    assert lines[0] == "False 0 False"
    assert "no acme device is available: there is no device 0: " + REASONS[runtime] in lines[1]
