"""The variables that the doctor knows: the table of docs/variables.md, and some of others'.

A test holds the first to that page, and the page to the sources.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FLAG, NUMBER, SIZE = "a flag", "a number", "a size"
LIBRARY, FOLDER, FILE = "a library", "a folder", "a file"
TO_WRITE = "a file to write"

_SUITE = "the runtime suite: "
_HALF = "what the torch half is compiled with. For another value, the cache gets another torch half"
_OF_DRIVER = (
    "belong to the driver or its loader. Outback reads them too, in the same way, to know what the "
    "driver will do (CUDA, Level Zero)"
)
_CACHES = (
    "where the user's caches are. Outback does not refuse a path that is not absolute in these "
    "two, but ignores it"
)
_PROGRAMS = f"{_SUITE}how many random programs it runs, and the first one's seed"
_CHOSEN = "loads this one instead of the one that is found"

# Names, what is accepted, what it does: as the page has it, without links and backticks.
OURS: dict[str, tuple[str, str]] = {
    "OUTBACK_VALIDATE": (FLAG, "checks each call of the runtime and what each call returns"),
    "OUTBACK_TRACE": (TO_WRITE, "records each call; .json is a Chrome trace, all else text"),
    "OUTBACK_FAULTS": ("a list of faults", "fails or delays the calls that it names"),
    "<NAME>_VISIBLE_DEVICES": (
        "a list of devices",
        "only these devices are visible, numbered from 0 in the order of the list",
    ),
    "OUTBACK_FALLBACK": (
        "allow, warn or error",
        "sets the fallback mode that a process begins with",
    ),
    "OUTBACK_AUTOLOAD": (
        FLAG,
        "whether import torch loads the backend, also where torch.cuda has devices",
    ),
    "OUTBACK_AUTOLOAD_SAID": (
        "anything",
        "Outback sets it, so that the processes that this one starts do not repeat that import "
        "torch did not load the backend",
    ),
    "OUTBACK_TRANSPORT": (
        "gloo or nccl",
        "what the groups of torch.distributed communicate through",
    ),
    "OUTBACK_REPORT_LEAKS": (FLAG, "lists on stderr what is still allocated when the process ends"),
    "OUTBACK_FLOAT64": (
        FLAG,
        "whether the backend has float64 and complex128; 0: as if its vendor lacked both",
    ),
    "OUTBACK_SANITIZER": (FLAG, "looks for races between streams from the start"),
    "OUTBACK_LAUNCH_BLOCKING": (
        FLAG,
        "each operator waits for the work that it enqueues, so that it reports work that fails "
        "late itself; slow",
    ),
    "OUTBACK_OPERATORS": (
        "a file to write",
        "records the operators of the process; %p in it stands for the process's number",
    ),
    "OUTBACK_OPERATORS_STACK": (
        FLAG,
        "whether OUTBACK_OPERATORS also records the lines that operators are called from",
    ),
    "OUTBACK_HOST_DEVICES": (
        "a number, 0 to 64",
        "how many devices the host runtime has; this runtime uses the CPU's own memory and threads",
    ),
    "OUTBACK_HOST_MEMORY": (SIZE, "how much memory each of these devices has"),
    "OUTBACK_HOST_ADDRESSABLE": (
        FLAG,
        "whether the host runtime says that the CPU can address that memory",
    ),
    "OUTBACK_HOST_PROTECTED": (FLAG, "whether that memory faults when the CPU touches it"),
    "OUTBACK_HOST_ADVERSARIAL": (
        NUMBER,
        "a seed: the host runtime runs work as late as the contract allows",
    ),
    "OUTBACK_HOST_FAIL_WORK": (
        NUMBER,
        "counted from 1: the host runtime lets this piece of enqueued work fail late; 0: none",
    ),
    "OUTBACK_CUDART": (LIBRARY, _CHOSEN),
    "OUTBACK_NVML": (LIBRARY, _CHOSEN),
    "OUTBACK_ZE_LOADER": (LIBRARY, "loads this one instead of libze_loader.so.1"),
    "OUTBACK_ZE_IN_ORDER": (
        FLAG,
        "0: the Level Zero runtime keeps the order of work by barriers",
    ),
    "OUTBACK_SUITE_PROGRAMS": (NUMBER, _PROGRAMS),
    "OUTBACK_SUITE_SEED": (NUMBER, _PROGRAMS),
    "OUTBACK_RUNTIME_SUITE": (
        FILE,
        "outback conformance: the program of the runtime suite that the project builds, which the "
        "suite runtime then runs",
    ),
    "OUTBACK_SUITE_SIZE": (
        "a size, 4096 bytes or more",
        f"{_SUITE}the size of the copies in tests of large copies",
    ),
    "OUTBACK_SUITE_TIME_LIMIT": (
        NUMBER,
        f"{_SUITE}how many seconds a test may take; 0: no limit",
    ),
    "OUTBACK_CACHE_DIR": (FOLDER, "where Outback keeps the compiled torch half (the cache)"),
    "XDG_CACHE_HOME": (FOLDER, _CACHES),
    "HOME": (FOLDER, _CACHES),
    "CXX": ("CMake's", _HALF),
    "CXXFLAGS": ("CMake's", _HALF),
    "LDFLAGS": ("CMake's", _HALF),
    "CMAKE_TOOLCHAIN_FILE": ("CMake's", _HALF),
    "CMAKE_BUILD_PARALLEL_LEVEL": (
        "CMake's",
        "how many compilers run at a time; not set: one for each processor",
    ),
    "CUDA_VISIBLE_DEVICES": ("the driver's", _OF_DRIVER),
    "ZE_ENABLE_VALIDATION_LAYER": ("the driver's", _OF_DRIVER),
    "ZES_ENABLE_SYSMAN": ("the driver's", _OF_DRIVER),
}

# Of others, which change what a backend finds.
THEIRS: dict[str, str] = {
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "PyTorch's: 1, the default, lets `import torch` load backends"
    "; all else does not",
    "PYTORCH_ALLOC_CONF": "PyTorch's: sets up the caching allocator",
    "PYTORCH_CUDA_ALLOC_CONF": "PyTorch's: sets up the caching allocator of torch.cuda",
    "ZE_AFFINITY_MASK": "Level Zero's: which devices there are",
    "ZE_FLAT_DEVICE_HIERARCHY": "Level Zero's: whether a tile is a device",
    "CUDA_DEVICE_ORDER": "CUDA's: the order of the devices",
    "CUDA_LAUNCH_BLOCKING": "CUDA's: each call waits for its work",
    "PYTHONPATH": "Python's: modules are taken from there before the installed ones",
    "PYTHONHOME": "Python's: where its own library is",
    "LD_LIBRARY_PATH": "the dynamic loader's: libraries are taken from there before the system's",
    "LD_PRELOAD": "the dynamic loader's: each program loads these libraries first",
    "CUDA_HOME": "builds': where the CUDA Toolkit is",
    "CUDA_PATH": "builds': where the CUDA Toolkit is",
    "CUDAToolkit_ROOT": "CMake's: where the CUDA Toolkit is",
    "LEVEL_ZERO_ROOT": "builds': where Level Zero's headers are",
    "CMAKE_PREFIX_PATH": "CMake's: where packages are",
}


def shows_value(name: str) -> bool:
    """Whether it is printed: that of a device's or a library's switch, and no text of anybody's."""
    ours = name.startswith("OUTBACK_") and name in OURS
    switches = ("CUDA_", "ZE_", "ZES_", "PYTORCH_", "TORCH_")
    known = name in OURS or name in THEIRS
    paths = ("CUDA_HOME", "CUDA_PATH")
    return ours or (known and name.startswith(switches) and name not in paths)


