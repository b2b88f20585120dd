"""The kernels of backend_template/portable, compiled for the device under test."""

import ctypes
import functools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
import torch_acme
from conftest import BUILD

SOURCE = Path(__file__).resolve().parents[3]
sys.path.append(str(SOURCE / "cmake"))
from inline_includes import inlined  # noqa: E402

TEMPLATE = SOURCE / "backend_template"
NAMES = {
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.bool: "b8",
}


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def names_of(dtype: torch.dtype) -> list[str]:
    """Of the kernels of kernels_by_hand.k."""
    floating = dtype.is_floating_point
    return ["cumsum", "sort_rows", *["matmul", "matmul_vector", "im2col", "attention"] * floating]


class Library:
    """The kernels of kernels_by_hand.k for one type, on the device."""

    def __init__(self, module: str, names: list[str], fibers: bool) -> None:
        file = Path(__file__).with_name("kernels_by_hand.k")
        text = f"#define T {module}\n"
        text += inlined(file, [TEMPLATE / "include", TEMPLATE / "portable"])
        if fibers:
            text = f"#define OUTBACK_DIALECT_FIBERS\n{text}"
        # Fibers are slow: small groups, and small sizes.
        items = 64 if fibers else None
        made = torch.acme.compile_kernel(text, names, language="dialect", items=items)
        self._kernels = dict(zip(names, made, strict=True))
        self.module = module
        self.items = made[0].items
        self.is_small = fibers or BACKEND == "python_made_up"

    def launch(self, name: str, groups: int, *arguments: object) -> None:
        """An int is an i64, an i32 is a ctypes.c_int32, and None is a null pointer."""
        kernel = self._kernels[name]
        given = [ctypes.c_int64(a) if isinstance(a, int) else a for a in arguments]
        kernel(groups, kernel.items, given)


# In the build tree, by the runtime: to ask would start the device while tests are collected.
BACKEND = Path(torch_acme.__file__).parts[-3]
MADE_UP = SOURCE / "tests/backends/made_up"


def compile_made_up(text: str, target: str) -> bytes:
    """By the compiler of the made-up language, a program of its own."""
    assert target == ""
    items = re.search(r"#define LSIZE (\d+)", text)[1]
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "kernel.mu"), Path(folder, "kernel")
        source.write_text(text)
        command = [sys.executable, MADE_UP / "compiler.py", source, "-o", made, "--units", items]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return made.read_bytes()


@pytest.fixture(scope="session", params=["fibers", "device"])
def library(request):
    """library(dtype) is the dtype's module, as the device runs it, or by fibers on the host."""
    fibers = request.param == "fibers"
    if fibers and BACKEND not in ("python", "python_protected"):
        pytest.skip("needs the host runtime, which runs fibers")
    is_executed = BACKEND == "python_level_zero" and "OUTBACK_ZE_EXECUTE" in os.environ
    if BACKEND in ("python_cuda", "python_level_zero") and not is_executed:
        pytest.skip("needs a driver that executes what is compiled for it")
    if BACKEND == "python_made_up":
        words = (MADE_UP / "words.h").read_text()
        torch.acme.register_kernel_compiler(1001, compile_made_up, words=words, version="1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OUTBACK_CACHE_DIR", str(BUILD / "tests/kernel_cache"))

        @functools.cache
        def of(dtype: torch.dtype) -> Library:
            return Library(NAMES[dtype], [f"{n}_{NAMES[dtype]}" for n in names_of(dtype)], fibers)

        yield of
