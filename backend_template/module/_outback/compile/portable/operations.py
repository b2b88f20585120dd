"""One expression of the dialect for each of Inductor's scalar operations."""

from collections.abc import Callable
from typing import Any

import sympy
import torch
from torch._inductor.codegen import common
from torch._inductor.codegen.common import CSEVariable, IndentedBuffer, OpOverrides
from torch._inductor.dtype_propagation import DtypePropagationOpsHandler, promote_types
from torch._inductor.utils import get_bounds_index_expr
from torch._inductor.virtualized import V, ops

from .values import HALVES, computed, constant, convert, memory_type, plain, register_type


def _dtype_of_result(operation: str, *given: Any) -> torch.dtype:
    return computed(getattr(DtypePropagationOpsHandler(), operation)(*given))


def _together(a: Any, b: Any) -> tuple[torch.dtype, str, str]:
    """The dtype of both, and both in it."""
    dtype = computed(promote_types([a, b]))
    return dtype, convert(a, dtype), convert(b, dtype)


class Operations(OpOverrides):
    @staticmethod
    def constant(value: Any, dtype: torch.dtype) -> str:
        return constant(value, dtype)

    @staticmethod
    def to_dtype(
        x: Any, dtype: torch.dtype, src_dtype: Any = None, use_compute_types: bool = True
    ) -> str:
        text = convert(x, dtype)
        if dtype in HALVES and not use_compute_types:
            kind = memory_type(dtype)
            return f"f32_of_{kind}({kind}_of_f32({text}))"
        return text if text != str(x) else f"({text})"

    @staticmethod
    def to_dtype_bitcast(x: Any, dtype: torch.dtype, src_dtype: torch.dtype) -> str:
        bits = f"u{src_dtype.itemsize * 8}"
        if src_dtype in HALVES:
            x = f"{memory_type(src_dtype)}_of_f32({x})"
        elif src_dtype.is_floating_point:
            x = f"bits_of_{register_type(src_dtype)}({x})"
        else:
            x = f"(({bits}){x})"
        if dtype in HALVES:
            return f"f32_of_{memory_type(dtype)}({x})"
        if dtype.is_floating_point:
            return f"{register_type(dtype)}_of_bits({x})"
        return f"(({register_type(dtype)}){x})"

    @staticmethod
    def index_expr(expr: sympy.Expr, dtype: torch.dtype) -> Any:
        kernel = V.kernel
        text = kernel.index_to_str(kernel.widened(kernel.prepare_indexing(expr)))
        is_whole = expr.is_integer or not dtype.is_floating_point
        variable = kernel.cse.generate(
            kernel.compute,
            text,
            bounds=get_bounds_index_expr(expr),
            dtype=torch.int64 if is_whole else kernel.wide,
        )
        return ops.to_dtype(variable, dtype)

    value_expr = index_expr

    @staticmethod
    def masked(mask: Any, body: Callable[[], Any], other: Any) -> CSEVariable:
        kernel = V.kernel
        inside = IndentedBuffer()
        with kernel.inside_of_mask(inside):
            value = plain(body())
        dtype = computed(value.dtype if isinstance(value, CSEVariable) else torch.float32)
        result: CSEVariable = kernel.cse.newvar(dtype=dtype)
        kernel.compute.writeline(f"{register_type(dtype)} {result} = {constant(other, dtype)};")
        kernel.compute.writeline(f"if ({mask}) {{")
        with kernel.compute.indent():
            kernel.compute.splice(inside)
            kernel.compute.writeline(f"{result} = {convert(value, dtype)};")
        kernel.compute.writeline("}")
        return result

    @staticmethod
    def where(condition: Any, a: Any, b: Any) -> str:
        _, a, b = _together(a, b)
        return f"{condition} ? {a} : {b}"

    # ---- Random numbers

    @staticmethod
    def load_seed(name: str, offset: Any) -> Any:
        return ops.load(name, sympy.Integer(offset))

    @staticmethod
    def rand(seed: Any, offset: Any) -> str:
        return f"random_uniform((u64){seed}, (u64){offset})"

    @staticmethod
    def randn(seed: Any, offset: Any) -> str:
        return f"random_normal((u64){seed}, (u64){offset})"

    @staticmethod
    def randint64(seed: Any, offset: Any, low: Any, high: Any) -> str:
        bounds = f"{convert(low, torch.int64)}, {convert(high, torch.int64)}"
        return f"random_integer((u64){seed}, (u64){offset}, {bounds})"

    # ---- Signs, truth

    @staticmethod
    def signbit(x: Any) -> str:
        return f"signbit({x}) != 0" if x.dtype.is_floating_point else f"{x} < 0"

    @staticmethod
    def isnan(x: Any) -> str:
        return f"{x} != {x}"

    @staticmethod
    def isinf(x: Any) -> str:
        return f"fabs({x}) == INF"

    @staticmethod
    def abs(x: Any) -> str:
        if x.dtype.is_floating_point:
            return f"fabs({x})"
        return f"({x})" if x.dtype == torch.bool else f"{x} < 0 ? -{x} : {x}"

    @staticmethod
    def neg(x: Any) -> str:
        return f"-{x}"

    @staticmethod
    def sign(x: Any) -> str:
        return f"({register_type(x.dtype)})(({x} > 0) - ({x} < 0))"

    @staticmethod
    def logical_not(x: Any) -> str:
        return f"{x} == 0"

    @staticmethod
    def logical_and(a: Any, b: Any) -> str:
        return f"{a} != 0 && {b} != 0"

    @staticmethod
    def logical_or(a: Any, b: Any) -> str:
        return f"{a} != 0 || {b} != 0"

    @staticmethod
    def logical_xor(a: Any, b: Any) -> str:
        return f"({a} != 0) != ({b} != 0)"

    @staticmethod
    def bitwise_not(x: Any) -> str:
        return f"!{x}" if x.dtype == torch.bool else f"~{x}"

    @staticmethod
    def maximum(a: Any, b: Any) -> str:
        _, a, b = _together(a, b)
        return f"LARGER({a}, {b})"

    @staticmethod
    def minimum(a: Any, b: Any) -> str:
        _, a, b = _together(a, b)
        return f"SMALLER({a}, {b})"

    # ---- Divisions and powers

    @staticmethod
    def int_truediv(a: Any, b: Any) -> str:
        return f"(f32)({convert(a, V.kernel.wide)} / {convert(b, V.kernel.wide)})"

    @staticmethod
    def pow(a: Any, b: Any) -> str:
        dtype = _dtype_of_result("pow", a, b)
        a, b = convert(a, dtype), convert(b, dtype)
        if dtype.is_floating_point:
            return f"pow({a}, {b})"
        return f"({register_type(dtype)})whole_power((i64){a}, (i64){b})"

    @staticmethod
    def bitwise_left_shift(a: Any, b: Any) -> str:
        dtype, a, b = _together(a, b)
        return f"SHIFTED_LEFT({register_type(dtype)}, {a}, {b})"

    @staticmethod
    def bitwise_right_shift(a: Any, b: Any) -> str:
        dtype, a, b = _together(a, b)
        return f"SHIFTED_RIGHT({register_type(dtype)}, {a}, {b})"

    lshift, rshift = bitwise_left_shift, bitwise_right_shift

    # ---- Parts of numbers

    @staticmethod
    def frexp(x: Any) -> tuple[CSEVariable, CSEVariable]:
        kernel = V.kernel
        mantissa = kernel.cse.newvar(dtype=x.dtype)
        exponent = kernel.cse.newvar(dtype=torch.int32)
        kernel.compute.writeline(f"i32 {exponent};")
        kernel.compute.writeline(f"{register_type(x.dtype)} {mantissa} = frexp({x}, &{exponent});")
        return mantissa, exponent

    @staticmethod
    def ldexp(x: Any, n: Any) -> str:
        return f"ldexp({x}, {convert(n, torch.int32)})"

    @staticmethod
    def round_to_int(x: Any, dtype: torch.dtype) -> str:
        return f"({register_type(dtype)})rint({x})"


