"""A kernel to begin with: C++ that compiles as it is, serves float32, says "to be written" when it
is called, and declines the calls that it does not serve.

All that is needed of an operator is in the headers of the torch that is installed, which the kernel
will be compiled with.
"""

from __future__ import annotations

import importlib.util
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from ..refused import Refused

_OVERLOAD = re.compile(
    r"struct TORCH_API (?P<struct>\w+) \{\n"
    r"\s*using schema = (?P<result>.+?) \(.*\);\n"
    r"(?:.*\n)+?"
    r".* char\* name = \"aten::(?P<name>\w+)\";\n"
    r".* char\* overload_name = \"(?P<overload>\w*)\";\n"
    r".* char\* schema_str = \"(?P<text>.+)\";\n"
    r"\s*static .+? call\((?P<arguments>.*)\);\n"
)
_CLASS = re.compile(
    r"struct TORCH_API structured_\w+ : public at::meta::structured_(\w+) \{\s*void impl\((.*)\);"
)
_META = re.compile(
    r"struct TORCH_API structured_(?P<name>\w+) : public (?P<base>[\w:]+) \{"
    r"(?P<body>(?:.*\n)+?)\};\n\n"
)


@dataclass(frozen=True)
class Overload:
    struct: str  # in at::_ops
    name: str
    overload: str
    text: str  # the schema
    result: str
    arguments: str  # with names

    @property
    def whole_name(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name


@dataclass(frozen=True)
class Class:
    """PyTorch's class of a structured operator."""

    name: str  # of the operator
    of_meta: str  # behind "structured_"
    inputs: str  # of its member `meta`
    arguments: str  # of a kernel's `impl`: the inputs, and the results last
    variants: list[Overload]  # the functional one first
    is_loop: bool  # over elements


def text(operator: str, folder: Path | None = None) -> str:
    """`operator`: "aten::addmm" or "aten::add.Tensor". Refused for one that this torch lacks.

    `folder`: ATen/ops of torch's headers.
    """
    folder = folder or headers()
    found = find(operator, folder)
    return _of_class(found) if isinstance(found, Class) else _plain(folder, found)


def find(operator: str, folder: Path) -> Class | Overload:
    name, _, overload = operator.removeprefix("aten::").partition(".")
    if "::" in name or not re.fullmatch(r"\w+", name):
        raise Refused(f"--skeleton {operator}: expected an operator of ATen's, such as aten::addmm")
    overloads = _overloads(folder, name)
    if not overloads:
        raise Refused(f"--skeleton {operator}: this torch has no such operator")
    if not any(it.name == name and (not overload or it.overload == overload) for it in overloads):
        names = ", ".join(f"aten::{it.whole_name}" for it in overloads)
        raise Refused(f"--skeleton {operator}: this torch has {names}")
    named = [it for it in overloads if it.name == name]
    # A name alone is that of the overload without one, "aten::max", and of any if there is none.
    chosen = [it for it in named if it.overload == overload] or named
    wanted = chosen if overload or not chosen[0].overload else named
    return _structured(folder, name, wanted, overloads) or chosen[0]


def headers() -> Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise Refused("--skeleton needs the headers of torch, and this Python has no torch")
    return Path(spec.origin).parent / "include/ATen/ops"


def _overloads(folder: Path, name: str) -> list[Overload]:
    """In the headers' order, which begins with out=; those that return new tensors come first."""
    # "__and__" and "__iand__" are in and_ops.h, "normal_functional" in normal_ops.h.
    names = (
        *(name, name.removesuffix("_"), name.strip("_"), name.strip("_").removeprefix("i")),
        name.removesuffix("_functional"),
    )
    headers = [folder / f"{each}_ops.h" for each in names]
    header = next((it for it in headers if it.is_file()), None)
    if header is None:
        raise Refused(f"--skeleton aten::{name}: this torch has no such operator")
    found = [
        Overload(
            it["struct"], it["name"], it["overload"], it["text"], it["result"], it["arguments"]
        )
        for it in _OVERLOAD.finditer(header.read_text(encoding="utf-8"))
        if it["name"].rstrip("_") == name.rstrip("_")
    ]
    return sorted(found, key=lambda it: (it.result.endswith("&"), len(it.overload)))


def _structured(
    folder: Path, name: str, wanted: list[Overload], overloads: list[Overload]
) -> Class | None:
    """None unless one of those wanted is structured."""
    plain = name.removesuffix("_")
    meta, native = folder / f"{plain}_meta.h", folder / f"{plain}_native.h"
    if not meta.is_file() or not native.is_file():
        return None
    classes = {it["name"]: it for it in _META.finditer(meta.read_text(encoding="utf-8"))}
    signatures = dict(reversed(_CLASS.findall(native.read_text(encoding="utf-8"))))
    for of_meta, arguments in signatures.items():
        variants = _variants(plain, of_meta, overloads)
        if of_meta in classes and any(it in wanted for it in variants):
            its = classes[of_meta]
            inputs = re.findall(r"(?:void|meta_return_ty) meta\((.*)\);", its["body"])[0]
            if "meta_return_ty" in its["body"]:
                arguments = _with_computed(inputs, arguments, variants[0])
            is_loop = its["base"] == "TensorIteratorBase" and "meta_return_ty" not in its["body"]
            return Class(plain, of_meta, inputs, arguments, variants, is_loop)
    return None


def _with_computed(inputs: str, arguments: str, functional: Overload) -> str:
    """The arguments of `impl` where `meta` hands over what it has computed: PyTorch's own kernels
    take that in pieces, and those of outback/kernels/structured.h in front, as it is."""
    results = 1 + functional.result.count(",")
    outputs = arguments.split(", ")[-results:]
    return ", ".join(["const meta_return_ty & computed", inputs, *outputs])


def _variants(name: str, of_meta: str, overloads: list[Overload]) -> list[Overload]:
    """Of the class structured_<of_meta>: the functional one, out=, and the one in place."""
    functional = [it for it in overloads if it.struct == of_meta]
    if not functional:
        return []
    (first,) = functional[:1]
    inputs = _inputs(first.text)
    return [
        first,
        *(
            it
            for it in overloads
            if it is not first and it.name in (name, f"{name}_") and _inputs(it.text) == inputs
        ),
    ]


def _inputs(schema: str) -> list[str]:
    """The arguments that are no results, without what a variant adds to a tensor's type."""
    inside = schema[schema.index("(") + 1 : schema.rindex(") ->")]
    parts = [it.strip() for it in re.split(r",(?![^\[]*\])", inside)]
    # "Tensor(a!) self" in place is "Tensor self"; "Tensor(a!) out" stands behind "*".
    star = parts.index("*") if "*" in parts else len(parts)
    kept = [it for at, it in enumerate(parts) if it != "*" and not (at > star and "!)" in it)]
    return [re.sub(r"\(\w!\)", "", it) for it in kept]


_HEAD = """\
{schema}
//
// Made by `outback ops --skeleton`. Add this file to the SOURCES of your outback_add_backend.
"""


def _of_class(its: Class) -> str:
    includes = [f"ATen/ops/{its.name}_meta.h", f"ATen/ops/{its.name}_ops.h"]
    if its.is_loop:
        includes = ["ATen/TensorIterator.h", *includes, "outback/kernels/elementwise.h"]
    else:
        includes.append("outback/kernels/stream.h")
    includes.append("outback/kernels/structured.h")
    shown = "\n".join(f"#include <{it}>" for it in includes)
    results = [it.split()[-1] for it in its.arguments.split(", ")]
    body = _LOOP if its.is_loop else _CLASS_BODY
    return (
        _HEAD.format(schema=comment(f"aten::{its.variants[0].text}"))
        + shown
        + body.format(
            name=its.name,
            head=head_of_class(its),
            supports=_supports("  static bool supports(", its.inputs, "    "),
            declaration=wrapped(
                "  void impl(", unused(its.arguments, *results[-1:] * (not its.is_loop)), ") {"
            ),
            out=results[-1],
            refusal=(
                refusal("  ", f"aten::{its.name}: to be written, for ", "loop.dtype")
                if its.is_loop
                else refusal("    ", f"aten::{its.name}: to be written; launch it on ", _HANDLE)
            ),
            registration=registration_of_class(its),
        )
    )


def head_of_class(its: Class) -> str:
    return wrapped(f"struct {its.name}_kernel : ", [f"at::meta::structured_{its.of_meta}"], " {")


def registration_of_class(its: Class) -> str:
    return wrapped(
        "  outback::kernels::impl_structured<",
        [f"{its.name}_kernel", *(f"at::_ops::{it.struct}" for it in its.variants)],
        ">(m);",
    )


def _supports(head: str, arguments: str, indent: str) -> str:
    """The condition, by the first tensor among the arguments."""
    tensors = re.findall(r"at::Tensor ?& (\w+)", arguments)
    condition = f"{tensors[0]}.scalar_type() == at::kFloat" if tensors else "true"
    declared = wrapped(head, unused(arguments, *tensors[:1]), ") {")
    return f"{declared}\n{indent}return {condition};\n{indent[2:]}}}"


def unused(arguments: str, *keep: str) -> list[str]:
    """The names as comments, but for those to keep: a compiler may complain of what a kernel does
    not use yet."""
    return [
        part if part.split()[-1] in keep else re.sub(r"(\w+)$", r"/*\1*/", part)
        for part in parts_of(arguments)
    ]


def parts_of(arguments: str) -> list[str]:
    """Of "const at::Tensor & self, int64_t dim": "const at::Tensor& self", "int64_t dim"."""
    return [it.replace(" &", "&") for it in re.split(r", (?![^<]*>)", arguments) if it]


WIDEST = 100


def wrapped(head: str, parts: list[str], tail: str) -> str:
    """A call or a declaration in lines of at most 100 columns, as clang-format has it."""
    if not parts:
        return head + tail
    shown = [f"{it}," for it in parts[:-1]] + [parts[-1] + tail]
    indent = len(head.splitlines()[-1])
    if indent + max(map(len, shown)) <= WIDEST:
        lines = [head + shown.pop(0)]
    else:  # below the head
        indent = len(head) - len(head.lstrip()) + 4
        lines = [head.rstrip(), " " * indent + shown.pop(0)]
    for each in shown:
        if len(lines[-1]) + len(each) + 1 > WIDEST:
            lines.append(" " * indent + each)
        else:
            lines[-1] += f" {each}"
    return "\n".join(lines)


def comment(text: str) -> str:
    """The first line of a schema stands at the margin, those that it goes on in do not."""
    begin = "// "
    return textwrap.fill(
        text,
        WIDEST,
        initial_indent=begin,
        subsequent_indent=f"{begin}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


_HANDLE = "stream.handle()"


def refusal(indent: str, text: str, *values: str) -> str:
    head = f"{indent}TORCH_CHECK_NOT_IMPLEMENTED("
    return wrapped(head, ["false", f'"{text}"', *values], ");")


_LOOP = """

namespace {{

// operands[0] is the result. See outback/kernels/elementwise.h for what else a loop has.
void {name}_loop(const outback::kernels::elementwise_loop& loop) {{
{refusal}
}}

{head}
  // Other calls go to the next provider, as if there were no kernel here.
{supports}
{declaration}
    outback::kernels::run_loops(*this, {name}_loop);
  }}
}};

}}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {{
{registration}
}}
"""

_CLASS_BODY = """

namespace {{

{head}
  // Other calls go to the next provider, as if there were no kernel here.
{supports}
  // PyTorch has checked the arguments and made the results, which need not be contiguous.
{declaration}
    outback::kernels::kernel_stream stream({out}.device());
{refusal}
  }}
}};

}}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {{
{registration}
}}
"""

_FUNCTION = """\
#include <ATen/ATen.h>
#include <outback/kernels/decline.h>
#include <outback/kernels/stream.h>
#include <torch/library.h>

namespace {{

// Other calls go to the next provider, as if there were no kernel here.
{supports}

{about}
{declaration}
{refusal}
}}

}}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {{
{registration}
}}
"""

_EXPLICIT = "compositeexplicitautograd"
_ABOUT = """\
// PyTorch has no class for this operator: the kernel checks the arguments and makes the results."""
_OF_COMPOSED = """
// Without it PyTorch composes the operator of others, for which the device has kernels already."""
_OF_GRADIENT = """
// Their gradients go with them: a gradient of this kernel's has to be registered too, with the key
// AutogradPrivateUse1."""


def _plain(folder: Path, overload: Overload) -> str:
    function = f"{overload.struct}_kernel"
    head = f"{overload.result.replace(' &', '&')} {function}("
    if len(head) > WIDEST:
        head = head.replace(f" {function}(", f"\n{function}(")
    return _HEAD.format(schema=comment(f"aten::{overload.text}")) + _FUNCTION.format(
        supports=_supports(f"bool {overload.struct}_supports(", overload.arguments, "  "),
        about=_ABOUT + _on_composition(folder, overload),
        declaration=wrapped(head, unused(overload.arguments), ") {"),
        refusal=refusal("  ", f"aten::{overload.whole_name}: to be written"),
        registration=registration(overload, function),
    )


def registration(overload: Overload, function: str) -> str:
    return wrapped(
        f'  m.impl("{overload.whole_name}", &outback::kernels::when<',
        [f"at::_ops::{overload.struct}", f"&{overload.struct}_supports", f"&{function}"],
        ">::run);",
    )


def _on_composition(folder: Path, overload: Overload) -> str:
    """What a kernel replaces that PyTorch composes, by the headers that declare who has kernels."""

    def has_kernel_of(key: str) -> bool:
        header = folder / f"{overload.name}_{key}_dispatch.h"
        text = header.read_text(encoding="utf-8") if header.is_file() else ""
        function = rf"^TORCH_API .* {overload.name}(?:_outf)?\((.*)\);$"
        declared = re.findall(function, text, re.MULTILINE)
        return any(_names(it) == _names(overload.arguments) for it in declared)

    if has_kernel_of("compositeimplicitautograd"):
        return _OF_COMPOSED + _OF_GRADIENT
    explicit = map(has_kernel_of, (_EXPLICIT, f"{_EXPLICIT}nonfunctional"))
    # The CPU's kernel, where there is one, comes before a composition on this device too.
    return _OF_COMPOSED if not has_kernel_of("cpu") and any(explicit) else ""


def _names(arguments: str) -> list[str]:
    """Of C++ arguments, "const at::Tensor & self, int64_t dim=0": "self", "dim"."""
    parts = re.split(r",(?![^<{(]*[>})])", arguments)
    return [it.partition("=")[0].split()[-1] for it in parts if it.strip()]
