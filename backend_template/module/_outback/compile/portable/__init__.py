"""torch.compile's default code generator, Inductor, for a device whose runtime launches kernels:
loops become kernels in the dialect (outback/dialect.h), which any such device runs. Products,
convolutions, attention and sorting call the device's operators.

    values.py      how kernels write types, constants and conversions
    indices.py     how they write index expressions
    operations.py  how they write Inductor's scalar operations
    kernel.py      a kernel of several loops that Inductor has fused
    reductions.py  how kernels reduce and scan rows
    scheduling.py  what Inductor may fuse, and the Python around kernels
    running.py     what the Python around kernels calls when it runs
    limits.py      what is left to the device's operators
    replaying.py   mode="reduce-overhead"

This file imports the others when a graph is compiled.
"""

import functools
from typing import Any

from .. import inductor


@functools.cache
def _register_once() -> None:
    from . import limits

    limits.register()


def use() -> None:
    _register_once()
    from .scheduling import PortableScheduling, PortableWrapper

    inductor.register_generator(PortableScheduling, PortableWrapper)


def replayed(compiled: Any, inputs: Any, static: Any) -> Any:
    from . import replaying

    return replaying.replayed(compiled, inputs, static)
