"""What a run imports: what PYTHONPATH names before what is installed, and nothing of the current
folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.running import interpreter

ROOT = Path(__file__).resolve().parents[2]
RUN = interpreter.NO_CURRENT_FOLDER + "from conformance.command import main; main()"
FAKE = """
import sys, types, torch
torch.utils.rename_privateuse1_backend("npu_of_two")
module = types.ModuleType("torch.npu_of_two")
module.device_count = lambda: 1
module.is_available = lambda: True
module.current_device = lambda: 0
module.is_initialized = lambda: True
torch._register_device_module("npu_of_two", module)
"""


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_imports_nothing_from_the_current_folder(tmp_path):
    ran = tmp_path / "ran"
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("json", "multiprocessing", "numpy", "runpy", "torch_acme", "triton", "yaml"):
        (folder / f"{name}.py").write_text(f"print(__name__, file=open({str(ran)!r}, 'a'))")
    done = run(
        folder,
        *("--device=acme", "--import=torch_acme", "--jobs=1", "--suite=process", "-k", "spawn"),
        PYTHONPATH=os.pathsep.join([*map(os.path.abspath, paths()), str(ROOT)]),
    )
    assert not ran.exists(), ran.read_text()
    assert done.returncode == 0 and "2 pass, 0 fail" in done.stdout, done.stdout + done.stderr


def test_a_module_in_the_current_folder_is_one_to_name(tmp_path):
    (tmp_path / "torch_small.py").touch()
    done = run(
        tmp_path,
        *("--device=small", "--import=torch_small", "--jobs=1", "--suite=registration", "--list"),
        PYTHONPATH=str(ROOT),
    )
    assert done.returncode == 2
    assert "No module named 'torch_small'; the current folder, which has it, is not" in done.stderr


def paths() -> list[str]:
    return [it for it in os.environ["PYTHONPATH"].split(os.pathsep) if it]


@pytest.mark.parametrize("first", ["named", "installed"])
def test_the_backend_that_pythonpath_names_is_tested(tmp_path, first):
    """Where the command is installed in one folder with another build of the backend."""
    for place in ("named", "installed"):
        package = tmp_path / place / "torch_npu_of_two"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"{FAKE}module.__version__ = {place!r}\n")
    (tmp_path / "installed/conformance").symlink_to(ROOT / "conformance")
    named = [tmp_path / "named"] if first == "named" else []
    written = tmp_path / "report.json"
    done = run(
        tmp_path,
        *("--device=npu_of_two", "--import=torch_npu_of_two", "--jobs=1", "--level=quick"),
        *("--suite=registration", "-k", "name", f"--json={written}"),
        PYTHONPATH=os.pathsep.join(map(str, [*named, tmp_path / "installed"])),
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert written.exists(), done.stdout + done.stderr
    told = json.loads(written.read_text())["backend"]
    assert told == {"torch_npu_of_two": str(tmp_path / first / "torch_npu_of_two/__init__.py")}
    assert f"tested: torch_npu_of_two, {tmp_path / first}/torch_npu_of_two" in done.stdout
