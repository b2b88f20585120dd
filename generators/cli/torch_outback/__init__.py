"""Outback: PyTorch backends from device runtimes.

`load` makes one of a compiled runtime, `cpp_extension_arguments` of a source file, and the command
`outback` makes projects. `cmake_dir` is for builds.
"""

from .extension import cpp_extension_arguments
from .loading import load
from .refused import Refused
from .toolkit import cmake_dir

__all__ = ["Refused", "cmake_dir", "cpp_extension_arguments", "load"]
