"""torch_outback.load: a backend from a runtime that is compiled already."""

import ctypes
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path

from . import cache, names


def load(name: str, library: str | os.PathLike) -> types.ModuleType:
    """Makes the runtime in `library` the PyTorch backend `name`, and returns torch.<name>.

    `library` is a shared library with the function `const outback_runtime* <name>_runtime(void)`
    of outback/runtime.h, in C linkage; it needs to know nothing of torch. The torch half is
    compiled on the first call for each torch, a minute or two, and kept in the user's
    cache; `outback build` does that ahead of time.

    Everything is checked before anything is registered, the name first. Raises RuntimeError for a
    name that cannot be a device's, a table that cannot be used, and a second backend;
    FileNotFoundError; OSError for what is no library, or needs another one that is missing;
    AttributeError for a library without that function; RuntimeError with the text of what that
    function throws; torch_outback.Refused where the torch half
    cannot be compiled. A second call with the same name and library does nothing.
    """
    if not isinstance(name, str):
        raise TypeError(f"torch_outback.load: the name has to be text, not {name!r}")
    if names.problem(name):
        alike = names.respelled(name)
        raise RuntimeError(names.refusal(name) + (f"; {alike} would do" if alike else ""))
    path = Path(library)
    if not path.exists():
        raise FileNotFoundError(f"torch_outback.load: there is no file {path}")
    function = _function(name, path.resolve())
    module = _loader()
    table = _ask(function)
    if not table:
        raise RuntimeError(
            f"torch_outback.load: {name}_runtime() of {path} answered a null pointer"
        )
    register = getattr(module, "_register", None)
    if register is not None:
        import torch

        register(name, table, amp_dtypes=(torch.float16, torch.bfloat16))
        _loaded[name] = table
    elif _loaded.get(name) != table:
        (there,) = _loaded
        raise RuntimeError(
            f"torch_outback.load: this process's backend is {there} already, from another call; "
            f"PyTorch has room for one"
        )
    return module


_loaded: dict[str, int] = {}


# The module's function _table, which calls another one for the table: C++ may throw there.
_ask: Callable[[int], int]


def _function(name: str, library: Path) -> int:
    """Its address."""
    function = f"{name}_runtime"
    try:
        # Never closed: the backend calls it until the process ends.
        symbols = ctypes.CDLL(os.fspath(library))
    except OSError as error:
        raise OSError(f"torch_outback.load: {library} cannot be loaded: {error}") from None
    try:
        answer = getattr(symbols, function)
    except AttributeError:
        raise AttributeError(
            f"torch_outback.load: {library} has no function {function}; expected "
            f"`const outback_runtime* {function}(void)` in C linkage, and visible"
        ) from None
    return ctypes.cast(answer, ctypes.c_void_p).value or 0


def _loader() -> types.ModuleType:
    import torch  # noqa: F401  (the module needs its libraries)

    full_name = "torch_outback._C"
    if full_name in sys.modules:
        return sys.modules[full_name]
    file = cache.module_in(cache.provide())
    loader = importlib.machinery.ExtensionFileLoader(full_name, os.fspath(file))
    spec = importlib.util.spec_from_file_location(full_name, file, loader=loader)
    assert spec is not None  # as there is a loader
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    global _ask
    _ask = module._table
    sys.modules[full_name] = module
    return module
