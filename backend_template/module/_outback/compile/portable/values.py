"""How generated kernels in the dialect write values: types, constants, conversions."""

import math
from typing import Any

import sympy
import torch
from torch._inductor.codegen.common import CSEVariable
from torch._inductor.virtualized import OpsValue, V

from .indices import text_of_index

# In memory.
MEMORY = {
    torch.bool: "b8",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}
HALVES = (torch.float16, torch.bfloat16)


def memory_type(dtype: torch.dtype) -> str:
    if dtype not in MEMORY:
        raise NotImplementedError(f"kernels in the dialect have no {dtype}")
    return MEMORY[dtype]


def computed(dtype: torch.dtype) -> torch.dtype:
    """What a value of the dtype is in registers: 16-bit floats are float32, and so is what Inductor
    would compute with float64 on a device without that."""
    if dtype == torch.float64:
        wide: torch.dtype = getattr(V.kernel, "wide", dtype)
        return wide
    return torch.float32 if dtype in HALVES else dtype


def register_type(dtype: torch.dtype) -> str:
    return memory_type(computed(dtype))


def constant(value: Any, dtype: torch.dtype) -> str:
    dtype = computed(dtype)
    if dtype.is_floating_point:
        return _floating(float(value), dtype)
    if dtype == torch.bool:
        return "1" if value else "0"
    whole = int(value)
    if whole == -(1 << 63):
        return "(-9223372036854775807L - 1)"
    return f"(({register_type(dtype)}){whole}L)"


def _floating(value: float, dtype: torch.dtype) -> str:
    kind = register_type(dtype)
    rounded = torch.tensor(value, dtype=dtype).item()
    if math.isinf(rounded):
        return f"(({kind}){'-' if rounded < 0 else ''}INF)"
    if math.isnan(value):
        return f"(({kind})NOT_A_NUMBER)"
    # Not the rounded number: Inductor tells values by their texts, and knows the range of each.
    return f"{value!r}{'f' if dtype == torch.float32 else ''}"


def plain(value: Any) -> Any:
    return value.value if isinstance(value, OpsValue) else value


def convert(value: Any, dtype: torch.dtype) -> str:
    """`value`, a variable or a number, in registers as `dtype`."""
    value, dtype = plain(value), computed(dtype)
    if isinstance(value, bool | int | float):
        return constant(value, dtype)
    kind = register_type(dtype)
    if isinstance(value, sympy.Expr):
        return f"(({kind})({text_of_index(value)}))"
    has = value.dtype if isinstance(value, CSEVariable) else None
    if has is None or computed(has) == dtype:
        return str(value)
    if dtype == torch.bool:
        return f"({value} != 0)"
    if has.is_floating_point and not dtype.is_floating_point and dtype.itemsize < 8:
        return f"(({kind})(i64){value})"  # a defined wrap, as the CPU's kernels do it
    return f"(({kind}){value})"
