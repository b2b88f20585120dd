"""Programs of other people's libraries, which find the device by its name: what they compute is
what they compute on the CPU. ./dev test --only libraries makes the environment that has them.
"""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch_outback import integrations

ROOT = Path(__file__).parents[2]

integrations.enable()


class _OperatorsOnTheCpu(TorchDispatchMode):
    """Those that compute something there. A batch is made there, and a copy brings it here."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        tensors = [it for it in tree_leaves((args, kwargs, result)) if torch.is_tensor(it)]
        if any(it.numel() > 1 for it in tensors) and all(it.device.type == "cpu" for it in tensors):
            self.found.add(str(func))
        return result


@pytest.fixture(scope="session")
def nothing_on_the_cpu() -> Callable[[], object]:
    """`with nothing_on_the_cpu():` a step, or whatever may compute on the device alone."""

    @contextmanager
    def watch() -> Iterator[None]:
        with _OperatorsOnTheCpu() as operators:
            yield
        assert not operators.found

    return watch


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """Runs a program of its own, in one process or by torchrun in several, which have the
    integrations by the variable; returns what it prints. `launcher` are arguments of Python."""
    path = os.pathsep.join((os.environ["PYTHONPATH"], os.fspath(ROOT)))

    def start(
        source: str, *launcher: str, ranks: int = 1, fails: bool = False, **variables: str
    ) -> str:
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(source))
        if ranks > 1:
            launcher = ("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}")
        done = subprocess.run(
            [sys.executable, *launcher, program],
            env={**os.environ, "PYTHONPATH": path, "OUTBACK_INTEGRATIONS": "acme"} | variables,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout
        return done.stdout

    return start