def _add(name: str, write: Callable[..., str]) -> None:
    setattr(Operations, name, staticmethod(write))


def _sign(sign: str) -> Callable[[Any, Any], str]:
    def write(a: Any, b: Any) -> str:
        _, a, b = _together(a, b)
        return f"{a} {sign} {b}"

    return write


_SIGNS = (
    {"add": "+", "sub": "-", "mul": "*", "mul_rn": "*", "truediv": "/", "div_rn": "/"}
    | {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    | {"bitwise_and": "&", "and_": "&", "bitwise_or": "|", "or_": "|"}
    | {"bitwise_xor": "^", "xor": "^"}
)
for _name, _text in _SIGNS.items():
    _add(_name, _sign(_text))


# Of floats, of integers, of uint64, which does not fit into what the second ones take.
_DIVISIONS = {
    "mod": ("fmod({a}, {b})", "whole_fmod({a}, {b})", "{a} % {b}"),
    "fmod": ("fmod({a}, {b})", "whole_fmod({a}, {b})", "{a} % {b}"),
    "truncdiv": ("trunc({a} / {b})", "whole_quotient({a}, {b})", "{a} / {b}"),
    "floordiv": ("floor({a} / {b})", "floor_quotient({a}, {b})", "{a} / {b}"),
}


def _division(of_floats: str, of_signed: str, of_unsigned: str) -> Callable[[Any, Any], str]:
    def write(a: Any, b: Any) -> str:
        dtype, a, b = _together(a, b)
        if dtype.is_floating_point:
            return of_floats.format(a=a, b=b)
        if dtype == torch.uint64:
            return f"{b} == 0 ? 0 : {of_unsigned.format(a=a, b=b)}"
        return of_signed.format(a=a, b=b)

    return write


for _name, _texts in _DIVISIONS.items():
    _add(_name, _division(*_texts))


# Functions of outback/dialect/special.h, where two have other names.
_SPECIAL = {
    name: name for name in common.pointwise_overrides_data if name not in ("fma", "mul_rn")
} | {"erfinv": "erfinv", "gammainc": "igamma", "gammaincc": "igammac"}


def _function(operation: str, name: str, keeps_integers: bool = False) -> Callable[..., str]:
    def write(*given: Any) -> str:
        if keeps_integers and not given[0].dtype.is_floating_point:
            return f"({given[0]})"
        dtype = _dtype_of_result(operation, *given)
        dtype = dtype if dtype.is_floating_point else torch.float32
        suffix = ""
        if operation in _SPECIAL:
            suffix = f"_{register_type(dtype)}"
            V.kernel.include("dialect/special.h")
        return f"{name}{suffix}({', '.join(convert(each, dtype) for each in given)})"

    return write


_OF_C = (
    *("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "sqrt", "rsqrt", "hypot"),
    *("cos", "sin", "tan", "cosh", "sinh", "tanh"),
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "atan2"),
    *("copysign", "erf", "erfc", "lgamma", "nextafter", "fma"),
)
for _name in _OF_C:
    _add(_name, _function(_name, _name))
for _name, _text in _SPECIAL.items():
    _add(_name, _function(_name, _text))
for _name in ("floor", "ceil", "trunc"):
    _add(_name, _function(_name, _name, keeps_integers=True))
_add("round", _function("round", "rint", keeps_integers=True))
