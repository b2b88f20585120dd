"""The variables that the doctor knows: the table of docs/variables.md, and some of others'."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .. import toolkit


def _of_page() -> dict[str, tuple[str, str]]:
    """Names, what is accepted, what it does: the rows of the page, without links and backticks."""
    page = (toolkit.tree() / "docs/variables.md").read_text("utf-8")
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| `")]
    return {
        name: (_plain(kind), _plain(meaning))
        for names, kind, meaning in rows
        for name in re.findall("`([^`]+)`", names)
    }


def _plain(text: str) -> str:
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "").strip()


OURS = _of_page()

# Of others, which change what a backend finds.
THEIRS: dict[str, str] = {
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "PyTorch's: 1, the default, lets `import torch` load backends"
    "; all else does not",
    "PYTORCH_ALLOC_CONF": "PyTorch's: sets up the caching allocator",
    "PYTORCH_CUDA_ALLOC_CONF": "PyTorch's: sets up the caching allocator of torch.cuda",
    "ZE_AFFINITY_MASK": "Level Zero's: which devices there are",
    "ZE_FLAT_DEVICE_HIERARCHY": "Level Zero's: whether a tile is a device",
    "OCL_ICD_VENDORS": "the OpenCL loader's: where it looks for drivers",
    "POCL_DEVICES": "PoCL's: which devices there are",
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
    switches = ("CUDA_", "OCL_", "POCL_", "ZE_", "ZES_", "PYTORCH_", "TORCH_")
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
    "a flag": _Kind("0 or 1", lambda it: it in ("0", "1")),
    "a number": _Kind("a number", lambda it: bool(re.fullmatch("[0-9]{1,19}", it))),
    "a number, 0 to 64": _Kind(
        "a number, 0 to 64", lambda it: bool(re.fullmatch("[0-9]{1,19}", it)) and int(it) <= 64
    ),
    "a size": _Kind("a number of bytes above 0, alone or with K, M or G", lambda it: _size(it) > 0),
    "a size, 4096 bytes or more": _Kind(
        "4096 bytes or more, alone or with K, M or G", lambda it: _size(it) >= 4096
    ),
    "gloo or nccl": _Kind("gloo or nccl", lambda it: it in ("gloo", "nccl")),
    "auto or never": _Kind("auto or never", lambda it: it in ("auto", "never")),
    "allow, warn or error": _Kind(
        "allow, warn or error", lambda it: it in ("allow", "warn", "error")
    ),
    "apart, always or never": _Kind(
        "apart, always or never", lambda it: it in ("apart", "always", "never")
    ),
    "a library": _Kind("the absolute path of a file, or a name without /", _library),
    "a folder": _Kind("the absolute path of a folder", os.path.isabs),
    "a file": _Kind("a file", os.path.isfile),
    "a file to write": _Kind(
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
