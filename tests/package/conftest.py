"""What the package tests share: empty environments with a borrowed torch, and ways to fill them."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCAFFOLD = ROOT / "generators/project"
sys.path.insert(0, str(ROOT / "generators/cli"))
collect_ignore = ["older_scaffold"]  # data of test_update.py


class Environment:
    """A virtual environment that has torch, and whatever else a test puts into it."""

    def __init__(self, folder: Path) -> None:
        subprocess.check_call([sys.executable, "-m", "venv", "--without-pip", folder])
        self.python = folder / "bin/python"
        paths = {"base": str(folder), "platbase": str(folder)}
        self.site = Path(sysconfig.get_path("purelib", "venv", vars=paths))
        # Downloading torch again would take minutes and prove nothing: borrow it by path.
        torch = Path(importlib.util.find_spec("torch").origin)
        (self.site / "borrowed.pth").write_text(f"{torch.parents[1]}\n")

    def run(self, code: str, **variables: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [self.python, "-c", code],
            env=clean_environment(**variables),
            cwd=self.site.parent,  # nothing to import lies here
            capture_output=True,
            text=True,
            timeout=120,
        )

    def pip(self, *arguments: str | Path) -> None:
        call([sys.executable, "-m", "pip", "--python", self.python, *arguments])


def clean_environment(**variables: str) -> dict[str, str]:
    """Our variables without those that make the build tree's backend visible."""
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # ninja is among the tools of this Python; make need not be there.
    tools = os.pathsep.join([os.fspath(Path(sys.executable).parent), ours.get("PATH", os.defpath)])
    fixed = {"PYTHONWARNINGS": "default", "PIP_NO_INPUT": "1", "CMAKE_GENERATOR": "Ninja"}
    return ours | fixed | {"PATH": tools} | variables


def call(command: list[str | Path], **variables: str) -> str:
    """Runs a program that must succeed, and fails the test with its output where it does not."""
    done = subprocess.run(
        list(map(os.fspath, command)),
        env=clean_environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        pytest.fail(f"{' '.join(map(str, command))}\n{done.stdout}", pytrace=False)
    return done.stdout


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "environment")


@pytest.fixture(scope="session")
def build_tree() -> Path:
    """The build tree under test; ./dev names it."""
    folder = os.environ.get("OUTBACK_BUILD_DIR", ROOT / "build/dev")
    if not Path(folder, "generators/cmake_install.cmake").exists():
        pytest.skip(f"{folder} is no build tree with the scaffold in it")
    return Path(folder)


@pytest.fixture
def installed(environment: Environment, build_tree: Path) -> Environment:
    """An environment with torch_acme as its wheel lays it out, from the build that is there."""
    call(["cmake", "--install", build_tree / "generators", "--prefix", environment.site])
    shutil.copytree(SCAFFOLD / "torch_acme", environment.site / "torch_acme", dirs_exist_ok=True)
    shutil.copy(SCAFFOLD / "_torch_acme_autoload.py", environment.site)
    shutil.copytree(
        build_tree / "python/torch_acme-0.dist-info", environment.site / "torch_acme-0.dist-info"
    )
    return environment
