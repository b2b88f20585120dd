"""./dev demo: builds the scaffold backend and trains a network on it."""

from . import build, shell
from .environment import Environment
from .paths import ROOT


def run(environment: Environment, arguments: list[str]) -> int:
    folder = build.build(environment, "release", targets=["torch_acme"])
    train = [environment.python, ROOT / "examples/train_digits/train.py", *arguments]
    return shell.stream(train, env=build.python_path(folder))
