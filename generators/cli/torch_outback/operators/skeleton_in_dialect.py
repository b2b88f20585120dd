"""A kernel to begin with, in the dialect (docs/dialect.md): its source, and the C++ that launches
it. The build packs the source, and the C++ finds it there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..refused import Refused
from . import skeleton
from .skeleton import Class, Overload

# What an argument is in a launch, and in the kernel, which computes in float32.
_NUMBERS = {
    "const at::Scalar&": ("{}.to<float>()", "f32"),
    "double": ("float({})", "f32"),
    "int64_t": ("{}", "i64"),
    "bool": ("int32_t({})", "i32"),
}
_TENSOR = "const at::Tensor&"


@dataclass(frozen=True)
class Texts:
    launch: str  # in C++
    kernel: str  # in the dialect


def texts(operator: str, module: str, folder: Path | None = None) -> Texts:
    """`operator`: "aten::addmm". `module`: the name of the kernel's file without its ending, by
    which the launch finds it. Refused for an operator that has no result to write, or several."""
    found = skeleton.find(operator, folder or skeleton.headers())
    if isinstance(found, Class):
        schema, function = found.variants[0], found.name
        inputs, is_one = found.inputs, "," not in schema.result
    else:
        schema, function = found, found.struct
        inputs, is_one = found.arguments, found.result == "at::Tensor"
    arguments = [it.rpartition(" ") for it in skeleton.parts_of(re.sub(r"=[^,)]*", "", inputs))]
    tensors = [name for kind, _, name in arguments if kind == _TENSOR]
    if not is_one or not tensors:
        raise Refused(
            f"--skeleton {operator} --dialect: it begins kernels that make one tensor of others; "
            "leave out --dialect for this operator"
        )
    numbers = [(kind, name) for kind, _, name in arguments if kind in _NUMBERS]
    named = skeleton.comment(f"aten::{schema.text}")
    values = [*tensors, *(_NUMBERS[kind][0].format(name) for kind, name in numbers)]
    indent = "    " if isinstance(found, Class) else "  "
    kernel = f"{function}_kernel"  # a name such as exp may be taken
    launch = _LAUNCH.format(
        indent=indent,
        found=skeleton.wrapped(
            f"{indent}const auto [kernel, items] = outback::kernels::find_packed(",
            ["dense.device()", f'"{module}"', f'"{kernel}"'],
            ");",
        ),
        refusal=skeleton.refusal(indent, f"aten::{schema.whole_name}: to be written"),
    )
    return Texts(
        _of(found, function, inputs, tensors, numbers, launch, values).replace("{named}", named),
        _KERNEL.format(
            named=named,
            declaration=skeleton.wrapped(
                f"KERNEL({kernel}, ",
                [
                    "i64 count",
                    "GLOBAL f32* out",
                    *(f"const GLOBAL f32* {name}" for name in tensors),
                    *(f"{_NUMBERS[kind][1]} {name}" for kind, name in numbers),
                ],
                ") {",
            ),
        ),
    )


def _of(
    found: Class | Overload,
    function: str,
    inputs: str,
    tensors: list[str],
    numbers: list[tuple[str, str]],
    launch: str,
    values: list[str],
) -> str:
    used = [*tensors, *(name for _, name in numbers)]
    supported = skeleton.unused(inputs, *tensors)
    indent = "    " if isinstance(found, Class) else "  "
    condition = _condition(indent, tensors, isinstance(found, Class) and found.is_loop)
    if isinstance(found, Class):
        result = found.arguments.split()[-1]
        return _HEAD + _OF_CLASS.format(
            name=found.name,
            head=skeleton.head_of_class(found),
            supports=skeleton.wrapped("  static bool supports(", supported, ") {"),
            condition=condition,
            declaration=skeleton.wrapped(
                "  void impl(", skeleton.unused(found.arguments, *used, result), ") {"
            ),
            result=result,
            launch=launch + _call(indent, values),
            registration=skeleton.registration_of_class(found),
        )
    return _HEAD + _OF_FUNCTION.format(
        supports=skeleton.wrapped(f"bool {function}_supports(", supported, ") {"),
        condition=condition,
        declaration=skeleton.wrapped(
            f"at::Tensor {function}_kernel(", skeleton.unused(inputs, *used), ") {"
        ),
        first=tensors[0],
        launch=launch + _call(indent, values),
        registration=skeleton.registration(found, f"{function}_kernel"),
    )


def _condition(indent: str, tensors: list[str], is_loop: bool) -> str:
    parts = [f"is_dense_float({name})" for name in tensors]
    if is_loop:  # the kernel broadcasts nothing
        parts += [f"{name}.sizes() == {tensors[0]}.sizes()" for name in tensors[1:]]
    line = f"{indent}return {' && '.join(parts)};"
    if len(line) <= skeleton.WIDEST:
        return line
    return f"{indent}return " + f" &&\n{indent}       ".join(parts) + ";"


def _call(indent: str, values: list[str]) -> str:
    head = f"{indent}outback::kernels::launch("
    fixed = ["stream", "kernel", "{{groups, 1, 1}, {items, 1, 1}}", "dense.numel()", "dense"]
    return skeleton.wrapped(head, [*fixed, *values], ");")


_HEAD = """\
{named}
//
// Made by `outback ops --skeleton --dialect`. Add this file to the SOURCES of your
// outback_add_backend, and the kernel's file to its KERNEL_SOURCES.
#include <ATen/ATen.h>
"""

_IS_DENSE = """\
bool is_dense_float(const at::Tensor& tensor) {{
  return tensor.is_privateuseone() && tensor.scalar_type() == at::kFloat &&
         tensor.is_contiguous();
}}
"""

_LAUNCH = """\
{found}
{indent}const auto groups = static_cast<uint32_t>(
{indent}    std::clamp<int64_t>((dense.numel() + items - 1) / items, 1, 65535));
{indent}// Until it is written.
{refusal}
{indent}outback::kernels::kernel_stream stream(dense.device());
"""

_OF_CLASS = (
    """\
