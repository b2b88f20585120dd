"""What the tests of `outback doctor` examine: an environment of a small Python, in which torch and
the backends are a few lines each, so that a run takes no second."""

import importlib.machinery
import importlib.util
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from conftest import ROOT, TORCH, Environment

__all__ = ["REGISTERS", "TORCH", "Patient", "python"]

# What of torch the doctor uses.
_TORCH = """
from . import version
from .version import __version__

class _C:
    _GLIBCXX_USE_CXX11_ABI = True
    name = "privateuseone"

    @staticmethod
    def _get_privateuse1_backend_name():
        return _C.name

class cuda:
    device_count = staticmethod(lambda: {devices})
    is_available = staticmethod(lambda: {devices} > 0)

class Tensor:
    def __init__(self, values): self.values = values
    def to(self, device): return self
    def cpu(self): return self
    def tolist(self): return self.values

uint8 = "uint8"
def tensor(values, dtype): return Tensor(values)
def empty(size, device): raise RuntimeError("no device: the driver is on holiday\\nmore")

class Stream:
    def __init__(self, device): pass
    def synchronize(self): pass

class Event(Stream):
    def record(self): pass
    def query(self): return True

def _import_device_backends():
    from importlib.metadata import entry_points
    for each in entry_points(group="torch.backends"):
        try:
            each.load()()
        except Exception as error:
            raise RuntimeError(f"Failed to load the backend extension: {{each.name}}.") from error
{more}
"""
# What of a backend, where it works.
REGISTERS = """
import torch

class _Module:
    @staticmethod
    def device_count(): return {count}
    class get_device_properties:
        def __init__(self, index): self.name, self.total_memory = "Small device", 3 << 30

def load():
    if torch._C.name != "privateuseone":
        raise RuntimeError(f"cannot register {name}: this process's PrivateUse1 backend is "
                           f"{{torch._C.name}} already, and PyTorch has room for one")
    torch._C.name = "{name}"
    torch.{name} = _Module
"""
COMPILER = """#!/bin/sh
echo "g++ (Small) 14.2.0 Copyright Free Software Foundation"
"""


@dataclass
class Said:
    status: int
    out: str
    err: str

    @property
    def document(self) -> dict:
        return json.loads(self.out)

    def found(self, section: str, name: str) -> dict:
        """The finding of that name, the only one."""
        all_of_it = self.document["findings"]
        found = [it for it in all_of_it if (it["section"], it["name"]) == (section, name)]
        assert len(found) == 1, [(it["section"], it["name"], it["found"]) for it in all_of_it]
        return found[0]

    def problem(self, section: str, name: str) -> dict:
        """It is a problem, and the command says so."""
        found = self.found(section, name)
        assert (found["status"], self.status) == ("problem", 1), found
        assert found["advice"]
        return found

    def not_ok(self) -> list[tuple[str, str, str]]:
        all_of_it = self.document["findings"]
        return [
            (it["section"], it["name"], it["status"]) for it in all_of_it if it["status"] != "ok"
        ]


class Patient:
    """`site` is where its packages are; `variables`, what it sets."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.python = python
        self.folder = folder
        self.site = folder / "site"
        self.site.mkdir(parents=True)
        self.cache = folder / "cache"
        tools = folder / "tools"
        tools.mkdir()
        self.program("c++", COMPILER)
        self.program("cmake", "#!/bin/sh\necho cmake version 3.31.6")
        self.program("ninja", "#!/bin/sh")
        self.variables = {
            "PATH": f"{tools}:/bin",
            "HOME": str(folder),
            "OUTBACK_CACHE_DIR": str(self.cache),
        }

    def program(self, name: str, text: str) -> Path:
        file = self.folder / "tools" / name
        file.write_text(text)
        file.chmod(0o755)
        return file

    def torch(self, version: str = "2.13.0", devices: int = 0, more: str = "", **facts) -> Path:
        folder = self.site / "torch"
        folder.mkdir()
        facts = {"cuda": None, "hip": None, "xpu": None, "debug": False, "git_version": ""} | facts
        lines = [f"{name} = {value!r}" for name, value in facts.items()]
        (folder / "version.py").write_text(f"__version__ = '{version}'\n" + "\n".join(lines) + "\n")
        (folder / "__init__.py").write_text(_TORCH.format(devices=devices, more=more))
        (folder / "include/ATen").mkdir(parents=True)
        (folder / "include/ATen/ATen.h").touch()
        self.distribution("torch", version)
        return folder

    def distribution(self, name: str, version: str, entry: str = "", requires: str = "") -> Path:
        folder = self.site / f"{name}-{version}.dist-info"
        folder.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        metadata += f"Requires-Dist: {requires}\n" if requires else ""
        (folder / "METADATA").write_text(metadata)
        if entry:
            (folder / "entry_points.txt").write_text(f"[torch.backends]\n{entry}\n")
        return folder

    def backend(self, name: str, source: str | None = None, requires: str = "") -> Path:
        """Of others than Outback: the module torch_<name>, and its entry point."""
        text = REGISTERS.format(name=name, count=1) if source is None else source
        (self.site / f"torch_{name}.py").write_text(text)
        entry = f"torch_{name} = torch_{name}:load"
        self.distribution(f"torch_{name}", "1.0", entry, requires)
        return self.site / f"torch_{name}.py"

    def of_outback(self, name: str, torch: str = "2.13", extension: str = "") -> Path:
        """As Outback's CMake lays one out, for that torch."""
        folder = self.site / f"torch_{name}"
        half = folder / f"_half/torch-{torch}"
        half.mkdir(parents=True)
        suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
        (half / (extension or f"_C{suffix}")).write_text("")
        (folder / "__init__.py").write_text(
            f"import torch\n"
            f"if torch.__version__[:4] != '{torch}':\n"
            f"    raise ImportError(f'torch_{name} was built for torch {torch} and this is torch "
            f"{{torch.__version__}}: install the one that was made for it')\n"
            + REGISTERS.format(name=name, count=2)
            + "load()\n"
        )
        (self.site / f"_torch_{name}_autoload.py").write_text(
            f"import warnings\ndef load():\n    try:\n        import torch_{name}\n"
            f"    except ImportError as error:\n"
            f"        warnings.warn(f'torch_{name} was not loaded: {{error}}')\n"
            f"load_unless_cuda = load\n"
        )
        entry = f"torch_{name} = _torch_{name}_autoload:load_unless_cuda"
        self.distribution(f"torch_{name}", "0.1.0", entry)
        return folder

    def doctor(self, *arguments: str, **variables: str) -> Said:
        return self.run(self.python, "-m", "torch_outback", "doctor", *arguments, **variables)

    def run(self, *command: str | Path, **variables: str) -> Said:
        path = f"{self.site}{os.pathsep}{ROOT / 'generators/cli'}"
        done = subprocess.run(
            list(map(os.fspath, command)),
            env={"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | self.variables | variables,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Said(done.returncode, done.stdout, done.stderr)

    def examined(self, *arguments: str, **variables: str) -> Said:
        """As a document."""
        return self.doctor("--json", *arguments, **variables)


def python(folder: Path) -> Path:
    """An environment with what `outback` imports, and without torch."""
    borrowed = folder / "borrowed"
    borrowed.mkdir()
    for name in ("click", "jinja2", "markupsafe", "packaging"):
        found = Path(importlib.util.find_spec(name).origin).parent
        (borrowed / name).symlink_to(found)
    return Environment(folder / "environment", borrowed).python
