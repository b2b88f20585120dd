"""Loads the compiled parts of this package: the runtime, and what fits the installed torch.

The build puts this file beside them:

    lib<package>_runtime.so      the runtime, for every torch
    _half/torch-2.13/_C.<...>.so the torch half, for one torch and one Python
    _half/torch-2.13/kernels.so  the package's own kernels for that torch, if it has any
    _half/manifest.json          what `outback wheel` has put there, with hashes

Nothing else is loaded, unless OUTBACK_COMPILE asks for it: where no half fits, Outback's is then
compiled for the installed torch.
"""

import ctypes
import functools
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import re
import sys
import types
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

_HERE = Path(__file__).parent  # not the folder of the sources, which may be another one
_MODULE = f"_C{importlib.machinery.EXTENSION_SUFFIXES[0]}"  # .cpython-311-x86_64-linux-gnu.so
_TORCH = ".".join(torch.__version__.split(".")[:2])  # 2.13


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
    is refused. A second call, such as importlib.reload makes, changes nothing.
    """
    package = __package__ or _HERE.name
    registered = torch._C._get_privateuse1_backend_name()
    if registered == name and f"{package}._C" in sys.modules:
        return
    # Before this package's kernels take the place of those of a backend that is loaded.
    if registered not in ("privateuseone", name):
        raise ImportError(
            f"cannot register {name}: this process's PrivateUse1 backend is {registered} already, "
            "and PyTorch has room for one: OUTBACK_AUTOLOAD=0 keeps `import torch` from loading any"
        )
    try:
        unfit = _unfit(package)
        if unfit and not _may_compile():
            there = importlib.util.find_spec("torch_outback") is not None
            raise ImportError(
                f"{unfit}: install the {package} that was made for it, rebuild it here, or set "
                f"OUTBACK_COMPILE=1, which compiles it here with "
                f"torch-outback{'' if there else ', which is not installed,'} and a C++ compiler."
            )
        # Before the kernels, which may call it.
        runtime = _runtime(name)
        packed = _address(runtime, f"{name}_packed_kernels")
        file = _compiled(package, packed != 0) if unfit else _halves()[_TORCH] / _MODULE
        module = _module(package, file)
        module._register(
            name,
            module._table(_address(runtime, f"{name}_runtime")),
            packed_kernels=packed,
            load_kernels=functools.partial(_load_kernels, package),
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
        raise ImportError(str(error) or repr(error)) from None
    except Exception as error:  # `import torch` goes on after an ImportError only
        raise ImportError(f"the registration of {name} failed") from error
    sys.modules[module.__name__] = sys.modules[package]._C = module  # type: ignore[attr-defined]


def _runtime(name: str) -> ctypes.CDLL:
    """Never closed: the backend calls it until the process ends."""
    file = _HERE / f"lib{_HERE.name}_runtime.so"
    library = ctypes.CDLL(os.fspath(_checked(file)))
    if not _address(library, f"{name}_runtime"):
        raise ImportError(
            f"{file.name} has no function {name}_runtime; expected `const "
            f"outback_runtime* {name}_runtime(void)` in C linkage, and visible"
        )
    return library


def _unfit(package: str) -> str:
    """Why no half fits the installed torch; "" where one does. In another torch it would lack
    symbols, or do worse, so nothing else is opened."""
    halves = _halves()
    if not halves:
        return f"{package} has no compiled part for any torch in {_HERE}"
    if _TORCH not in halves:
        has = ", ".join(sorted(halves, key=lambda it: tuple(map(int, it.split(".")))))
        return f"{package} was built for torch {has} and this is torch {torch.__version__}"
    if not (halves[_TORCH] / _MODULE).exists():
        has = ", ".join(sorted(file.name for file in halves[_TORCH].glob("_C.*")))
        return (
            f"{package} was built for another Python: it has {has or 'no _C'}, and this Python "
            f"imports {_MODULE}"
        )
    return ""


def _halves() -> dict[str, Path]:
    """By the minor releases of torch."""
    return {
        match[1]: folder
        for folder in (_HERE / "_half").glob("torch-*")
        if (match := re.fullmatch(r"torch-(\d+\.\d+)", folder.name))
    }


def _load_kernels(package: str) -> None:
    """The package's own, which are of one torch and of no Python. Called when the backend cannot be
    refused any more."""
    if (kernels := _HERE / f"_half/torch-{_TORCH}/kernels.so").exists():
        _checked(kernels)
        try:
            torch.ops.load_library(kernels)
        except OSError as error:  # torch's own text leaves the reason to its cause
            raise ImportError(f"{kernels} cannot be loaded: {error.__cause__ or error}") from None
    elif kernels.relative_to(_HERE).as_posix() in _manifest()[1]:
        raise ImportError(f"{kernels} is missing: install {_HERE.name} again")
    elif any((_HERE / "_half").glob("torch-*/kernels.so")):
        warnings.warn(
            f"{package} has no kernels of its own for torch {torch.__version__}, as it has for "
            "others: Outback's serve in their place, and operators that only they define are "
            "missing",
            stacklevel=2,
        )


def _module(package: str, file: Path) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(f"{package}._C", _checked(file))
    assert spec is not None and spec.loader is not None  # as the file has such an ending
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- What `outback wheel` has put there


def _checked(file: Path) -> Path:
    """Raises ImportError for a file that is another one than the manifest has."""
    try:
        path = file.relative_to(_HERE).as_posix()
    except ValueError:  # of the cache, which has a seal
        return file
    expected = _manifest()[1].get(path)
    if expected is not None and _sha256(file) != expected:
        raise ImportError(
            f"{file} is not what {_HERE.name} was made with, by its hash: install it again"
        )
    return file


def _sha256(file: Path) -> str:
    """In pieces that stay in the processor's cache: half the time of reading it as a whole."""
    digest, piece = hashlib.sha256(), memoryview(bytearray(1 << 17))
    with file.open("rb", buffering=0) as library:
        while size := library.readinto(piece):
            digest.update(piece[:size])
    return digest.hexdigest()


