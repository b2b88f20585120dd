"""For torch.utils.cpp_extension: how a source file that makes a backend is compiled."""

import os
from typing import Any

from . import cache, toolkit


def cpp_extension_arguments() -> dict[str, Any]:
    """Keyword arguments for torch.utils.cpp_extension.load, and for load_inline:

        load("foo", ["foo.cpp"], **torch_outback.cpp_extension_arguments())

    foo.cpp has PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) with outback::register_backend(module,
    ...) in it. The torch half is compiled on the first call for each torch, as torch_outback.load
    does, and linked into the extension. Raises Refused where it cannot be compiled.
    """
    built = cache.provide() / "lib"
    # Each needs those behind it.
    archives = ("outback_python", "outback_kernels", "outback_torch", "outback_layers")
    return {
        "extra_include_paths": [os.fspath(toolkit.include_dir()), os.fspath(toolkit.tree())],
        "extra_cflags": ["-std=c++20", "-fvisibility=hidden", "-DAT_PER_OPERATOR_HEADERS"],
        "extra_ldflags": [os.fspath(built / f"lib{archive}.a") for archive in archives],
    }
