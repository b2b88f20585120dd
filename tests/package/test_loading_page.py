"""docs/loading.md: each way of loading a backend works as the page has it, from Outback's wheel."""

import os
import re
from pathlib import Path

import pytest
import torch
from conftest import ROOT, call

PAGE = (ROOT / "docs/loading.md").read_text()
SECTIONS = dict(re.findall(r"^## (\d)\. [^\n]*\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?://|#) (\S+\.(?:cpp|py|txt))\n")


class Folder:
    """Where a section's files are and its commands run, in an activated environment."""

    def __init__(self, path: Path, variables: dict[str, str]) -> None:
        self.path = path
        self.variables = variables

    def read(self, section: str) -> str:
        """Writes the files of the section, and answers with its commands."""
        commands = []
        for language, text in BLOCK.findall(SECTIONS[section]):
            if language == "sh":
                commands.append(text)
            else:
                (self.path / FILE.match(text).group(1)).write_text(text)
        return "".join(commands)

    def run(self, commands: str) -> str:
        return call(["sh", "-e", "-c", commands], cwd=self.path, **self.variables)

    def python(self, code: str) -> str:
        return call(["python", "-c", code], cwd=self.path, **self.variables)


@pytest.fixture
def folder(own_outback, build_tree, tmp_path) -> Folder:
    # An environment of its own, since what is installed here is loaded by every `import torch`.
    path = tmp_path / "a folder with spaces"
    path.mkdir()
    variables = {
        "OUTBACK_CACHE_DIR": os.fspath(build_tree / "package tests/cache"),
        "TORCH_EXTENSIONS_DIR": os.fspath(tmp_path / "extensions"),
        "CMAKE_BUILD_PARALLEL_LEVEL": "2",
    }
    return Folder(path, own_outback.activated() | variables)


ONES = "tensor([1., 1.], device='acme:0')"


def test_the_torch_half_is_compiled_once(folder):
    """It was, for the fixture; were it again, this would take minutes."""
    said = folder.python(
        "import os; os.environ['PATH'] = ''; from torch_outback.cli import main; main(['build'])"
    )
    assert (Path(said.strip()) / "lib/liboutback_kernels.a").exists()


def test_a_package(folder):
    said = folder.run(folder.read("1"))
    assert said.splitlines()[-1] == ONES
    assert folder.python("import torch; print(torch.acme.get_device_name())") == "Acme device\n"
    # What the wheel says of torch: to this package when it is imported, and to pip.
    minor = ".".join(torch.__version__.split(".")[:2])
    said = folder.python(
        "import importlib.metadata, pathlib, torch_acme; "
        "(half,) = pathlib.Path(torch_acme.__file__).parent.glob('_half/*'); "
        "print(half.name, importlib.metadata.requires('torch_acme'))"
    )
    assert said.startswith(f"torch-{minor} ['torch=={minor}.*'")


def test_an_editable_package_compiles_what_has_changed(folder):
    (command,) = re.findall(r"`(pip install [^`]*)`", SECTIONS["1"])
    folder.run(f"outback new acme --yes\n{command}")
    runtime = folder.path / "acme/src/runtime.cpp"
    runtime.write_text(runtime.read_text().replace("Acme device", "Acme changed"))
    said = folder.python("import torch; print(torch.acme.get_device_name())")
    assert said == "Acme changed\n"


def test_one_source_file(folder):
    assert folder.run(folder.read("2")).splitlines()[-1] == ONES


def test_a_compiled_runtime(folder):
    assert folder.run(folder.read("3")).splitlines()[-1] == ONES


def test_a_program_without_python(folder):
    assert folder.run(folder.read("4")).splitlines()[-1] == "acme:0 2"
    assert (folder.path / "build/_outback/torch_half/liboutback_torch.a").exists()  # the cache's
    needed = call(["ldd", folder.path / "build/program"])
    assert "libtorch_cpu" in needed
    assert "libpython" not in needed and "libtorch_python" not in needed


@pytest.fixture
def kernels(folder) -> Folder:
    """A folder with what the sections 3 and 5 make, and what the latter printed."""
    folder.run(folder.read("3"))
    folder.said = folder.run(folder.read("5"))
    return folder


def test_kernels_that_come_later(kernels):
    assert kernels.said.splitlines()[-1] == "tensor([0., 0.], device='acme:0')"
    # Its refusal shows whose zero_ it is. Until then Outback's is.
    refused = """
def refused(x):
    try:
        x[:, 0].zero_()
    except RuntimeError as error:
        return "this kernel is for dense tensors" in str(error)
    return False
"""
    use = "import torch, torch_outback\n" + refused
    load = "torch_outback.load('acme', 'libacme_runtime.so')\n"
    later = "torch.ops.load_library('kernels/acme_kernels.so')\n"
    make = "x = torch.ones(2, 2, device='acme')\n"
    show = "print(refused(x))\n"

    def shown(*steps: str) -> list[str]:  # PyTorch warns of a kernel that takes another's place
        said = kernels.python("".join((use, *steps))).splitlines()
        return [line for line in said if line in ("True", "False")]

    assert shown(load, make, show, later, show) == ["False", "True"]
    assert shown(load, later, make, show) == ["True"]
    assert shown(later, load, make, show) == ["True"]
