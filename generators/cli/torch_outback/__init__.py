"""Outback: PyTorch backends from device runtimes.

`load` makes one of a compiled runtime, `cpp_extension_arguments` of a source file, and the command
`outback` makes projects. `cmake_dir` is for builds.
"""

from pathlib import Path

from .toolkit import cmake_dir, tree

if not Path(__path__[0], "conformance").exists():  # in a source tree it is a folder of the root
    __path__.append(str(tree()))

from .extension import cpp_extension_arguments
from .loading import load
from .refused import Refused

__all__ = ["Refused", "cmake_dir", "cpp_extension_arguments", "load"]
