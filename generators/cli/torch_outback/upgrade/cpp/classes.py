"""The classes of a C++ file, with their bases and their functions: a scanner, no compiler.

What it does not see: members that macros make, specializations of templates, types behind aliases,
and what a condition of the preprocessor leaves out (source.py). Functions that differ in a macro
alone are the same.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field

from . import function, source
from .function import Function

_WORD = re.compile(r"[A-Za-z_]\w*")
_MACRO = re.compile(r"[A-Z][A-Z0-9_]+")
_DEPRECATED = re.compile(r"(?i:^\W*deprecated\b|\b(is|are)( now)? deprecated\b)|\bDEPRECATED\b")


@dataclass
class Class:
    """`name` is qualified, without unnamed namespaces; `bases` are as they are written, without
    arguments of templates. `deprecated` has the comments before functions that say so, by the
    function's line."""

    name: str
    bases: tuple[str, ...]
    line: int
    functions: list[Function] = field(default_factory=list)
    deprecated: dict[int, str] = field(default_factory=dict)

    @property
    def virtuals(self) -> list[Function]:
        return [it for it in self.functions if it.is_virtual and not it.name.startswith("~")]


def read(text: str) -> list[Class]:
    """In the order of their ends, nested ones before their owner."""
    scanner = _Scanner(source.code(text))
    scanner.scan(0, ())
    lines = text.split("\n")
    for each in scanner.classes:
        for it in each.functions:
            comment = _comment_before(lines, it.line)
            if _DEPRECATED.search(comment):
                each.deprecated[it.line] = comment
    return scanner.classes


def _comment_before(lines: list[str], line: int) -> str:
    """The lines of // just above this line, which counts from 1."""
    found: list[str] = []
    at = line - 2
    while at >= 0 and lines[at].lstrip().startswith("//"):
        found.insert(0, lines[at].strip().lstrip("/").strip())
        at -= 1
    return " ".join(it for it in found if not it.startswith("NOLINT"))


class _Scanner:
    def __init__(self, code: str) -> None:
        self.classes: list[Class] = []
        self._tokens: list[str] = []
        self._starts: list[int] = []
        for it in function.TOKEN.finditer(code):
            self._tokens.append(it[0])
            self._starts.append(it.start())
        self._end = 0  # behind the block that was read last
        self._lines = [it.start() for it in re.finditer("\n", code)]

    def _line(self, at: int) -> int:
        return bisect.bisect_left(self._lines, self._starts[at]) + 1

    def scan(self, at: int, scope: tuple[str, ...], owner: Class | None = None) -> int:
        """From `at` to the end of the scope; returns the index behind its brace."""
        tokens = self._tokens
        head = at  # where a declaration begins
        while at < len(tokens):
            token = tokens[at]
            if token == "}":
                return at + 1
            if at == head and (behind := self._behind_macro(at)):
                head = at = behind
                continue
            if token == ";":
                self._declare(head, at, owner)
                head = at = at + 1
            elif token in ("public", "private", "protected") and tokens[at + 1 : at + 2] == [":"]:
                head = at = at + 2
            elif token in ("(", "["):
                at = function.after_brackets(self._tokens, at)
            elif token == "template" and tokens[at + 1 : at + 2] == ["<"]:
                at = function.after_angles(tokens, at + 1)
            elif token == "{":
                is_body = self._block(head, at, scope, owner)
                at = self._end
                if is_body:
                    head = at
            else:
                at += 1
        return at

    def _block(self, head: int, at: int, scope: tuple[str, ...], owner: Class | None) -> bool:
        """What the brace at `at` opens; sets `_end` behind it. False where the declaration goes on
        behind it."""
        words = self._tokens[head:at]
        first = 1 if words[:1] == ["inline"] else 0
        if words[first : first + 1] == ["namespace"]:
            names = [it for it in words[first + 1 :] if _WORD.fullmatch(it) and it != "inline"]
            names = [it for it in names if not _MACRO.fullmatch(it)]
            self._end = self.scan(at + 1, (*scope, *names))
            return True
        if words[:2] == ["extern", '""']:
            self._end = self.scan(at + 1, scope)
            return True
        if made := self._class_of(head, at, scope):
            self._end = self.scan(at + 1, tuple(made.name.split("::")), made)
            self.classes.append(made)
            return True
        self._end = function.after_brackets(self._tokens, at)
        if "=" in _outside(words) or "enum" in words:
            return False
        self._declare(head, at, owner)
        return True

    def _class_of(self, head: int, at: int, scope: tuple[str, ...]) -> Class | None:
        words = self._tokens[head:at]
        index = 0
        while words[index : index + 1] == ["template"] and words[index + 1 : index + 2] == ["<"]:
            index = function.after_angles(words, index + 1)
        while index < len(words) and words[index] in ("typedef", "static", "const", "inline"):
            index += 1
        if words[index : index + 1] not in (["class"], ["struct"], ["union"]):
            return None
        kind, index = index, index + 1
        name: list[str] = []
        while index < len(words) and words[index] not in (":", "final"):
            if words[index] in ("(", "[") or words[index] == "<":
                if words[index] == "<":
                    return None  # a specialization
                index = function.after_brackets(words, index)
                name = []
                continue
            if _WORD.fullmatch(words[index]):
                name = [*name, words[index]] if name and name[-1] == "::" else [words[index]]
            elif words[index] == "::":
                name.append("::")
            else:
                return None
            index += 1
        own = [it for it in name if it != "::"]
        if not own:
            return None
        if words[index : index + 1] == ["final"]:
            index += 1
        bases = _bases(words[index + 1 :]) if words[index : index + 1] == [":"] else ()
        return Class("::".join((*scope, *own)), bases, self._line(head + kind))

    def _declare(self, head: int, at: int, owner: Class | None) -> None:
        if owner is None or head >= at:
            return
        words = self._tokens[head:at]
        found = function.read(words, self._line(head))
        if found is None or found.name == owner.name.rpartition("::")[2]:
            return
        owner.functions.append(found)

    def _behind_macro(self, at: int) -> int:
        """Behind a macro with arguments that stands for itself, without a semicolon; else 0."""
        if not _MACRO.fullmatch(self._tokens[at]) or self._tokens[at + 1 : at + 2] != ["("]:
            return 0
        behind = function.after_brackets(self._tokens, at + 1)
        following = self._tokens[behind : behind + 1]
        is_new = following and _WORD.fullmatch(following[0]) and following[0] not in _TAIL
        return behind if is_new else 0


def _outside(words: list[str]) -> list[str]:
    """Without what is in brackets, and without the name of an operator."""
    left: list[str] = []
    at = 0
    while at < len(words):
        if words[at] in ("(", "[", "{"):
            at = function.after_brackets(words, at)
        elif words[at] == "operator":
            at += 1
            while at < len(words) and words[at] != "(":
                at += 1
        elif words[at] == "<" and at and _WORD.fullmatch(words[at - 1]):
            at = function.after_angles(words, at)
        else:
            left.append(words[at])
            at += 1
    return left


def _bases(words: list[str]) -> tuple[str, ...]:
    found: list[str] = []
    name = ""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "<":
            at = function.after_angles(words, at)
            continue
        if word == ",":
            found.append(name)
            name = ""
        elif word == "::" or (_WORD.fullmatch(word) and word not in _ACCESS):
            name += word
        at += 1
    return tuple(it.removeprefix("::") for it in (*found, name) if it)


_ACCESS = {"public", "private", "protected", "virtual"}
_TAIL = {"const", "noexcept", "override", "final"}