@functools.cache
def _manifest() -> tuple[str, Mapping[str, str]]:
    """The Outback that made the wheel, and hashes by paths in the package; nothing where the build
    has just made the package."""
    file = _HERE / "_half/manifest.json"
    try:
        document = json.loads(file.read_bytes())
        hashes = {path: entry["sha256"] for path, entry in document["files"].items()}
        return document["outback"], hashes
    except FileNotFoundError:
        return "", {}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ImportError(f"{file} cannot be read: install {_HERE.name} again") from None


# ---- OUTBACK_COMPILE


def _may_compile() -> bool:
    """Whether the user has asked for it, and installed what compiles."""
    try:
        from torch_outback import Refused, variables
    except ImportError:
        return False
    try:
        return variables.flag("OUTBACK_COMPILE")
    except Refused as why:
        raise ImportError(str(why)) from None


def _compiled(package: str, portable: bool) -> Path:
    """Outback's half for this torch and Python, out of the user's cache. `portable`: the runtime
    packs the kernels of the portable operators."""
    from torch_outback import Refused, cache, toolkit

    made_with = _manifest()[0]
    if made_with not in ("", toolkit.version()):  # whose packed kernels may be called otherwise
        raise ImportError(
            f"{package} was made with torch-outback {made_with}, and OUTBACK_COMPILE=1 finds "
            f"{toolkit.version()}: pip install torch-outback=={made_with}"
        )
    said = f"{package}: compiling the torch half for torch {torch.__version__}, once, for minutes"
    try:
        built = cache.provide(
            portable=portable, before_compiling=lambda: print(said, file=sys.stderr)
        )
        return cache.module_in(built)
    except Refused as why:
        raise ImportError(f"{package}: OUTBACK_COMPILE=1: {why}") from None


def _address(library: ctypes.CDLL, function: str) -> int:
    """0 where the library has none."""
    try:
        found = getattr(library, function, None)
    except UnicodeDecodeError:  # ctypes' error has the path, of whatever encoding
        found = None
    return (ctypes.cast(found, ctypes.c_void_p).value or 0) if found else 0
