"""A kernel to begin with: C++ that compiles as it is, and says "to be written" when it is called.

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
class _Overload:
    struct: str  # in at::_ops
    name: str
    overload: str
    text: str  # the schema
    result: str
    arguments: str  # with names

    @property
    def whole_name(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name


def text(operator: str, folder: Path | None = None) -> str:
    """`operator`: "aten::addmm" or "aten::add.Tensor". Refused for one that this torch lacks.

    `folder`: ATen/ops of torch's headers.
    """
    folder = folder or _headers()
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
    return _structured(folder, name, wanted, overloads) or _plain(folder, chosen[0])


def _headers() -> Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise Refused("--skeleton needs the headers of torch, and this Python has no torch")
    return Path(spec.origin).parent / "include/ATen/ops"


def _overloads(folder: Path, name: str) -> list[_Overload]:
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
        _Overload(
            it["struct"], it["name"], it["overload"], it["text"], it["result"], it["arguments"]
        )
        for it in _OVERLOAD.finditer(header.read_text(encoding="utf-8"))
        if it["name"].rstrip("_") == name.rstrip("_")
    ]
    return sorted(found, key=lambda it: (it.result.endswith("&"), len(it.overload)))


def _structured(
    folder: Path, name: str, wanted: list[_Overload], overloads: list[_Overload]
) -> str:
    """ "" unless one of those wanted is structured."""
    plain = name.removesuffix("_")
    meta, native = folder / f"{plain}_meta.h", folder / f"{plain}_native.h"
    if not meta.is_file() or not native.is_file():
        return ""
    classes = {it["name"]: it for it in _META.finditer(meta.read_text(encoding="utf-8"))}
    signatures = dict(reversed(_CLASS.findall(native.read_text(encoding="utf-8"))))
    for of_meta, arguments in signatures.items():
        variants = _variants(plain, of_meta, overloads)
        if of_meta in classes and any(it in wanted for it in variants):
            its = classes[of_meta]
            if "meta_return_ty" in its["body"]:
                arguments = _with_computed(its["body"], arguments, variants[0])
            is_loop = its["base"] == "TensorIteratorBase" and "meta_return_ty" not in its["body"]
            return _of_class(plain, of_meta, arguments, variants, is_loop)
    return ""


def _with_computed(body: str, arguments: str, functional: _Overload) -> str:
    """The arguments of `impl` where `meta` hands over what it has computed: PyTorch's own kernels
    take that in pieces, and those of outback/kernels/structured.h in front, as it is."""
    results = 1 + functional.result.count(",")
    of_meta = re.findall(r"meta_return_ty meta\((.*)\);", body)[0]
    outputs = arguments.split(", ")[-results:]
    return ", ".join(["const meta_return_ty & computed", of_meta, *outputs])


def _variants(name: str, of_meta: str, overloads: list[_Overload]) -> list[_Overload]:
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


def _of_class(
    name: str, of_meta: str, arguments: str, variants: list[_Overload], is_loop: bool
) -> str:
    includes = [f"ATen/ops/{name}_meta.h", f"ATen/ops/{name}_ops.h"]
    if is_loop:
        includes = ["ATen/TensorIterator.h", *includes, "outback/kernels/elementwise.h"]
    else:
        includes.append("outback/kernels/stream.h")
    includes.append("outback/kernels/structured.h")
    shown = "\n".join(f"#include <{it}>" for it in includes)
    results = [it.split()[-1] for it in arguments.split(", ")]
    body = _LOOP if is_loop else _CLASS_BODY
    return (
        _HEAD.format(schema=_comment(f"aten::{variants[0].text}"))
        + shown
        + body.format(
            name=name,
            head=_wrapped(f"struct {name}_kernel : ", [f"at::meta::structured_{of_meta}"], " {"),
            declaration=_wrapped(
                "  void impl(", _unused(arguments, "" if is_loop else results[-1]), ") {"
            ),
            out=results[-1],
            refusal=(
                _refusal("  ", f"aten::{name}: to be written, for ", "loop.dtype")
                if is_loop
                else _refusal("    ", f"aten::{name}: to be written; launch it on ", _HANDLE)
            ),
            registration=_wrapped(
                "  outback::kernels::impl_structured<",
                [f"{name}_kernel", *(f"at::_ops::{it.struct}" for it in variants)],
                ">(m);",
            ),
        )
    )


def _unused(arguments: str, keep: str = "") -> list[str]:
    """The names as comments: a compiler may complain of what a kernel does not use yet."""
    parts = [it.replace(" &", "&") for it in re.split(r", (?![^<]*>)", arguments) if it]
    return [
        part if part.split()[-1] == keep else re.sub(r"(\w+)$", r"/*\1*/", part) for part in parts
    ]


_WIDEST = 100


def _wrapped(head: str, parts: list[str], tail: str) -> str:
    """A call or a declaration in lines of at most 100 columns, as clang-format has it."""
    if not parts:
        return head + tail
    shown = [f"{it}," for it in parts[:-1]] + [parts[-1] + tail]
    indent = len(head.splitlines()[-1])
    if indent + max(map(len, shown)) <= _WIDEST:
        lines = [head + shown.pop(0)]
    else:  # below the head
        indent = len(head) - len(head.lstrip()) + 4
        lines = [head.rstrip(), " " * indent + shown.pop(0)]
    for each in shown:
        if len(lines[-1]) + len(each) + 1 > _WIDEST:
            lines.append(" " * indent + each)
        else:
            lines[-1] += f" {each}"
    return "\n".join(lines)


def _comment(text: str) -> str:
    """The first line of a schema stands at the margin, those that it goes on in do not."""
    begin = "// "
    return textwrap.fill(
        text,
        _WIDEST,
        initial_indent=begin,
        subsequent_indent=f"{begin}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


_HANDLE = "stream.handle()"


def _refusal(indent: str, text: str, *values: str) -> str:
    head = f"{indent}TORCH_CHECK_NOT_IMPLEMENTED("
    return _wrapped(head, ["false", f'"{text}"', *values], ");")


_LOOP = """

namespace {{

// operands[0] is the result. See outback/kernels/elementwise.h for what else a loop has.
void {name}_loop(const outback::kernels::elementwise_loop& loop) {{
{refusal}
}}

{head}
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

// PyTorch has checked the arguments and made the results, which need not be contiguous.
{head}
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
#include <outback/kernels/stream.h>
#include <torch/library.h>

namespace {{

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


def _plain(folder: Path, overload: _Overload) -> str:
    function = f"{overload.struct}_kernel"
    head = f"{overload.result.replace(' &', '&')} {function}("
    if len(head) > _WIDEST:
        head = head.replace(f" {function}(", f"\n{function}(")
    return _HEAD.format(schema=_comment(f"aten::{overload.text}")) + _FUNCTION.format(
        about=_ABOUT + _on_composition(folder, overload),
        declaration=_wrapped(head, _unused(overload.arguments), ") {"),
        refusal=_refusal("  ", f"aten::{overload.whole_name}: to be written"),
        registration=_wrapped("  m.impl(", [f'"{overload.whole_name}"', f"&{function}"], ");"),
    )


def _on_composition(folder: Path, overload: _Overload) -> str:
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
