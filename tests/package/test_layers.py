"""Dependencies between the folders point one way, and below the contract there is no torch."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from dev.architecture import includes  # noqa: E402

SOURCES = includes.SOURCES

TORCH = re.compile(r"^(torch|ATen|c10|caffe2)/")
PYTHON = re.compile(
    r"^(pybind11|torch/csrc/(?!api/|jit/|autograd/(?!python)|inductor/|profiler/stubs/"
    r"|distributed/c10d/reducer_timer\.hpp))|^Python\.h$"
)

_TORCH_HALF = {"contract", "API", "torch"}

# What the files of a part may include besides their own part's: other parts (dev/includes.py),
# torch without Python, Python.
MAY_INCLUDE = {
    "contract": set(),
    "runtimes": {"contract"},
    "runtimes/host": {"contract", "runtimes"},
    "runtimes/cuda": {"contract", "runtimes"},
    "runtimes/level_zero": {"contract", "runtimes"},
    "runtimes/opencl": {"contract", "runtimes"},
    "runtimes/null": {"contract", "runtimes"},
    "layers": {"contract"},
    # Host compilers read it where a backend runs: the contract's header of host modules, no more.
    "dialect": {"contract"},
    "portable": {"dialect"},
    # Operators of which those kernels are the loops: it is linked where kernels are packed.
    "portable/engine": {*_TORCH_HALF, "core", "ops", "API for kernels"},
    "API": {"contract", "torch", "Python"},
    "API for kernels": {"contract", "torch", "structured adapter"},
    # The class by which a structured kernel of torch's gets its outputs: for vendors' and ours.
    "structured adapter": {"torch"},
    # One header of services: anything more would be a second copy of the backend's state in a
    # library of kernels that is loaded later.
    "core/kernel_services.h": {"contract", "torch"},
    "kernels": {"contract", "torch", "API for kernels", "core/kernel_services.h"},
    # Only backends with native kernels pay for the headers of the API for kernels.
    "core": {*_TORCH_HALF, "core/kernel_services.h"},
    "ops": {*_TORCH_HALF, "core", "structured adapter"},
    "nn": {*_TORCH_HALF, "core"},
    "python": {*_TORCH_HALF, "Python", "core", "ops"},
    # What a transport is, and what all of them check and lend: no transport knows the group.
    "distributed/transport.h": {"torch", "Python", "core"},
    "distributed/gloo": {"torch", "Python", "core", "ops", "distributed/transport.h"},
    "distributed/nccl": {"torch", "Python", "core", "ops", "distributed/transport.h"},
    "distributed": {
        *(*_TORCH_HALF, "Python", "core", "python"),
        *("distributed/transport.h", "distributed/gloo", "distributed/nccl"),
    },
    "module": {*_TORCH_HALF, "Python", "core", "ops", "python"},
    "methods": {*_TORCH_HALF, "Python", "core", "ops", "python"},
    "registration": {*_TORCH_HALF, "core", "ops"},
    "registration/python": {
        *(*_TORCH_HALF, "Python", "core", "ops"),
        *("python", "distributed", "module", "methods", "registration"),
    },
    "loader": {*_TORCH_HALF, "Python", "core", "python", "registration"},
    # What a backend is made of: the public headers alone.
    "project": {"contract", "API", "API for kernels", "torch", "Python"},
}


# The rooms of core, from the lowest on: what the files of each may include of the others.
ROOMS_OF_CORE = {
    "runtime": set(),
    "devices": {"runtime"},
    "twin": {"devices", "runtime"},
    "captures": {"devices", "runtime"},
    "races": {"runtime"},
    "operators": set(),
    "timeline": {"captures", "twin", "devices", "runtime"},
    "streams": {"operators", "timeline", "races", "captures", "twin", "devices", "runtime"},
    "kernels": {
        *("streams", "operators", "timeline", "races", "captures", "twin", "devices", "runtime"),
    },
    "memory": {
        *("streams", "operators", "timeline", "races", "captures", "twin", "devices", "runtime"),
    },
    "interfaces": {
        *("kernels", "memory", "streams", "timeline", "races", "captures", "twin", "devices"),
        "runtime",
    },
    "graphs": {
        *("interfaces", "memory", "streams", "timeline", "captures", "twin", "devices", "runtime"),
    },
}

# The same of ops: one room for each provider of operators.
ROOMS_OF_OPS = {
    "tensors": set(),
    "copies": {"tensors"},
    "in_place": {"copies", "tensors"},
    "on_pointers": {"in_place", "tensors"},
    "cudnn": {"in_place"},
    "recurrent": {"cudnn", "in_place", "tensors"},
    "own": {"on_pointers", "in_place", "tensors"},
    "recording": {"in_place", "tensors"},
    "report": {"in_place"},
}

ROOMS = {"core": ROOMS_OF_CORE, "ops": ROOMS_OF_OPS}


def kind_of(name: str) -> str:
    """What a header outside of the tree belongs to; "" for the others."""
    if PYTHON.search(name):
        return "Python"
    return "torch" if TORCH.search(name) else ""


def test_every_part_has_a_row():
    assert set(MAY_INCLUDE) == set(includes.PARTS)


@pytest.mark.parametrize("part", MAY_INCLUDE)
def test_a_folder_includes_only_what_is_below_it(part):
    allowed = MAY_INCLUDE[part] | {part, ""}
    of_part = [
        path for path in includes.files() if includes.part_of(str(path.relative_to(ROOT))) == part
    ]
    assert of_part, "no such files: the part's folder has another name now"
    wrong = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in of_part
        for name, there in includes.included(path)
        if (there or kind_of(name)) not in allowed
    ]
    assert not wrong, "\n".join(wrong)


def no_cycle(above: dict[str, set[str]]) -> None:
    while above:
        lowest = {part for part, below in above.items() if not below & above.keys()}
        assert lowest, f"each of these needs another one: {sorted(above)}"
        above = {part: below for part, below in above.items() if part not in lowest}


def test_the_table_has_no_cycle():
    """So no change of the includes that the table allows can make one."""
    no_cycle({part: allowed & MAY_INCLUDE.keys() for part, allowed in MAY_INCLUDE.items()})


def test_no_file_of_conformance_needs_itself():
    """Imports for types alone are counted: a reader follows them too."""
    files = {path.with_suffix(""): path for path in (ROOT / "conformance").rglob("*.py")}
    no_cycle({str(name): set(imported(name, path, files)) for name, path in files.items()})


def imported(name: Path, path: Path, files: dict[Path, Path]) -> Iterator[str]:
    """The files of the same package that a Python file imports, by their relative names."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.level:
            module = name.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            inner = {module / alias.name for alias in node.names} & files.keys()
            yield from map(str, inner or {module, module / "__init__"} & files.keys())


