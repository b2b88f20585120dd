"""What the package tests share: empty environments with a borrowed torch, and ways to fill them."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]
SCAFFOLD = ROOT / "generators/project"
TORCH = Path(importlib.util.find_spec("torch").origin).parents[1]
sys.path.insert(0, str(ROOT / "generators/cli"))
collect_ignore = ["older_scaffold"]  # data of test_update.py


# What takes longest, in this order.
LONGEST = (
    *("test_tutorial", "test_loading_page", "test_static_cxx_library"),
    *("test_presets", "test_two_backends", "test_consumer"),
)


@pytest.hookimpl(trylast=True)  # when some have been deselected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each worker begins with its part of the tests, and one that is done takes some of another's
    last ones: what takes longest comes first in each part, so that nobody waits for it."""
    modules: dict[str, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(Path(item.path).stem, []).append(item)
    longest = [modules.pop(name) for name in LONGEST if name in modules]
    others = [item for module in modules.values() for item in module]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        size = (len(items) - len(ordered)) // (workers - worker)
        first = [item for module in longest[worker::workers] for item in module]
        rest = max(0, size - len(first))
        ordered += [*first, *others[:rest]]
        del others[:rest]
    items[:] = ordered


class Environment:
    """A virtual environment that has torch, and whatever else a test puts into it.

    What it has besides comes from the folders `borrowed`; without one, torch from where these tests
    run. Made where there is none in `folder` yet.
    """

    def __init__(self, folder: Path, *borrowed: Path) -> None:
        self.folder = folder
        self.python = folder / "bin/python"
        if not self.python.exists():
            subprocess.check_call([sys.executable, "-m", "venv", "--without-pip", folder])
        paths = {"base": str(folder), "platbase": str(folder)}
        self.site = Path(sysconfig.get_path("purelib", "venv", vars=paths))
        # Downloading torch again would take minutes and prove nothing: borrow it by path.
        borrowed = borrowed or (TORCH,)
        (self.site / "borrowed.pth").write_text("".join(f"{site}\n" for site in borrowed))

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

    def activated(self) -> dict[str, str]:
        """The variables that `source bin/activate` sets, with a pip that installs nowhere else."""
        pip = self.folder / "bin/pip"
        pip.write_text('#!/bin/sh\nexec "$(dirname "$0")/python" -m pip "$@"\n')
        pip.chmod(0o755)
        path = os.pathsep.join([os.fspath(self.folder / "bin"), clean_environment()["PATH"]])
        return {"VIRTUAL_ENV": os.fspath(self.folder), "PATH": path, "PIP_NO_INDEX": "1"}


def clean_environment(**variables: str) -> dict[str, str]:
    """Our variables without those that make the build tree's backend visible."""
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # ninja is among the tools of this Python; make need not be there.
    tools = os.pathsep.join([os.fspath(Path(sys.executable).parent), ours.get("PATH", os.defpath)])
    fixed = {"PYTHONWARNINGS": "default", "PIP_NO_INPUT": "1", "CMAKE_GENERATOR": "Ninja"}
    # Of what is installed, most is never imported.
    fixed |= {"PIP_NO_COMPILE": "1"}
    # One name of the compiler, which CMake and packages call otherwise: ccache compares names.
    fixed |= {"CC": ours.get("CC", "cc"), "CXX": ours.get("CXX", "c++")}
    # The torch half is compiled once in a run, and not into the user's cache.
    if "OUTBACK_BUILD_DIR" in ours:
        fixed["OUTBACK_CACHE_DIR"] = os.path.join(ours["OUTBACK_BUILD_DIR"], "package tests/cache")
    return ours | fixed | {"PATH": tools} | variables


def call(command: list[str | Path], cwd: Path | None = None, **variables: str) -> str:
    """Runs a program that must succeed, and fails the test with its output where it does not."""
    done = subprocess.run(
        list(map(os.fspath, command)),
        env=clean_environment(**variables),
        cwd=cwd,
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


@pytest.fixture(scope="session")
def outback(build_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with Outback's wheel, and OUTBACK_CACHE_DIR with what `outback build` made.

    Both are in the build tree, under a path with spaces: made once in a run of the tests, by the
    first worker that wants it; what is compiled stays for the next run, as it takes a minute.
    """
    place = build_tree / "package tests"
    place.mkdir(exist_ok=True)
    run = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        run = run.parent  # which the workers share
    ready = run / "outback-is-ready"
    with FileLock(place / "lock"):
        if not ready.exists():
            shutil.rmtree(place / "environment", ignore_errors=True)
            made = Environment(place / "environment")
            wheels = ["--no-deps", "--no-index", "--no-build-isolation"]
            call([sys.executable, "-m", "pip", "wheel", "-q", *wheels, "-w", run / "wheel", ROOT])
            made.pip("install", "-q", "--no-deps", "--no-index", *(run / "wheel").glob("*.whl"))
            variables = made.activated() | {"OUTBACK_CACHE_DIR": os.fspath(place / "cache")}
            variables |= for_ccache(ROOT)
            kept = Path(call(["outback", "build"], **variables).splitlines()[-1])
            for other in list(kept.parent.iterdir()):  # of sources that have changed since
                if other.is_symlink() and other != kept:
                    other.unlink()
                elif other.is_dir() and other not in (kept, kept.resolve().parent):
                    shutil.rmtree(other)
            ready.write_text("")
    return Environment(place / "environment")


def for_ccache(folder: Path) -> dict[str, str]:
    """With these variables, what is compiled below the folder is found when it is compiled again:
    in another run, and in another clone."""
    return {
        "CCACHE_BASEDIR": os.fspath(folder),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_IGNOREOPTIONS": "-fmacro-prefix-map=*",
    }


def copy_of(outback: Environment, folder: Path) -> Environment:
    """With torch by a path that is the same wherever this Python is."""
    torch = folder.with_name("borrowed")
    torch.symlink_to(TORCH)
    made = Environment(folder, torch)
    ours = shutil.ignore_patterns("borrowed.pth")
    shutil.copytree(outback.site, made.site, ignore=ours, dirs_exist_ok=True)
    command = made.folder / "bin/outback"
    command.write_text(f'#!/bin/sh\nexec "{made.python}" -m torch_outback "$@"\n')
    command.chmod(0o755)
    return made


@pytest.fixture
def own_outback(outback: Environment, tmp_path: Path, monkeypatch) -> Environment:
    """A copy for this test, which may install more there, and compile against it."""
    for name, value in for_ccache(tmp_path).items():
        monkeypatch.setenv(name, value)
    return copy_of(outback, tmp_path / "an environment")


@pytest.fixture
def installed(environment: Environment, build_tree: Path) -> Environment:
    """An environment with torch_acme."""
    install_acme(environment, build_tree)
    return environment


def install_acme(environment: Environment, build_tree: Path) -> None:
    """Puts torch_acme there as its wheel lays it out, from the build that is there."""
    call(["cmake", "--install", build_tree / "generators", "--prefix", environment.site])
    shutil.copytree(SCAFFOLD / "torch_acme", environment.site / "torch_acme", dirs_exist_ok=True)
    shutil.copy(SCAFFOLD / "_torch_acme_autoload.py", environment.site)
    shutil.copytree(
        build_tree / "python/torch_acme-0.dist-info", environment.site / "torch_acme-0.dist-info"
    )
