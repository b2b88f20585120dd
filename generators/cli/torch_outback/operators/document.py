"""The documents that a backend writes of its operators (_outback/operators.py), and their sum."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..refused import Refused

SCHEMA = 1
_SUMS = [
    "calls",
    "own_ns",
    "total_ns",
    "tensor_bytes",
    "bytes_to_host",
    "bytes_to_device",
    "bytes_on_devices",
    "copies",
    "waits",
    "waited_ns",
]
OUTSIDE = _SUMS[4:]  # what is counted outside of operators too
_ADDED = ("waited_ns",)  # names that older backends do not write


@dataclasses.dataclass
class Calls:
    """A row of a document: the calls of an operator with a dtype, that one served."""

    operator: str
    overload: str
    dtype: str
    served: str
    place: str
    calls: int
    own_ns: int
    total_ns: int
    tensor_bytes: int
    bytes_to_host: int
    bytes_to_device: int
    bytes_on_devices: int
    copies: int
    waits: int
    waited_ns: int
    flops: int | None
    signature: str

    @property
    def spent_ns(self) -> int:
        """Its own time, without the waits for work from before its calls."""
        return max(0, self.own_ns - self.waited_ns)

    @property
    def name(self) -> str:
        return f"{self.operator}.{self.overload}" if self.overload else self.operator

    @property
    def key(self) -> tuple[str, ...]:
        return (self.name, self.dtype, self.served, self.place)


_COLUMNS = dataclasses.fields(Calls)
_KINDS: dict[Any, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "int | None": (int, type(None)),
}


@dataclasses.dataclass
class Document:
    """What is known of one run, of all its processes."""

    backend: str
    torch: str
    device: str | None
    kernels: str | None  # whose run on the device's memory in place
    seconds: float
    outside: dict[str, int]
    operators: list[Calls]
    processes: int = 1


def read(path: Path) -> Document:
    """Refused for what is no such document, and for one of another schema."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path}: no document of `outback ops`: {error}") from None
    if not isinstance(found, dict):
        raise Refused(f"{path}: no document of `outback ops`, which is an object")
    schema = found.get("schema")
    if schema != SCHEMA:
        raise Refused(
            f"{path}: its schema is {schema!r}, and this outback reads {SCHEMA}: it is of another "
            f"version than the backend; install the torch-outback that the backend was built with"
        )
    try:
        return _document_of(found)
    except (KeyError, TypeError) as error:
        raise Refused(f"{path}: no document of `outback ops`: {error!r}") from None


def _document_of(found: dict[str, Any]) -> Document:
    """Raises KeyError for a name that is missing, TypeError for a value of another kind."""
    none = dict.fromkeys(_ADDED, 0)
    rows = [
        Calls(**{it.name: _of_kind(none | row, it.name, _KINDS[it.type]) for it in _COLUMNS})
        for row in _of_kind(found, "operators", (list,))
    ]
    outside = none | _of_kind(found, "outside", (dict,))
    for name in OUTSIDE:
        _of_kind(outside, name, (int,))
    return Document(
        _of_kind(found, "backend", (str,)),
        _of_kind(found, "torch", (str,)),
        _of_kind(found, "device", (str, type(None))),
        _of_kind(found, "kernels", (str, type(None))),
        _of_kind(found, "seconds", (int, float)),
        outside,
        rows,
        _of_kind({"processes": 1, **found}, "processes", (int,)),
    )


def _of_kind(owner: Any, name: str, kinds: tuple[type, ...]) -> Any:
    value = owner[name]
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}")
    return value


def sum_of(documents: Iterable[Document]) -> Document:
    """Of the processes of one run, of which the first is the one that started the others."""
    first, *others = documents
    on_device = next((it for it in (first, *others) if it.device), first)
    rows = {row.key: dataclasses.replace(row) for row in first.operators}
    outside = dict(first.outside)
    for other in others:
        for name, count in other.outside.items():
            outside[name] = outside.get(name, 0) + count
        for row in other.operators:
            if row.key not in rows:
                rows[row.key] = dataclasses.replace(row)
                continue
            into = rows[row.key]
            for name in _SUMS:
                setattr(into, name, getattr(into, name) + getattr(row, name))
            if into.flops is not None and row.flops is not None:
                into.flops += row.flops
    return dataclasses.replace(
        first,
        device=on_device.device,
        kernels=on_device.kernels,
        outside=outside,
        operators=sorted(rows.values(), key=lambda row: -row.own_ns),
        processes=sum(it.processes for it in (first, *others)),
    )


def text(document: Document) -> str:
    """As the backend writes it."""
    found: dict[str, Any] = {"schema": SCHEMA, **dataclasses.asdict(document)}
    return json.dumps(found, indent=1)
