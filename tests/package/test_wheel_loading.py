"""What the import of a package does with a manifest, and with a torch that the package has no half
for."""

import json
import sysconfig

import pytest
import torch
from conftest import call
from torch_outback.wheel import manifest, trying
from torch_outback.wheel.archive import Wheel

MINOR = ".".join(torch.__version__.split(".")[:2])
IMPORT = "import torch_acme, torch; print(torch.ones(2).acme().sum().item())"
ALONE = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}


@pytest.fixture
def with_manifest(installed):
    """The environment with torch_acme, and the manifest that outback wheel would make."""
    package = installed.site / "torch_acme"
    files = {
        f"torch_acme/{file.relative_to(package).as_posix()}": file.read_bytes()
        for file in package.rglob("*.so")
    }
    made = manifest.with_manifest(Wheel(files), "0", {MINOR: torch.__version__})
    (package / "_half/manifest.json").write_bytes(made.files["torch_acme/_half/manifest.json"])
    return installed


def test_a_package_is_loaded_with_its_manifest(with_manifest):
    done = with_manifest.run(IMPORT, **ALONE)
    assert done.stdout == "2.0\n", done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("part", ["libtorch_acme_runtime.so", "_half/*/_C.*", "_half/*/kernels.so"])
def test_a_part_with_another_hash_is_not_loaded(with_manifest, part):
    (file,) = (with_manifest.site / "torch_acme").glob(part)
    # It would load: what follows a library's own bytes is read by nobody.
    file.write_bytes(file.read_bytes() + b"another end")
    done = with_manifest.run(IMPORT, **ALONE)
    why = f"ImportError: {file} is not what torch_acme was made with, by its hash: install it again"
    assert done.stderr.splitlines()[-1] == why


def test_kernels_that_the_manifest_names_are_missed(with_manifest):
    (file,) = (with_manifest.site / "torch_acme").glob("_half/*/kernels.so")
    file.unlink()
    done = with_manifest.run(IMPORT, **ALONE)
    why = f"ImportError: {file} is missing: install torch_acme again"
    assert done.stderr.splitlines()[-1] == why


def test_a_part_that_no_manifest_names_is_loaded(with_manifest):
    """As that of a build tree, which has none."""
    file = with_manifest.site / "torch_acme/_half/manifest.json"
    document = json.loads(file.read_text())
    document["files"] = {}
    file.write_text(json.dumps(document))
    (runtime,) = (with_manifest.site / "torch_acme").glob("lib*.so")
    runtime.write_bytes(runtime.read_bytes() + b"another end")
    assert with_manifest.run(IMPORT, **ALONE).stdout == "2.0\n"


@pytest.mark.parametrize("text", ["", "[]", '{"files": {"libtorch_acme_runtime.so": 1}}'])
def test_a_manifest_that_cannot_be_read_is_refused(with_manifest, text):
    file = with_manifest.site / "torch_acme/_half/manifest.json"
    file.write_text(text)
    done = with_manifest.run(IMPORT, **ALONE)
    why = f"ImportError: {file} cannot be read: install torch_acme again"
    assert done.stderr.splitlines()[-1] == why


# ---- What `outback wheel` tests a half with


