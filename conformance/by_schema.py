"""What of JSON Schema the report's schema uses: problems of a document, by `jsonschema`'s rules."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}
_KNOWN = {
    *("$schema", "$id", "$ref", "$defs", "title", "description", "format", "type", "const"),
    *("enum", "required", "properties", "additionalProperties", "items", "minimum", "maximum"),
    *("allOf", "if", "then"),
}


def problems(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "") -> Iterator:
    """Empty for a document that fits."""
    assert schema.keys() <= _KNOWN, schema.keys() - _KNOWN
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "type" in schema and not _is_of(value, schema["type"]):
        yield f"{at}: {value!r} is no {schema['type']}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{at}: {value!r}, not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r}, none of {schema['enum']}"
    if schema.get("format") == "date-time" and not _is_moment(value):
        yield f"{at}: {value!r} is no date-time"
    if _is_of(value, "number") and not _in_range(value, schema):
        yield f"{at}: {value} is out of range"
    if isinstance(value, dict):
        yield from (f"{at}: no {name}" for name in schema.get("required", ()) if name not in value)
        more = schema.get("additionalProperties", {})
        for name, each in value.items():
            of = schema.get("properties", {}).get(name, more)
            yield from problems(each, of, root, f"{at}/{name}")
    if isinstance(value, list) and "items" in schema:
        for number, each in enumerate(value):
            yield from problems(each, schema["items"], root, f"{at}/{number}")
    for part in schema.get("allOf", ()):
        if not any(problems(value, part["if"], root)):
            yield from problems(value, part["then"], root, at)


def _in_range(value: float, schema: dict[str, Any]) -> bool:
    return schema.get("minimum", value) <= value <= schema.get("maximum", value)


def _is_moment(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_of(value: Any, kinds: str | list[str]) -> bool:
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(value, bool):
        return "boolean" in kinds
    return any(isinstance(value, _TYPES[kind]) for kind in kinds)
