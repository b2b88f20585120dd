"""The Python that has torch: a virtual environment for each torch release, or the active one."""

import importlib.util
import os
import platform
import re
import sys
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import console, shell
from .paths import BUILD, ROOT

DEFAULT_TORCH = "2.13.0"
_REQUIREMENTS = Path(__file__).with_name("requirements")


@dataclass(frozen=True)
class Environment:
    python: Path
    torch: str
    build: Path  # build trees of this torch, one folder for each preset

    def tool(self, name: str) -> Path | None:
        """A program that the environment brings."""
        path = self.python.parent / name
        return path if path.exists() else None

    @property
    def jobs(self) -> int:
        """Compilers at a time: one for each core, if there are 2 GiB of memory for it."""
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return max(1, min(len(os.sched_getaffinity(0)), memory // 2**31))

    def has(self, module: str) -> bool:
        question = f"import importlib.util as u; print(u.find_spec('{module}') or '')"
        return bool(shell.output([self.python, "-c", question]))


def provide(version: str, index: str | None, *groups: str) -> Environment:
    """The environment for torch `version`, made or completed where it has to be.

    `groups` are the files of requirements/ that this work needs; each is installed when it is first
    asked for, or has changed.
    """
    home, found = _place(version)
    keys = _keys(version, index, groups)
    _provide_torch(home, found, keys, index)
    for group in groups:
        with _kept_up_to_date(home, group, keys[group]) as stale:
            if stale:
                with console.step(f"python packages, {group}"):
                    file = _REQUIREMENTS / f"{group}.txt"
                    shell.run(f"pip-{group}", [*_pip(found), "-r", file])
    return found


def _provide_torch(home: Path, made: Environment, keys: dict[str, str], index: str | None) -> None:
    _keep_bytecode()
    with _kept_up_to_date(home, "python", keys["python"]) as stale:
        if stale:
            with console.step("python environment"):
                shell.run("venv", [sys.executable, "-m", "venv", home])
    with _kept_up_to_date(home, "torch", keys["torch"]) as stale:
        if stale:
            _install_torch(made, made.torch, index)


def provide_cuda(version: str) -> Path:
    """A Python whose torch is the CUDA build of that release, made where there is none: 5 GB."""
    _keep_bytecode()
    home = ROOT / f".venv-cuda-{version}"
    made = Environment(home / "bin" / "python", version, BUILD)
    keys = _keys(version, None, ())
    with _kept_up_to_date(home, "python", keys["python"]) as stale:
        if stale:
            with console.step("python environment, CUDA"):
                shell.run("venv-cuda", [sys.executable, "-m", "venv", home])
    with _kept_up_to_date(home, "torch", keys["torch"]) as stale:
        if stale:
            # Exactly that version: 2.13.0+cpu is another.
            _constraints(made).write_text(f"torch==={version}\n")
            with console.step(f"torch {version}, CUDA"):
                shell.run(
                    "pip-torch-cuda", [*_pip(made), f"torch==={version}", "numpy", "expecttest"]
                )
    return made.python


def provide_libraries(version: str, instead: Iterable[str]) -> Environment:
    """One with the libraries of requirements/libraries.txt, or with `instead` of some, such as
    "accelerate==1.16.0". Their torch is of the release `version`."""
    home = ROOT / ".venv-libraries"
    made = Environment(home / "bin" / "python", version, BUILD)
    keys = _keys(version, None, ("libraries",))
    _provide_torch(home, made, keys, None)
    listed = _REQUIREMENTS / "libraries.txt"
    with _kept_up_to_date(home, "libraries", "\n".join((keys["libraries"], *instead))) as stale:
        if stale:
            with console.step("libraries"):
                shell.run("pip-libraries", [*_pip(made), "-r", listed])
                if instead:
                    shell.run("pip-libraries", [*_pip(made), *instead], append=True)
    return made


def provide_intel_opencl() -> dict[str, str]:
    """The variables by which programs find Intel's OpenCL driver for CPUs, which compiles SPIR-V,
    made where there is none: 830 MB, by Intel's licence."""
    home = ROOT / ".venv-intel-opencl"
    file = _REQUIREMENTS / "intel_opencl.txt"
    interpreter = f"{platform.python_version()} {os.path.realpath(sys.executable)}\n"
    python = home / "bin" / "python"
    with _kept_up_to_date(home, "driver", interpreter + file.read_text()) as stale:
        if stale:
            with console.step("Intel's OpenCL driver"):
                shell.run("venv-intel-opencl", [sys.executable, "-m", "venv", home])
                options = ["--disable-pip-version-check", "--no-input", "install", "--no-compile"]
                shell.run("pip-intel-opencl", [python, "-m", "pip", *options, "-r", file])
                # The package's own file has a path of where it was built.
                vendors = home / "vendors"
                vendors.mkdir(parents=True, exist_ok=True)
                vendors.joinpath("intel.icd").write_text(f"{home / 'lib/libintelocl.so'}\n")
    return {
        "OCL_ICD_VENDORS": os.fspath(home / "vendors"),
        "LD_LIBRARY_PATH": os.fspath(home / "lib"),
    }


def found(version: str, index: str | None, *groups: str) -> Environment | None:
    """What `provide` would return, where it would have nothing to do for it."""
    _keep_bytecode()
    home, there = _place(version)
    keys = _keys(version, index, groups)
    return there if all(_is_up_to_date(home, what, key) for what, key in keys.items()) else None


def _keep_bytecode() -> None:
    """Python writes the bytecode of what it imports, whatever our variables say: pip has compiled
    none of it, and each of a test run's hundreds of interpreters would compile torch."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _place(version: str) -> tuple[Path, Environment]:
    default = version == DEFAULT_TORCH
    home = ROOT / (".venv" if default else f".venv-{version}")
    folder = BUILD if default else BUILD / f"torch-{version}"
    return home, Environment(home / "bin" / "python", version, folder)


def _keys(version: str, index: str | None, groups: Iterable[str]) -> dict[str, str]:
    """What each stamp of an environment says that is up to date."""
    interpreter = f"{platform.python_version()} {os.path.realpath(sys.executable)}\n"
    keys = {"python": interpreter, "torch": f"{interpreter}{version} {index}"}
    for group in groups:
        keys[group] = interpreter + (_REQUIREMENTS / f"{group}.txt").read_text()
    return keys


def active(needs: Iterable[str]) -> Environment:
    """The Python that runs this, with the torch that it has; nothing is installed into it."""
    missing = [name for name in ("torch", *needs) if not importlib.util.find_spec(name)]
    if missing:
        raise console.Failure(
            f"{sys.executable} lacks {', '.join(missing)}, and --system-torch installs nothing."
        )
    version_file = Path(importlib.util.find_spec("torch").origin).with_name("version.py")
    version = re.search(r"^__version__\s*=\s*'([^']+)'", version_file.read_text(), re.MULTILINE)
    return Environment(
        Path(sys.executable),
        version.group(1) if version else "unknown",
        BUILD / "system",
    )


@contextmanager
def _kept_up_to_date(home: Path, what: str, key: str):
    """Yields whether `what` has to be made. Its stamp is written after a block that succeeds."""
    stamp = _stamp(home, what)
    stale = not _is_up_to_date(home, what, key)
    if stale:
        stamp.unlink(missing_ok=True)
    yield stale
    if stale:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(key)


def _is_up_to_date(home: Path, what: str, key: str) -> bool:
    stamp = _stamp(home, what)
    return stamp.exists() and stamp.read_text() == key


def _stamp(home: Path, what: str) -> Path:
    return home / "outback" / what


def _install_torch(environment: Environment, version: str, index: str | None) -> None:
    torch = f"torch=={version}"
    _constraints(environment).write_text(f"{torch}\n")
    with console.step(f"torch {version}"):
        pip = _pip(environment)
        if index:  # only torch comes from there: such an index may lack what torch needs
            shell.run("pip-torch", [*pip, "--index-url", index, "--no-deps", torch])
        shell.run("pip-torch", [*pip, torch], append=bool(index))


def _pip(environment: Environment) -> list[str | Path]:
    """Compiles nothing to bytecode: of torch and what comes with it, most is never imported, and
    what is imported is compiled then, once."""
    options = ["--disable-pip-version-check", "--no-input", "install", "--no-compile"]
    return [environment.python, "-m", "pip", *options, "-c", _constraints(environment)]


def _constraints(environment: Environment) -> Path:
    """Holds torch where it is: nothing else that is installed may bring another one along."""
    return environment.python.parents[1] / "outback" / "constraints.txt"
