"""The operators of torchgen's native_functions.yaml.

Reads what that file has, and not all of YAML: a list of maps of texts, one level of maps in them.
A reader of YAML takes some ten seconds for it, and is nothing that torch needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

FILE = "torchgen/packaged/ATen/native/native_functions.yaml"
IMPLICIT, EXPLICIT, STRUCTURED, KERNEL = (
    "composed of others",
    "has a kernel for every device",
    "computed by its out= variant's kernel",
    "needs a kernel",
)
_FIELD = re.compile(r"^(\s*)(- )?([\w ,]+):(?:\s+(.*?))?\s*$")
_SCHEMA = re.compile(r"[\w.]+\(")


@dataclass
class Operator:
    """`schema` is whole: "add.Tensor(Tensor self, ...) -> Tensor"."""

    name: str  # with the overload
    schema: str
    tags: tuple[str, ...] = ()
    dispatch: dict[str, str] = field(default_factory=dict)  # by the key
    delegate: str = ""
    generated: tuple[str, ...] = ()  # names that torchgen makes of it: of out= variants

    @property
    def base(self) -> str:
        """Without the overload."""
        return self.name.partition(".")[0]

    @property
    def kernel(self) -> str:
        """What a backend without a kernel for it gets."""
        if self.delegate or "CompositeExplicitAutogradNonFunctional" in self.dispatch:
            return STRUCTURED if self.delegate else EXPLICIT
        if not self.dispatch or any(it.startswith("CompositeImplicit") for it in self.dispatch):
            return IMPLICIT
        return EXPLICIT if "CompositeExplicitAutograd" in self.dispatch else KERNEL


def read(text: str) -> dict[str, Operator]:
    """By the name, also those that torchgen makes."""
    found: dict[str, Operator] = {}
    for fields in _maps(text):
        made = _operator(fields)
        if made is None:
            continue
        found[made.name] = made
        for name in made.generated:
            found.setdefault(name, Operator(name, f"{name}(...)", dispatch={_GENERATED: ""}))
    return found


_GENERATED = "CompositeExplicitAutograd"  # the key of what torchgen makes


def _maps(text: str) -> Iterator[dict[str, str | dict[str, str]]]:
    """Each item of the list."""
    fields: dict[str, str | dict[str, str]] = {}
    inner: dict[str, str] | None = None
    for line in text.split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        it = _FIELD.match(line.split(" #")[0])
        if it is None:
            continue
        if it[2]:
            if fields:
                yield fields
            fields, inner = {}, None
        if inner is not None and len(it[1]) > 2:
            inner[it[3]] = it[4] or ""
        elif it[4]:
            fields[it[3]] = it[4]
            inner = None
        else:
            fields[it[3]] = inner = {}
    if fields:
        yield fields


def _operator(fields: dict[str, str | dict[str, str]]) -> Operator | None:
    schema = _text(fields, "func")
    found = _SCHEMA.match(schema)
    if found is None:
        return None
    dispatch = fields.get("dispatch", {})
    kernels = {
        key.strip(): kernel
        for keys, kernel in (dispatch.items() if isinstance(dispatch, dict) else ())
        for key in keys.split(",")
    }
    return Operator(
        name=schema.partition("(")[0],
        schema=schema,
        tags=_list(_text(fields, "tags")),
        dispatch=kernels,
        delegate=_text(fields, "structured_delegate"),
        generated=_list(_text(fields, "autogen")),
    )


def _text(fields: dict[str, str | dict[str, str]], name: str) -> str:
    value = fields.get(name, "")
    return value if isinstance(value, str) else ""


def _list(text: str) -> tuple[str, ...]:
    return tuple(sorted(filter(None, (it.strip() for it in text.strip("[]").split(",")))))
