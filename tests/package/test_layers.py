"""Dependencies between the folders point one way, and below the contract there is no torch."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
SOURCES = {".c", ".h", ".cpp", ".hpp"}

TORCH = re.compile(r"^(torch|ATen|c10|caffe2|pybind11)/|^Python\.h$")
PYTHON = re.compile(
    r"^(pybind11|torch/csrc/(?!api/|jit/|autograd/(?!python)|inductor/|profiler/stubs/"
    r"|distributed/c10d/reducer_timer\.hpp))|^Python\.h$"
)

# What a folder's files may not include: a pattern each.
FORBIDDEN = {
    "backend_template/runtimes": [
        TORCH,
        re.compile(r"^(registration|generators|backend_template/(core|ops|module))/"),
    ],
    "backend_template/layers": [
        TORCH,
        re.compile(r"^(registration|generators|backend_template/(core|ops|module|runtimes))/"),
    ],
    "backend_template/core": [
        PYTHON,
        re.compile(r"^(generators|backend_template/(runtimes|module)|outback/kernels)/"),
    ],
    "backend_template/ops": [
        PYTHON,
        # Only backends with native kernels pay for those headers.
        re.compile(r"^(generators|backend_template/(runtimes|module)|outback/kernels)/"),
    ],
    "backend_template/kernels": [
        PYTHON,
        # Anything more would be a second copy of the backend's state in a library of kernels.
        re.compile(
            r"^(registration|generators)/|^backend_template/(?!kernels/|core/kernel_services\.h$)"
        ),
    ],
    "backend_template/include/outback/kernels": [
        PYTHON,
        re.compile(r"^(registration|generators|backend_template)/"),
    ],
    "backend_template/module": [re.compile(r"^(generators|backend_template/runtimes)/")],
    "generators/methods": [re.compile(r"^backend_template/(runtimes|ops|module)/")],
}


def includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_a_folder_includes_only_what_is_below_it(folder):
    wrong = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SOURCES
        for name in includes(path)
        if any(pattern.search(name) for pattern in FORBIDDEN[folder])
    ]
    assert not wrong, "\n".join(wrong)


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
