"""The part that has nvcc compile examples/cuda_kernel, and runs it.

A project of its own, as a user has one: where nvcc and the compiler of this machine do not go
together, no other part is the worse for it.
"""

import os

from .. import console
from ..paths import ROOT
from .packed import joined
from .results import Outcome
from .work import Work

_EXAMPLE = ROOT / "examples/cuda_kernel"
_PROGRAMS = (_EXAMPLE / "show.py", ROOT / "tests/examples/swiglu_program.py")


def kernel(work: Work) -> Outcome:
    folder = work.folder / "cuda_kernel"
    definitions = {
        "Outback_ROOT": ROOT,
        "Python_EXECUTABLE": work.environment.python,
        "OUTBACK_CACHE": "OFF",  # all that is compiled of the torch half is what kernels link
        "CMAKE_CUDA_COMPILER": work.provisions.nvcc,
    }
    if "CUDAARCHS" not in os.environ:  # CMake's own variable
        definitions["CMAKE_CUDA_ARCHITECTURES"] = "native"
    with console.step("nvcc"):
        options = [f"-D{name}={value}" for name, value in definitions.items()]
        work.run(["cmake", "-S", _EXAMPLE, "-B", folder, *options]).check()
        jobs = ["--parallel", str(work.environment.jobs)]
        work.run(["cmake", "--build", folder, "--target", "swiglu", *jobs]).check()
    variables = work.python_variables()
    variables["PYTHONPATH"] = joined(_EXAMPLE, variables["PYTHONPATH"])
    with console.step("CUDA kernel"):
        for program in _PROGRAMS:
            command = [work.environment.python, program, folder / "swiglu.so"]
            work.run(command, env=variables).check()
    return Outcome("values, derivatives, streams, devices and graphs")
