"""Configures and builds a preset, in a folder of its own for each torch."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from . import console, shell
from .environment import Environment

PROGRESS = re.compile(r"^\[ *(\d+/\d+|\d+%)\]")
_STAMP = "outback-configured"  # in the build tree: the command that configured it


def build(
    environment: Environment, preset: str, *definitions: str, targets: Sequence[str] = ("all",)
) -> Path:
    """Builds `targets` and returns the build tree."""
    with console.step(f"configure {_label(environment, preset)}"):
        configure(environment, preset, *definitions)
    return make(environment, preset, targets)


def make(environment: Environment, preset: str, targets: Sequence[str]) -> Path:
    """Builds `targets` in a build tree that is configured. Raises NotBuilt where that fails."""
    folder = environment.build / preset
    with console.step(f"build {_label(environment, preset)}") as step:

        def show(line: str) -> None:
            if match := PROGRESS.match(line):
                step.progress(match.group(1))

        command = ["cmake", "--build", folder, "--target", *targets]
        command += ["--parallel", str(environment.jobs)]
        _run(f"build-{preset}", command, on_line=show)
    return folder


def configure(environment: Environment, preset: str, *definitions: str) -> Path:
    """Makes the build tree, or brings it up to date."""
    folder = environment.build / preset
    command = configuring(environment, preset, *definitions)
    stamp = folder / _STAMP
    stamp.unlink(missing_ok=True)
    _run(f"configure-{preset}", command)
    stamp.write_text(_text(command), encoding="utf-8")
    return folder


def configured(environment: Environment, preset: str) -> Path:
    """The build tree, which is configured only where the same has not been done before. What builds
    it notices changes of its CMake files; what has been installed since is not noticed."""
    folder = environment.build / preset
    stamp = folder / _STAMP
    known = stamp.read_text("utf-8") if stamp.exists() else ""
    if known != _text(configuring(environment, preset)):
        with console.step(f"configure {_label(environment, preset)}"):
            configure(environment, preset)
    return folder


def configuring(environment: Environment, preset: str, *definitions: str) -> list[str | Path]:
    """The command that makes the build tree."""
    folder = environment.build / preset
    python = f"-DPython_EXECUTABLE={environment.python}"
    command = ["cmake", "--preset", preset, "-B", folder, python]
    ninja = environment.tool("ninja")
    if ninja:
        command.append(f"-DCMAKE_MAKE_PROGRAM={ninja}")
    elif not shell.output(["ninja", "--version"]):
        command += ["-G", "Unix Makefiles"]
    return [*command, *(f"-D{definition}" for definition in definitions)]


def _run(
    log: str, command: Sequence[str | Path], on_line: Callable[[str], None] = lambda line: None
) -> None:
    done = shell.run(log, command, on_line=on_line, check=False)
    if done.returncode:
        raise console.NotBuilt(str(shell.failure(log, done)))


def _text(command: Sequence[str | Path]) -> str:
    return "\n".join(map(os.fspath, command))


def _label(environment: Environment, preset: str) -> str:
    default = environment.build.name == "build"
    return preset if default else f"{preset}, torch {environment.torch}"


def python_path(folder: Path, package_root: str = "python") -> dict[str, str]:
    """The environment in which `import torch` loads the backend that was built in `folder`."""
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join(filter(None, (str(folder / package_root), inherited)))
    return {"PYTHONPATH": path, "OUTBACK_AUTOLOAD": "1"}
