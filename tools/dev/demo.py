"""./dev demo: builds the scaffold backend and trains a network on it."""

from . import build, shell
from .environment import Environment
from .paths import ROOT


def run(environment: Environment) -> int:
    folder = build.build(environment, "release", target="torch_acme")
    return shell.stream(
        [environment.python, ROOT / "examples/digits/train.py"],
        env=build.python_path(folder),
    )
