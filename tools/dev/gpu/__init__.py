"""./dev gpu: the CUDA runtime on the devices that this machine has, in parts.

A device may be at hand for minutes only, on a machine without a network. So each part's result is
written as the part ends, a part that fails stops no other, and --pack fills a folder with the
libraries that such a machine is likely to lack.
"""

from .command import run
from .packing import pack
from .parts import PARTS
from .work import Request

__all__ = ["PARTS", "Request", "pack", "run"]
