"""The parts of the tree, and which of them includes which: for docs/architecture.md, and for
tests/package/test_layers.py, which says what each may include."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from ..paths import ROOT

SOURCES = {".c", ".h", ".cpp", ".hpp"}
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
_HEADERS = "backend_template/include/"

# A part of the tree: where it begins. The longest beginning that fits a file is its part. The
# contract is what a runtime may include: it knows neither torch nor Python.
PARTS = {
    "contract": (f"{_HEADERS}outback/",),
    "dialect": (f"{_HEADERS}outback/dialect",),  # dialect.h, and the folder beside it
    "portable": ("backend_template/portable/",),
    "portable/engine": ("backend_template/portable/engine/",),
    "API": tuple(f"{_HEADERS}outback/{name}.h" for name in ("backend", "module", "nn", "python")),
    "API for kernels": (f"{_HEADERS}outback/kernels/",),
    "structured adapter": (f"{_HEADERS}outback/kernels/structured_adapter.h",),
    "runtimes": ("backend_template/runtimes/",),
    "runtimes/host": ("backend_template/runtimes/host/",),
    "runtimes/cuda": ("backend_template/runtimes/cuda/",),
    "runtimes/level_zero": ("backend_template/runtimes/level_zero/",),
    "runtimes/opencl": ("backend_template/runtimes/opencl/",),
    "runtimes/null": ("backend_template/runtimes/null/",),
    "layers": ("backend_template/layers/",),
    "core": ("backend_template/core/",),
    "core/kernel_services.h": ("backend_template/core/kernel_services.h",),
    "ops": ("backend_template/ops/",),
    "nn": ("backend_template/nn/",),
    "distributed": ("backend_template/distributed/",),
    "distributed/transport.h": tuple(
        f"backend_template/distributed/{name}."
        for name in (
            *("transport", "collective", "operation", "checks", "lent_tensor", "future_value"),
        )
    ),
    "distributed/gloo": ("backend_template/distributed/gloo/",),
    "distributed/nccl": ("backend_template/distributed/nccl/",),
    "kernels": ("backend_template/kernels/",),
    "python": ("backend_template/python/",),
    "module": ("backend_template/module/",),
    "methods": ("generators/methods/",),
    "registration": ("registration/",),
    "registration/python": ("registration/python/",),
    "loader": ("generators/loader/",),
    "project": ("generators/project/",),
}


def part_of(path: str) -> str:
    """Of a file, from the repository's root. Throws KeyError where no part has it."""
    fitting = [
        (len(start), part)
        for part, starts in PARTS.items()
        for start in starts
        if path.startswith(start)
    ]
    if not fitting:
        raise KeyError(f"{path}: no part of the tree: add its folder to PARTS")
    return max(fitting)[1]


def files(root: Path = ROOT) -> Iterator[Path]:
    for folder in ("backend_template", "generators", "registration"):
        yield from sorted(p for p in (root / folder).rglob("*") if p.suffix in SOURCES)


def included(path: Path, root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """What a file includes: each name as it stands there, and its part of the tree; "" outside."""
    for name in _INCLUDE.findall(path.read_text(encoding="utf-8")):
        for place in (name, _HEADERS + name, str((path.parent / name).relative_to(root))):
            if (root / place).is_file():
                yield name, part_of(place)
                break
        else:
            yield name, ""


def edges(root: Path = ROOT) -> dict[str, dict[str, int]]:
    """Each part, and how many includes it has of each other one."""
    counts: dict[str, dict[str, int]] = {part: defaultdict(int) for part in PARTS}
    for path in files(root):
        here = part_of(str(path.relative_to(root)))
        for _, there in included(path, root):
            if there and there != here:
                counts[here][there] += 1
    return counts
