"""Configures and builds a preset, in a folder of its own for each torch."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from . import console, shell
from .environment import Environment

PROGRESS = re.compile(r"^\[ *(\d+/\d+|\d+%)\]")


def build(
    environment: Environment, preset: str, *definitions: str, targets: Sequence[str] = ("all",)
) -> Path:
    """Builds `targets` and returns the build tree."""
    folder = environment.build / preset
    label = preset if folder.parent.name == "build" else f"{preset}, torch {environment.torch}"
    with console.step(f"configure {label}"):
        configure(environment, preset, *definitions)
    with console.step(f"build {label}") as step:

        def show(line: str) -> None:
            if match := PROGRESS.match(line):
                step.progress(match.group(1))

        command = [
            "cmake",
            "--build",
            folder,
            "--target",
            *targets,
            "--parallel",
            str(environment.jobs),
        ]
        shell.run(f"build-{preset}", command, on_line=show)
    return folder


def configure(environment: Environment, preset: str, *definitions: str) -> Path:
    """Makes the build tree, or brings it up to date."""
    shell.run(f"configure-{preset}", configuring(environment, preset, *definitions))
    return environment.build / preset


def configuring(environment: Environment, preset: str, *definitions: str) -> list[str | Path]:
    """The command that makes the build tree."""
    command = [
        "cmake",
        "--preset",
        preset,
        "-B",
        environment.build / preset,
        f"-DPython_EXECUTABLE={environment.python}",
    ]
    ninja = environment.tool("ninja")
    if ninja:
        command.append(f"-DCMAKE_MAKE_PROGRAM={ninja}")
    elif not shell.output(["ninja", "--version"]):
        command += ["-G", "Unix Makefiles"]
    return [*command, *(f"-D{definition}" for definition in definitions)]


def python_path(folder: Path, package_root: str = "python") -> dict[str, str]:
    """The environment in which Python finds the backend that was built in `folder`."""
    inherited = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder / package_root), inherited)))}