def test_an_operator_that_the_device_does_not_have_is_no_failure(installed):
    package = installed.site / "torch_acme"
    text = (package / "__init__.py").read_text()
    assert text.count("unsupported_dtypes=[],") == 1
    text = text.replace("unsupported_dtypes=[],", "unsupported_dtypes=[torch.float32],")
    (package / "__init__.py").write_text(text)
    result = installed.folder / "result.json"
    words = [trying.PROGRAM, installed.site, "torch_acme", MINOR, result]
    call([installed.python, "-I", *words], TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    found = json.loads(result.read_text())
    assert found["right"] == found["wrong"] == [] and len(found["missing"]) == 10
    assert "torch.float32" in found["missing"]["mm"]


# ---- Without a half for this torch

# Stands in for the one that compiles: notes what it is asked for.
TORCH_OUTBACK = """
class Refused(Exception):
    pass
"""
VARIABLES = """
import os
from . import Refused
def flag(name):
    value = os.environ.get(name, "")
    if value not in ("", "0", "1"):
        raise Refused(f"{name}={value}: expected 0 or 1")
    return value == "1"
"""
CACHE = """
from pathlib import Path
from . import Refused
def provide(portable, before_compiling):
    before_compiling()
    print("compiled", "with portable operators" if portable else "without them")
    if not Path({module!r}).exists():
        raise Refused("there is no C++ compiler")
    return Path({module!r})
def module_in(folder):
    return folder
"""


@pytest.fixture
def without_half(installed):
    """An environment whose torch_acme has a half for another torch, and whose torch_outback has
    compiled one for this torch."""
    (half,) = (installed.site / "torch_acme/_half").iterdir()
    (module,) = half.glob("_C.*")
    kept = installed.folder / f"_C{sysconfig.get_config_var('EXT_SUFFIX')}"
    module.rename(kept)
    (half / module.name).write_bytes(b"of another torch")
    half.rename(half.with_name("torch-2.999"))
    package = installed.site / "torch_outback"
    package.mkdir()
    (package / "__init__.py").write_text(TORCH_OUTBACK)
    (package / "variables.py").write_text(VARIABLES)
    (package / "cache.py").write_text(CACHE.format(module=str(kept)))
    (package / "toolkit.py").write_text("def version():\n    return '0.1.0'\n")
    return installed, kept


def test_nothing_is_compiled_unasked(without_half):
    done = without_half[0].run(IMPORT, **ALONE)
    assert done.stdout == ""
    assert "torch_acme was built for torch 2.999 and this is torch" in done.stderr
    assert "or set OUTBACK_COMPILE=1, which compiles it here" in done.stderr


def test_what_compiles_is_missed_where_it_is_asked_for(without_half):
    environment, _ = without_half
    (environment.site / "torch_outback").rename(environment.site / "elsewhere")
    done = environment.run(IMPORT, OUTBACK_COMPILE="1", **ALONE)
    assert "compiles it here with torch-outback, which is not installed, and" in done.stderr


def test_the_half_is_compiled_where_it_is_asked_for(without_half):
    done = without_half[0].run(IMPORT, OUTBACK_COMPILE="1", **ALONE)
    assert done.stdout.splitlines() == ["compiled without them", "2.0"], done.stderr
    said = f"torch_acme: compiling the torch half for torch {torch.__version__}, once, for minutes"
    assert done.stderr.splitlines()[0] == said
    (warning,) = (line for line in done.stderr.splitlines() if "Warning" in line)
    assert "torch_acme has no kernels of its own for torch" in warning


def test_the_kernels_of_another_python_serve(without_half):
    """They have no Python in them."""
    environment, _ = without_half
    half = environment.site / "torch_acme/_half/torch-2.999"
    (half / f"_C{sysconfig.get_config_var('EXT_SUFFIX')}").unlink()
    half.rename(half.with_name(f"torch-{MINOR}"))
    done = environment.run(IMPORT, **ALONE)
    assert "torch_acme was built for another Python: it has no _C" in done.stderr
    done = environment.run(IMPORT, OUTBACK_COMPILE="1", **ALONE)
    assert done.stdout.splitlines()[-1] == "2.0" and "Warning" not in done.stderr, done.stderr


def test_another_outback_compiles_nothing(without_half):
    """Its operators might call packed kernels in another way."""
    environment, _ = without_half
    manifest = environment.site / "torch_acme/_half/manifest.json"
    manifest.write_text(json.dumps({"outback": "0.0.9", "files": {}}))
    done = environment.run(IMPORT, OUTBACK_COMPILE="1", **ALONE)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: torch_acme was made with torch-outback 0.0.9, and OUTBACK_COMPILE=1 finds "
        "0.1.0: pip install torch-outback==0.0.9"
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("1", "ImportError: torch_acme: OUTBACK_COMPILE=1: there is no C++ compiler"),
        ("yes", "ImportError: OUTBACK_COMPILE=yes: expected 0 or 1"),
    ],
)
def test_why_nothing_is_compiled_is_said(without_half, value, why):
    environment, kept = without_half
    kept.unlink()
    done = environment.run(IMPORT, OUTBACK_COMPILE=value, **ALONE)
    assert done.stderr.splitlines()[-1] == why


def test_import_torch_says_it_and_goes_on(without_half):
    without_half[1].unlink()
    done = without_half[0].run("import torch; print(torch.ones(2).sum())", OUTBACK_COMPILE="1")
    assert done.stdout.splitlines()[-1] == "tensor(2.)"
    assert "torch_acme was not loaded: torch_acme: OUTBACK_COMPILE=1: there is no" in done.stderr
