"""What a C++ header says is deprecated: [[deprecated]], C10_DEPRECATED, C10_DEPRECATED_MESSAGE."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import source

_LITERAL = r'"(?:\\.|[^"\\])*"'
_MARK = re.compile(
    rf"\[\[\s*deprecated\s*(?:\((?P<text>(?:\s*{_LITERAL})*)\s*\))?\s*\]\]"
    rf"|\bC10_DEPRECATED_MESSAGE\((?P<message>(?:\s*{_LITERAL})*)\s*\)"
    r"|\bC10_DEPRECATED\b(?!_)(?!\s*\()"
)
_DEFINE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
# The name is the last word before what follows a name.
_BEHIND = re.compile(r"[^;{(=]*?([A-Za-z_]\w*)\s*(?:[;{(=]|:(?!:))")
_BEFORE = re.compile(r"\busing\s+(\w+)\s*\Z")
_PIECE = re.compile(r'"((?:\\.|[^"\\])*)"')


def hints(text: str) -> list[str]:
    """The lines that say so: a header where these are as they were has no new deprecation."""
    if "deprecated" not in text and "C10_DEPRECATED" not in text:
        return []
    words = ("[[deprecated", "C10_DEPRECATED")
    return sorted(it.strip() for it in text.split("\n") if any(word in it for word in words))


def read(text: str) -> Iterator[tuple[str, str]]:
    """The name of each declaration, without its namespace, with the message, if there is one."""
    code = _DEFINE.sub("", source.without_comments(text))
    for mark in _MARK.finditer(code):
        before = _BEFORE.search(code, max(0, mark.start() - 120), mark.start())
        found = before or _BEHIND.match(code, mark.end())
        if found:
            message = "".join(_PIECE.findall(mark["text"] or mark["message"] or ""))
            yield found[1], " ".join(message.split())
