"""Programs that compile with Inductor, in processes of their own."""

import re

import pytest

# A torch that was built for CUDA warns where it finds nvcc and no device.
QUIET = """
import torch, torch_acme
import logging, warnings
logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)
warnings.simplefilter("ignore")
"""


NANOBIND = re.compile("nanobind: | - leaked | - ... skipped remainder|See https://nanobind")


@pytest.fixture
def run_compiled(run_python, inductor):
    """Runs source text in a process that has imported the compiler and then the backend."""

    def run(source: str, **environment: str):
        imports = "import torch, torch._inductor.compile_fx"
        done = run_python(QUIET + source, imports=imports, check=False, **inductor, **environment)
        # The Triton of a torch that was built for CUDA counts what it has not freed, at the end.
        said = [it for it in done.errors.splitlines() if not NANOBIND.match(it)]
        assert done.code == 0 and not said, done
        return done

    return run


@pytest.fixture
def run_at_first_use(run_python, inductor):
    """Runs source text in a process that has imported the backend, and not the compiler."""

    def run(source: str):
        return run_python(QUIET + source, **inductor)

    return run