#include <ATen/ops/{name}_meta.h>
#include <ATen/ops/{name}_ops.h>
#include <outback/kernels/module.h>
#include <outback/kernels/packed.h>
#include <outback/kernels/structured.h>

#include <algorithm>

namespace {{

"""
    + _IS_DENSE
    + """
{head}
  // Other calls go to the next provider, as if there were no kernel here.
{supports}
{condition}
  }}
  // PyTorch has checked the arguments and made the result.
{declaration}
    // The result itself, or what is copied to a result of another dtype or other strides.
    const at::Tensor dense =
        is_dense_float({result})
            ? {result}
            : at::empty({result}.sizes(), {result}.options().dtype(at::kFloat));
{launch}
    if (!dense.is_same({result})) {result}.copy_(dense);
  }}
}};

}}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {{
{registration}
}}
"""
)

_OF_FUNCTION = (
    """\
#include <outback/kernels/decline.h>
#include <outback/kernels/module.h>
#include <outback/kernels/packed.h>
#include <torch/library.h>

#include <algorithm>

namespace {{

"""
    + _IS_DENSE
    + """
// Other calls go to the next provider, as if there were no kernel here.
{supports}
{condition}
}}

// PyTorch has no class for this operator: the kernel checks the arguments and makes the result.
{declaration}
  const at::Tensor dense = at::empty_like({first});  // of the result's sizes
{launch}
  return dense;
}}

}}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {{
{registration}
}}
"""
)

_KERNEL = """\
{named}
//
// Made by `outback ops --skeleton --dialect`. All tensors are contiguous, and `count` is how many
// elements the result has.
#include "outback/dialect.h"

{declaration}
  EACH(i, count) {{
    out[i] = 0;  // to be written
  }}
}}
"""
