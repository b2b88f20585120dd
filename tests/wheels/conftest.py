"""One wheel for all releases of torch, and one environment in which torch is exchanged below it.

Each torch is gigabytes to download: ./dev test --all runs these tests.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORK = Path(os.environ.get("OUTBACK_WHEELS_DIR", ROOT / "build/wheels"))  # kept: wheels go on there
# Up, down, and to the oldest at the end: the wheel stays installed.
TORCHES = ("2.13", "2.14", "2.15", "2.12", "2.11")


def call(*command: str | Path, cwd: Path = WORK, **variables: str) -> str:
    kept = {it: text for it, text in os.environ.items() if not it.startswith("OUTBACK_")}
    done = subprocess.run(
        list(map(os.fspath, command)),
        cwd=cwd,
        env={**kept, "PYTHONPATH": "", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="session")
def outback() -> Callable[..., str]:
    """The command, from this tree, by the Python that runs the tests."""
    package = os.pathsep.join((str(ROOT / "generators/cli"), str(ROOT)))

    def run(*arguments: str | Path) -> str:
        return call(sys.executable, "-m", "torch_outback", *arguments, PYTHONPATH=package)

    return run


@pytest.fixture(scope="session")
def make_wheel(outback) -> Callable[..., Path]:
    """`make_wheel(name, torches, edit)`: of a new project, which `edit` may change."""

    def make(name: str, torches: Sequence[str], edit: Callable[[Path], None] | None = None) -> Path:
        WORK.mkdir(parents=True, exist_ok=True)
        if not (WORK / name).exists():
            outback("new", name, "--yes", "--toolkit", ROOT)
            if edit:
                edit(WORK / name)
        outback("wheel", name, "--no-repair", "--yes", "--torch", ",".join(torches))
        (made,) = (WORK / name / "dist").glob("*.whl")
        return made

    return make


@pytest.fixture(scope="session")
def wheel(make_wheel) -> Path:
    return make_wheel("acme", sorted(TORCHES))


@pytest.fixture(scope="session")
def wheel_of_another(make_wheel) -> Path:
    """Of zeta, for torch 2.13 alone: on Outback's runtime of host memory, with portable kernels."""

    def edit(project: Path) -> None:
        file = project / "CMakeLists.txt"
        text = file.read_text()
        assert text.count(" SOURCES src/kernels.cpp)") == 1
        text = text.replace(" SOURCES src/kernels.cpp)", " KERNELS host)")
        file.write_text(text.replace("OUTBACK_RUNTIME custom CACHE", "OUTBACK_RUNTIME host CACHE"))

    return make_wheel("zeta", ["2.13"], edit)


class User:
    """Whose environment has the wheel, and a torch."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "bin/python"
        call(sys.executable, "-m", "venv", "--clear", folder)

    @property
    def site(self) -> Path:
        return next(self.python.parents[1].glob("lib/python*/site-packages"))

    def pip(self, *arguments: str | Path) -> None:
        call(self.python, "-m", "pip", "--disable-pip-version-check", "-q", *arguments)

    def run(self, code: str, **variables: str) -> str:
        return call(self.python, "-c", code, cwd=self.site.parent, **variables)


@pytest.fixture(scope="session")
def user(wheel, tmp_path_factory) -> User:
    """Without torch; the wheel does not ask for one here, so that the tests may choose it."""
    made = User(tmp_path_factory.mktemp("user") / "environment")
    made.pip("install", "--no-deps", wheel)
    made.pip("install", f"{ROOT}[conformance]", "pytest", "numpy", "scikit-learn")
    return made


@pytest.fixture(scope="session", params=TORCHES)
def torch(user, request) -> str:
    """The release that is installed below the wheel."""
    user.pip("install", f"torch=={request.param}.*")
    return request.param