@dataclass(frozen=True)
class _Kind:
    expected: str
    accepts: Callable[[str], bool]


def _library(value: str) -> bool:
    return "/" not in value or (os.path.isabs(value) and os.path.isfile(value))


def _can_be_written(value: str) -> bool:
    if re.fullmatch(r"/dev/(stdout|stderr|fd/\d+)", value):
        return True
    try:
        facts = os.lstat(value)
    except FileNotFoundError:
        return os.access(Path(value).parent, os.W_OK)
    except OSError:  # its folder may not be entered, or is none
        return False
    single = not stat.S_ISDIR(facts.st_mode) and facts.st_nlink == 1
    return single and not stat.S_ISLNK(facts.st_mode) and os.access(value, os.W_OK)


def _size(value: str) -> int:
    found = re.fullmatch(r"([0-9]+)([KMG]?)", value.upper())
    return int(found.group(1)) << {"": 0, "K": 10, "M": 20, "G": 30}[found.group(2)] if found else 0


_KINDS: dict[str, _Kind] = {
    FLAG: _Kind("0 or 1", lambda it: it in ("0", "1")),
    NUMBER: _Kind("a number", lambda it: bool(re.fullmatch("[0-9]{1,19}", it))),
    "a number, 0 to 64": _Kind(
        "a number, 0 to 64", lambda it: bool(re.fullmatch("[0-9]{1,19}", it)) and int(it) <= 64
    ),
    SIZE: _Kind("a number of bytes above 0, alone or with K, M or G", lambda it: _size(it) > 0),
    "a size, 4096 bytes or more": _Kind(
        "4096 bytes or more, alone or with K, M or G", lambda it: _size(it) >= 4096
    ),
    "gloo or nccl": _Kind("gloo or nccl", lambda it: it in ("gloo", "nccl")),
    "allow, warn or error": _Kind(
        "allow, warn or error", lambda it: it in ("allow", "warn", "error")
    ),
    LIBRARY: _Kind("the absolute path of a file, or a name without /", _library),
    FOLDER: _Kind("the absolute path of a folder", os.path.isabs),
    FILE: _Kind("a file", os.path.isfile),
    TO_WRITE: _Kind(
        "a file that can be written, and neither a symbolic link nor one with several hard links",
        _can_be_written,
    ),
}


def problem(name: str, value: str) -> str:
    """What is expected in place of `value`; "" where it can be read, or where its reader is
    another: that of a list of faults or devices is the backend, whose import tells.
    """
    kind = _KINDS.get(OURS[name][0]) if name in OURS else None
    return "" if kind is None or kind.accepts(value) else kind.expected
