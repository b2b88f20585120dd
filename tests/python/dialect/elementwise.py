"""Compiles a module of the host with an elementwise kernel for each of some functions, and calls
its kernels without a backend."""

import ctypes
import os
import subprocess
from pathlib import Path

import torch

INCLUDE = Path(__file__).resolve().parents[3] / "backend_template" / "include"
TYPES = {torch.float32: "f32", torch.float64: "f64"}

_WORDS = """
#include "outback/dialect.h"
#include "outback/dialect/special.h"
#define MAP1(f, T) \\
  KERNEL(map_##f##_##T, GLOBAL T* y, const GLOBAL T* a, i64 n) { \\
    EACH(i, n) { y[i] = f##_##T(a[i]); } \\
  }
#define MAP2(f, T) \\
  KERNEL(map_##f##_##T, GLOBAL T* y, const GLOBAL T* a, const GLOBAL T* b, i64 n) { \\
    EACH(i, n) { y[i] = f##_##T(a[i], b[i]); } \\
  }
"""


def source(arities):
    """The text of the module: `arities` has the number of arguments of each function."""
    f32, f64 = (
        "".join(f"MAP{arity}({name}, {T})\n" for name, arity in arities.items())
        for T in ("f32", "f64")
    )
    return f"{_WORDS}{f32}#ifdef HAS_F64\n{f64}#endif\n"


class _Groups(ctypes.Structure):  # outback_host_groups
    _fields_ = (
        ("struct_size", ctypes.c_uint32),
        ("items", ctypes.c_uint32 * 3),
        ("groups", ctypes.c_uint32 * 3),
        ("reserved", ctypes.c_uint32),
        ("first", ctypes.c_uint64),
        ("count", ctypes.c_uint64),
        ("arguments", ctypes.c_void_p),
        ("local", ctypes.c_void_p),
        ("local_size", ctypes.c_uint64),
    )


class _Kernel(ctypes.Structure):  # outback_host_kernel
    _fields_ = (
        ("struct_size", ctypes.c_uint32),
        ("argument_count", ctypes.c_uint32),
        ("argument_sizes", ctypes.c_void_p),
        ("max_items", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("run", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(_Groups))),
    )


class Module:
    def __init__(self, arities, folder):
        text, library = folder / "special.k", folder / "special.so"
        text.write_text(source(arities), encoding="utf-8")
        compiler = os.environ.get("CXX", "c++")
        flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Wdouble-promotion", "-Werror"]
        command = [compiler, *flags, "-shared", "-fPIC", f"-I{INCLUDE}", "-x", "c++", text]
        subprocess.run([*command, "-o", library], check=True)
        self._library = ctypes.CDLL(os.fspath(library))

    def __call__(self, name, *inputs):
        """`inputs` are tensors of one dtype and of one shape."""
        inputs = [each.contiguous() for each in inputs]
        result = torch.empty_like(inputs[0])
        symbol = f"outback_kernel_map_{name}_{TYPES[result.dtype]}"
        kernel = _Kernel.in_dll(self._library, symbol)
        arguments = [ctypes.c_void_p(each.data_ptr()) for each in (result, *inputs)]
        arguments.append(ctypes.c_int64(result.numel()))
        addresses = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        groups = _Groups(
            struct_size=ctypes.sizeof(_Groups),
            items=(kernel.max_items, 1, 1),
            groups=(1, 1, 1),
            count=1,
            arguments=ctypes.addressof(addresses),
        )
        assert kernel.run(ctypes.byref(groups)) == 0
        return result
