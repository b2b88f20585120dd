"""The Python that has torch: a virtual environment for each torch release, or the active one."""

import hashlib
import importlib.util
import os
import platform
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import console, shell
from .paths import BUILD, ROOT

DEFAULT_TORCH = "2.13.0"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_STAMP = "outback-setup"


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
        return bool(
            shell.output(
                [
                    self.python,
                    "-c",
                    f"import importlib.util as u; print(u.find_spec('{module}') or '')",
                ]
            )
        )


def provide(version: str, index: str | None) -> Environment:
    """The environment for torch `version`, made or completed if it has to be."""
    default = version == DEFAULT_TORCH
    home = ROOT / (".venv" if default else f".venv-{version}")
    environment = Environment(
        home / "bin" / "python",
        version,
        BUILD if default else BUILD / f"torch-{version}",
    )
    stamp = home / _STAMP
    key = _key(version, index)
    if stamp.exists() and stamp.read_text() == key and environment.python.exists():
        return environment
    stamp.unlink(missing_ok=True)
    with console.step("python environment"):
        if not environment.python.exists():
            shell.run("venv", [sys.executable, "-m", "venv", "--clear", home])
    _install(environment, version, index)
    stamp.write_text(key)
    return environment


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


def _install(environment: Environment, version: str, index: str | None) -> None:
    torch = f"torch=={version}"
    # Whatever else is installed now or later, it must not bring another torch along.
    constraints = environment.python.parents[1] / "constraints.txt"
    constraints.write_text(f"{torch}\n")
    pip = [
        environment.python,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "install",
        "-c",
        constraints,
    ]
    with console.step(f"torch {version}"):
        if index:  # only torch comes from there: what it needs may be missing at such an index
            shell.run("pip-torch", [*pip, "--index-url", index, "--no-deps", torch])
        shell.run("pip-torch", [*pip, torch], append=bool(index))
    with console.step("python packages"):
        shell.run("pip", [*pip, "-r", REQUIREMENTS])


def _key(version: str, index: str | None) -> str:
    """Changes when a finished environment is not the one that we would make now."""
    parts = (
        version,
        index or "",
        platform.python_version(),
        os.path.realpath(sys.executable),
        REQUIREMENTS.read_text(),
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
