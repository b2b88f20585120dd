"""./dev gpu: the CUDA runtime on the devices that this machine has, in parts.

A device may be at hand for minutes only, on a machine that has no network. So a part's result is
kept as soon as it ends, one that fails stops no other, what is missing is named before anything is
built, and what such a machine is not likely to have can be taken along: ./dev gpu --pack.
"""

from .command import PARTS, Request, run
from .packing import pack

__all__ = ["PARTS", "Request", "pack", "run"]
