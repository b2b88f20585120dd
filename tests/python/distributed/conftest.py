"""Processes with a real process group, and for one process a group of PyTorch's that hallucinates
its communication: all that is not communication runs as in a real one.
"""

import textwrap
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
import torch.distributed as dist

if not dist.is_available():
    pytest.skip("this torch has no distributed package", allow_module_level=True)

from torch.testing._internal.distributed.fake_pg import FakeStore


@contextmanager
def _group(rank: int = 0, size: int = 2, **options):
    dist.init_process_group(
        "cpu:fake,acme:fake", rank=rank, world_size=size, store=FakeStore(), **options
    )
    try:
        yield
    finally:
        dist.destroy_process_group()


@pytest.fixture
def group():
    """`with group(rank=0, size=2):` the process group of this rank."""
    return _group


_RANKS = """
import datetime, sys
sys.path.insert(0, {folder!r})
import torch, torch_acme
import torch.distributed as dist
import ranks

def work(rank):
{source}

ranks.run({size}, work, {store!r}, {group})
"""


@pytest.fixture
def folder() -> str:
    """That of the modules that programs import."""
    return str(Path(__file__).parent)


@pytest.fixture
def run_quietly(run_python):
    """As run_python, without the warnings of torch and of its profiler, and from one fork server
    for all that is distributed: it has imported what torch imports at the first collective of some
    kinds, in each rank again, for longer than most of these programs run."""

    def run(source: str, **how):
        return run_python(
            source,
            imports="import torch, torch._dynamo, torch._inductor",
            TORCH_CPP_LOG_LEVEL="ERROR",
            KINETO_LOG_LEVEL="9",
            **how,
        )

    return run


@pytest.fixture
def run_ranks(run_quietly, tmp_path, folder):
    """Runs source text in several processes, which have a process group and `rank`. It is the body
    of a function. `group` are arguments of init_process_group, as source text."""
    stores = (str(tmp_path / f"store_{i}") for i in count())

    def run(source: str, *, size: int = 2, group: str = "", **how):
        body = textwrap.indent(textwrap.dedent(source), "    ")
        program = _RANKS.format(
            folder=folder, source=body, size=size, store=next(stores), group=group
        )
        return run_quietly(program, **how)

    return run
