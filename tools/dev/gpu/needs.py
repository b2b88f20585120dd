"""What each part of ./dev gpu needs: found, or named before anything is built."""

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from .. import console, system
from ..environment import Environment
from . import device
from .packed import LIBRARIES, Pack, joined
from .places import Places

# What is built, and the parts that it is for. A target that does not compile stops no other.
TARGETS = {
    "cuda_device_suite": ("suite", "sanitizer"),
    "torch_acme_cuda": ("demo", "in-place", "kernel", "python"),
    "bench_cuda": ("bench",),
}
# Other backends, which single tests of that part ask for.
_BESIDE = {
    "python": (
        "torch_acme_null",
        "torch_acme_protected",
        "outback_probe",
        "outback_refusing",
    )
}
_PROGRAMS = ("suite", "sanitizer", "bench")  # that load no torch
_PYTHON = ("demo", "in-place", "kernel", "python")
_ALL = (*_PROGRAMS, *_PYTHON)
_REMEDY = (
    "Install it, or bring it in .pack, which ./dev gpu --pack fills where it is installed. "
    "What needs nothing of it runs now."
)


@dataclass(frozen=True)
class Need:
    what: str
    parts: tuple[str, ...]  # that cannot do without it
    is_there: bool | Callable[[], bool]
    package: str  # that has it
    to_build: bool = False  # those parts, and not to run them
    reduces: tuple[str, ...] = ()  # parts that do less without it


@dataclass
class Provisions:
    """Where the parts find what they need, and what they do without."""

    targets: list[str]  # to build
    definitions: list[str]  # for CMake
    programs: dict[str, str]  # variables, for what loads no torch
    python: dict[str, str]  # variables, for Python
    lacking: set[str]  # modules of Python that are nowhere
    sanitizer: str | None
    blocked: dict[str, list[str]] = field(default_factory=dict)  # by part, what it lacks
    nvcc: str | None = None


def provide(environment: Environment, parts: Sequence[str], pack: Pack) -> Provisions:
    """Looks for all that `parts` need, and prints what is missing."""
    places = Places.of(environment)
    packed = pack.lacking(environment.has)
    modules = ("numpy", "pytest", "xdist", "hypothesis", "expecttest", "rich")
    lacking = {name for name in modules if name not in packed and not environment.has(name)}
    python = {"PYTHONPATH": joined(*packed.values(), os.environ.get("PYTHONPATH"))}
    if not environment.has("sklearn"):
        if pack.digits.exists():
            python["OUTBACK_DIGITS"] = os.fspath(pack.digits)
        else:
            lacking.add("sklearn")

    headers = places.headers(pack)
    definitions = pack.definitions()
    if headers:
        definitions.append(f"OUTBACK_CUDA_INCLUDE_DIR={headers}")
    named = bool(os.environ.get("OUTBACK_CUDART")) or device.loader_finds_cudart()
    cudart = None if named else places.cudart(pack)
    library = {"OUTBACK_CUDART": os.fspath(cudart)} if cudart else {}
    if not places.torch_has_cuda:  # one that has it brings its own libcudart, which is to be used
        python |= library

    found = Provisions([], definitions, library, python, lacking, places.sanitizer())
    found.nvcc = places.nvcc()
    needs = [
        *_to_build(environment, pack, headers is not None),
        Need(
            "libcudart",
            _PROGRAMS if places.torch_has_cuda else _ALL,
            named or cudart is not None,
            "CUDA Toolkit",
        ),
        Need(
            "compute-sanitizer",
            ("sanitizer",),
            found.sanitizer is not None,
            "CUDA Toolkit",
        ),
        Need("nvcc", ("kernel",), found.nvcc is not None, "CUDA Toolkit"),
        Need(
            "torch's CUDA build",
            ("in-place",),
            places.torch_has_cuda,
            "PyTorch's own wheels",
        ),
        *_modules(lacking),
    ]
    found.blocked = _name_missing(needs, parts)
    found.targets = _targets(needs, parts, found.blocked)
    if "bench_cuda" not in found.targets:
        definitions.append("OUTBACK_BUILD_BENCH=OFF")
    return found


def _to_build(environment: Environment, pack: Pack, cuda: bool) -> Iterable[Need]:
    for need in system.COMPILE:
        if not need.optional:
            parts = _PYTHON if need.package == "python3-dev" else _ALL
            yield Need(need.package, parts, need.is_there, need.package, to_build=True)
    make = environment.tool("ninja") or shutil.which("ninja") or shutil.which("make")
    yield Need("ninja", _ALL, make is not None, "ninja-build", to_build=True)
    for library, (header, packages) in LIBRARIES.items():
        yield Need(
            library,
            TARGETS["bench_cuda"] if library == "benchmark" else _ALL,
            pack.config(library) is not None or system.header(header)(),
            " ".join(packages),
            to_build=True,
        )
    yield Need("CUDA's headers", _ALL, cuda, "CUDA Toolkit", to_build=True)


def _modules(lacking: set[str]) -> Iterable[Need]:
    def need(module: str, parts: tuple[str, ...], reduces: tuple[str, ...] = ()) -> Need:
        package = {"xdist": "pytest-xdist", "sklearn": "scikit-learn"}.get(module, module)
        there = module not in lacking
        return Need(module, parts, there, f"Python's {package}", reduces=reduces)

    yield need("numpy", _PYTHON)
    yield need("pytest", ("in-place", "python"))
    yield need("xdist", (), ("python",))
    yield need("hypothesis", (), ("python",))
    yield need("expecttest", (), ("python",))
    yield need("rich", ("demo", "in-place"), ("python",))
    yield need("sklearn", ("demo",), ("python",))


def _name_missing(needs: Sequence[Need], parts: Sequence[str]) -> dict[str, list[str]]:
    """Prints what is missing, and returns it by the part that cannot run without it."""
    building = "build" in parts
    wanted = _wanted(parts)
    blocked: dict[str, list[str]] = {}
    lines = []
    for need in needs:
        if need.to_build and not building:
            continue
        stopped = [part for part in need.parts if part in wanted]
        reduced = [part for part in need.reduces if part in parts]
        if not need.to_build:
            stopped = [part for part in stopped if part in parts]
        there = need.is_there() if callable(need.is_there) else need.is_there
        if there or not (stopped or reduced):
            continue
        for part in stopped:
            blocked.setdefault(part, []).append(need.what)
        for_whom = [*stopped, *(f"some of {part}" for part in reduced)]
        lines.append(f"  {need.what:<20} for {', '.join(for_whom)} ({need.package})")
    if lines:
        console.title("\n".join(["Missing here:", *lines, _REMEDY]))
    return blocked


def _wanted(parts: Sequence[str]) -> Sequence[str]:
    """The parts that a build is for: those asked for, or all where only a build is."""
    return [part for part in parts if part != "build"] or _ALL


def _targets(
    needs: Sequence[Need], parts: Sequence[str], blocked: dict[str, list[str]]
) -> list[str]:
    runnable = [part for part in _wanted(parts) if part not in blocked]
    found = [target for target, users in TARGETS.items() if any(part in runnable for part in users)]
    return [*found, *(target for part in runnable for target in _BESIDE.get(part, ()))]
