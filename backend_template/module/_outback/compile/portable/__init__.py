"""torch.compile's default code generator, Inductor, for a device whose runtime launches kernels:
loops become kernels in the dialect (outback/dialect.h), which any such device runs. Products,
convolutions, attention and sorting call the device's operators.

    values.py      how kernels write types, constants and conversions
    indices.py     how they write index expressions
    operations.py  how they write Inductor's scalar operations
    kernel.py      a kernel of several loops that Inductor has fused
    scheduling.py  what Inductor may fuse, and the Python around kernels
    running.py     what the Python around kernels calls when it runs
    limits.py      what is left to the device's operators
    replaying.py   mode="reduce-overhead"

This file imports the others when a graph is compiled.
"""

import functools
import hashlib
from typing import Any

from ... import _loader, _native, device_module, kernels
from .. import inductor


def _has_float64(device: int) -> bool:
    if not _native.runs_portable_kernels(device):
        return True
    return kernels.target_of(device, "torch.compile").has_float64


@functools.cache
def _key() -> Any:
    """A part of the key of Inductor's cache: code that another version has generated is not taken
    from there, nor code of another generator."""
    from torch._inductor.custom_graph_pass import CustomGraphModulePass

    from ...kernels.headers import HEADERS

    texts = [_loader.get_source(f"{__name__}.{each}") for each in _FILES]
    digest = hashlib.sha256(repr([texts, sorted(HEADERS.items())]).encode()).hexdigest()

    class Key(CustomGraphModulePass):
        def __call__(self, graph_module: Any) -> None:
            """Changes nothing."""

        def uuid(self) -> Any:
            return digest, [_has_float64(each) for each in range(device_module.device_count())]

    return Key()


_FILES = ("values", "indices", "operations", "kernel", "scheduling", "running", "limits")


@functools.cache
def _register_once() -> None:
    from . import limits

    limits.register()


def use() -> None:
    _register_once()
    from .scheduling import PortableScheduling, PortableWrapper

    inductor.register_generator(PortableScheduling, PortableWrapper, _key())


def replayed(compiled: Any, inputs: Any, static: Any) -> Any:
    from . import replaying

    return replaying.replayed(compiled, inputs, static)
