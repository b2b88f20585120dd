"""The type stubs that the scaffold brings: torch-stubs/acme, a partial stub package (PEP 561), with
which `import torch.acme` type-checks and the rest of torch keeps its own types."""

import os
import shutil
import tempfile
from pathlib import Path

from . import build, console, shell
from .environment import DEFAULT_TORCH, Environment
from .paths import ROOT

PROJECT = ROOT / "generators/project"
_WRITER = ROOT / "tools/dev/stub_writer.py"
_PACKAGE = "torch-stubs"
# What has to type-check with them.
_CHECKED = (
    "examples/train_digits",
    "examples/custom_op/show.py",
    "examples/streams",
    "examples/transformer/gpt.py",
    "examples/two_devices/split.py",
    "tests/types/uses_device_module.py",
    "backend_template/module/_outback",
)


def write(environment: Environment, folder: Path) -> None:
    """Those of the backend in the build tree `folder` become the scaffold's."""
    with console.step("type stubs"):
        shutil.rmtree(PROJECT / _PACKAGE, ignore_errors=True)
        _write(environment, folder, PROJECT)


def check(environment: Environment, folder: Path) -> str:
    """Fails where the scaffold has other stubs than the module, or mypy finds something."""
    if environment.torch.partition("+")[0] != DEFAULT_TORCH:
        raise console.NotRun(f"the stubs are made with torch {DEFAULT_TORCH}")
    with tempfile.TemporaryDirectory() as made, console.step("type stubs"):
        _write(environment, folder, Path(made))
        if _texts(Path(made)) != _texts(PROJECT):
            package = (PROJECT / _PACKAGE).relative_to(ROOT)
            raise console.Failure(f"{package} is not up to date: run ./dev docs")
    with tempfile.TemporaryDirectory() as site, console.step("mypy"):
        _mypy(environment, Path(site))
    return "up to date, mypy finds nothing"


def _write(environment: Environment, folder: Path, to: Path) -> None:
    command = [environment.python, _WRITER, to]
    shell.run("stubs", command, env=build.python_path(folder))


def _texts(project: Path) -> dict[str, str]:
    files = sorted(path for path in (project / _PACKAGE).rglob("*") if path.is_file())
    return {os.fspath(path.relative_to(project)): path.read_text("utf-8") for path in files}


def _mypy(environment: Environment, home: Path) -> None:
    """As a user has it: the stubs beside torch in site-packages, the one place for partial ones;
    and conformance as a part of the command's package."""
    python = home / "bin/python"
    shell.run("mypy", [environment.python, "-m", "venv", "--without-pip", home])
    site = Path(_purelib(python))
    (site / "torch.pth").write_text(f"{_purelib(environment.python)}\n", encoding="utf-8")
    shutil.copytree(PROJECT / _PACKAGE, site / _PACKAGE)
    shutil.copytree(PROJECT / "torch_acme", site / "torch_acme")
    shutil.copy(ROOT / "generators/loader/_loading.py", site / "torch_acme")
    options = ["--python-executable", python, "--cache-dir", home / "cache"]
    # scikit-learn, which an example loads its data with, has no types.
    options += ["--disable-error-code", "import-untyped", "--warn-unused-ignores"]
    mypy = [environment.python, "-m", "mypy", *options]
    shell.run("mypy", [*mypy, *(ROOT / path for path in _CHECKED)], append=True, cwd=ROOT)
    shutil.copytree(ROOT / "generators/cli/torch_outback", home / "cli/torch_outback")
    shutil.copytree(ROOT / "conformance", home / "cli/torch_outback/conformance")
    variables = {"MYPYPATH": os.fspath(home / "cli")}
    shell.run("mypy", [*mypy, "-p", "torch_outback"], env=variables, append=True, cwd=ROOT)


def _purelib(python: Path) -> str:
    question = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return shell.output([python, "-c", question]).strip()