@pytest.mark.parametrize("house", ROOMS)
def test_a_room_includes_only_rooms_below_it(house):
    folder = f"backend_template/{house}/"
    wrong, seen = [], set()
    for path in sorted((ROOT / folder).glob("*/**/*")):
        if path.suffix not in SOURCES:
            continue
        room = path.relative_to(ROOT / folder).parts[0]
        seen.add(room)
        for name, _ in includes.included(path):
            other, inner, _ = name.removeprefix(folder).partition("/")
            if name.startswith(folder) and inner and other not in {room, *ROOMS[house][room]}:
                wrong.append(f"{path.relative_to(ROOT)} includes {name}")
    assert seen == set(ROOMS[house])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("house", ROOMS)
def test_the_rooms_have_an_order(house):
    below = set()
    for room, allowed in ROOMS[house].items():
        assert allowed <= below
        below.add(room)


def test_torch_versions_are_compared_in_one_header_only():
    """Everything else asks for what it needs, so that a new torch is one file's work."""
    compares = re.compile(r"^\s*#\s*(el)?if.*\bTORCH_VERSION_", re.MULTILINE)
    wrong = [
        str(path.relative_to(ROOT))
        for folder in ("backend_template", "registration", "generators")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SOURCES
        and path.name != "torch_version.h"
        and compares.search(path.read_text("utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_modules_are_imported_without_the_callers_importer():
    """Code of torch.package has one that refuses ours: python/imported.h has what to call."""
    wrong = [
        str(path.relative_to(ROOT))
        for path in includes.files()
        if re.search(r"module_::import\b|PyImport_Import(Module)?\(", path.read_text("utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_format_is_called_by_its_namespace():
    """std::format, which newer compilers have, takes part in a call of `format` that has a
    std::string among its arguments, and none of the two is the better one."""
    calls = re.compile(r"(?<![\w:.>])format\((?!fmt::format_string)")
    wrong = [
        str(path.relative_to(ROOT))
        for path in includes.files()
        if calls.search(re.sub(r"//.*", "", path.read_text("utf-8")))
    ]
    assert not wrong, "\n".join(wrong)
