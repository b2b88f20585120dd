"""Programs that compile with Inductor."""

import pytest
import torch

needs_portable_kernels = pytest.mark.skipif(
    not torch.acme._outback._native.runs_portable_kernels(0),
    reason="needs portable kernels, and memory that the CPU cannot address",
)

# A torch that was built for CUDA warns where it finds nvcc and no device.
QUIET = """
import torch, torch_acme
import logging, warnings
logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)
warnings.simplefilter("ignore")
"""


@pytest.fixture
def run_compiled(run_python, inductor):
    """Runs source text in a process that has imported the compiler and then the backend."""

    def run(source: str, **environment):
        imports = "import torch, torch._inductor.compile_fx"
        return run_python(QUIET + source, **{"imports": imports, **inductor, **environment})

    return run


@pytest.fixture
def run_at_first_use(run_python, inductor):
    """Runs source text in a process that has imported the backend, and not the compiler."""

    def run(source: str):
        return run_python(QUIET + source, **inductor)

    return run


@pytest.fixture
def compiler(monkeypatch, inductor):
    """For tests that compile in their own process: nothing is taken from what was compiled before,
    but kernels."""
    for name, value in inductor.items():
        monkeypatch.setenv(name, value)
    from torch._inductor import config

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    with config.patch(fx_graph_cache=False, compile_threads=2):
        yield
    torch._dynamo.reset()
