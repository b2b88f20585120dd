"""For torch.utils.cpp_extension: how the source of a backend, or of kernels, is compiled."""

import os
import shlex
from typing import Any

from . import cache, toolkit


def cpp_extension_arguments() -> dict[str, Any]:
    """Keyword arguments for torch.utils.cpp_extension.load, and for load_inline:

        load("foo", ["foo.cpp"], **torch_outback.cpp_extension_arguments())

    foo.cpp has OUTBACK_MODULE(TORCH_EXTENSION_NAME) of outback/module.h in it; or it has kernels
    alone, which use outback/kernels/, and `is_python_module=False` goes with it. The torch half is
    compiled on the first call for each torch, as torch_outback.load does, and linked into the
    extension. Raises Refused where it cannot be compiled.
    """
    built = cache.provide() / "lib"
    # Each needs those behind it.
    archives = ("outback_python", "outback_kernels", "outback_torch", "outback_layers")
    return {
        "extra_include_paths": [os.fspath(toolkit.include_dir()), os.fspath(toolkit.tree())],
        "extra_cflags": ["-std=c++20", "-fvisibility=hidden", "-DAT_PER_OPERATOR_HEADERS"],
        # A shell splits them into words; the include paths are quoted for it by PyTorch.
        "extra_ldflags": [shlex.quote(f"{built}/lib{archive}.a") for archive in archives],
    }
