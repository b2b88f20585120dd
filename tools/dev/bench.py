"""./dev bench: the tables of ratios, on an optimized build."""

from . import build, shell
from .environment import Environment
from .paths import ROOT


def run(environment: Environment, arguments: list[str]) -> int:
    folder = build.build(environment, "release", "OUTBACK_BUILD_BENCH=ON")
    variables = {
        **build.python_path(folder),
        "OMP_NUM_THREADS": "1",
        "CCACHE_DISABLE": "1",  # a clean build is a row of the table
    }
    program = [environment.python, ROOT / "bench/run.py"]
    if arguments:
        return shell.stream([*program, *arguments], env=variables)
    code = shell.stream([*program, "--build"], env=variables)
    # And once more on memory that the CPU cannot address, over copies and by portable kernels.
    apart = {**variables, "OUTBACK_HOST_ADDRESSABLE": "0"}
    code = shell.stream([*program, "--only", "fallback"], env=apart) or code
    portable = {**apart, **build.python_path(folder, "python_portable")}
    return shell.stream([*program, "--only", "portable", "compiled"], env=portable) or code
