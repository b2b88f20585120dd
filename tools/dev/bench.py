"""./dev bench: the table of ratios, on an optimized build."""

from . import build, shell
from .environment import Environment
from .paths import ROOT


def run(environment: Environment, arguments: list[str]) -> int:
    folder = build.build(environment, "release")
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return shell.stream(
        [environment.python, ROOT / "bench/run.py", *arguments],
        env={**build.python_path(folder), **one_thread},
    )
