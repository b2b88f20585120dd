"""A process group of PyTorch's that hallucinates its communication: all that is not communication
runs as in a real one, in one process. It is no group of the device's: that is a library of its own.
"""

from contextlib import contextmanager

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
