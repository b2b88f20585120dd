"""Loads the compiled parts of this package: the runtime, and what fits the installed torch.

The build puts this file beside them:

    lib<name>_runtime.so         the runtime, for every torch
    _half/torch-2.13/_C.<...>.so the torch half, for one torch and one Python
    _half/torch-2.13/kernels.so  the package's own kernels for that torch, if it has any
"""

import ctypes
import importlib.machinery
import importlib.util
import os
import re
import sys
import types
from collections.abc import Sequence
from pathlib import Path

import torch

_HERE = Path(__file__).parent  # not the folder of the sources, which may be another one
_SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]  # .cpython-311-x86_64-linux-gnu.so


def load(
    name: str,
    *,
    amp_dtypes: Sequence[torch.dtype] = (),
    unsupported_dtypes: Sequence[torch.dtype] = (),
    fallback: str = "allow",
    excluded_operators: Sequence[str] = (),
    tensor_methods: bool = True,
    module_methods: bool = True,
    packed_sequence_methods: bool = True,
    storage_methods: bool = True,
) -> None:
    """Makes the runtime of this package the PyTorch backend `name`, "acme".

    The other arguments are the members of outback::backend_options, in outback/backend.h, which
    says what each does. Raises ImportError, and registers nothing, where no part fits the installed
    torch and this Python, where another backend is registered, and where an argument or the runtime
    is refused.
    """
    package = __package__ or _HERE.name
    half = _half(package)
    registered = torch._C._get_privateuse1_backend_name()
    # Before this package's kernels take the place of those of a backend that is loaded.
    if registered not in ("privateuseone", name):
        raise ImportError(
            f"cannot register {name}: this process's PrivateUse1 backend is {registered} already, "
            "and PyTorch has room for one: OUTBACK_AUTOLOAD=0 keeps `import torch` from loading any"
        )
    try:
        # Before the kernels, which may call it.
        runtime = _runtime(name)
        # Before the registration, which gives way to these kernels.
        if (kernels := half / "kernels.so").exists():
            torch.ops.load_library(kernels)
        module = _module(package, half)
        module._register(
            name,
            module._table(_address(runtime, f"{name}_runtime")),
            packed_kernels=_address(runtime, f"{name}_packed_kernels"),
            amp_dtypes=amp_dtypes,
            unsupported_dtypes=unsupported_dtypes,
            fallback=fallback,
            excluded_operators=excluded_operators,
            tensor_methods=tensor_methods,
            module_methods=module_methods,
            packed_sequence_methods=packed_sequence_methods,
            storage_methods=storage_methods,
        )
    except ImportError:
        raise
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise ImportError(str(error)) from None
    except Exception as error:  # `import torch` goes on after an ImportError only
        raise ImportError(f"the registration of {name} failed") from error
    sys.modules[module.__name__] = sys.modules[package]._C = module  # type: ignore[attr-defined]


def _runtime(name: str) -> ctypes.CDLL:
    """Never closed: the backend calls it until the process ends."""
    library = ctypes.CDLL(os.fspath(_HERE / f"lib{name}_runtime.so"))
    if not _address(library, f"{name}_runtime"):
        raise ImportError(
            f"lib{name}_runtime.so has no function {name}_runtime; expected `const "
            f"outback_runtime* {name}_runtime(void)` in C linkage, and visible"
        )
    return library


def _half(package: str) -> Path:
    """The folder of what fits the installed torch. In another torch it would lack symbols, or do
    worse, so nothing else is opened."""
    minor = ".".join(torch.__version__.split(".")[:2])
    halves = {
        match[1]: folder
        for folder in (_HERE / "_half").glob("torch-*")
        if (match := re.fullmatch(r"torch-(\d+\.\d+)", folder.name))
    }
    if minor not in halves:
        has = ", ".join(sorted(halves, key=lambda it: tuple(map(int, it.split(".")))))
        raise ImportError(
            f"{package} was built for torch {has or 'none'} and this is torch {torch.__version__}: "
            f"install the {package} that was made for it, or rebuild it here."
        )
    if not (halves[minor] / f"_C{_SUFFIX}").exists():
        has = ", ".join(sorted(file.name for file in halves[minor].glob("_C.*")))
        raise ImportError(
            f"{package} was built for another Python: it has {has or 'no _C'}, and this Python "
            f"imports _C{_SUFFIX}: install the {package} that was made for it, or rebuild it here."
        )
    return halves[minor]


def _module(package: str, half: Path) -> types.ModuleType:
    file = half / f"_C{_SUFFIX}"
    spec = importlib.util.spec_from_file_location(f"{package}._C", file)
    assert spec is not None and spec.loader is not None  # as the file has such an ending
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _address(library: ctypes.CDLL, function: str) -> int:
    """0 where the library has none."""
    found = getattr(library, function, None)
    return (ctypes.cast(found, ctypes.c_void_p).value or 0) if found else 0
