"""C++ text without comments and without the preprocessor, line for line.

What it does not do: include, define and expand nothing, and evaluate no condition. Each branch of a
condition is kept if its brackets balance, else the first branch alone. `#if 0` is left out.

A literal without an end reaches to that of its line, a raw one to that of the file: else the search
for its end would begin again at each quote in it.
"""

from __future__ import annotations

import re

_PIECES = re.compile(
    r"""
    (?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
  | (?P<raw>(?<!\w)(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\((?:.*?\)(?P=mark)"|.*))
  | (?P<text>"(?:\\.|[^"\\\n])*"?)
  | (?P<letter>(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'?)
    """,
    re.DOTALL | re.VERBOSE,
)
_NOT_NEWLINE = re.compile(r"[^\n]")
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w*)(.*)", re.DOTALL)


def without_comments(text: str) -> str:
    """Literals stay, and each character stays in its line and column."""
    return _PIECES.sub(lambda it: _blank(it[0]) if it["comment"] else it[0], text)


def code(text: str) -> str:
    """Without comments, with "" for each literal of text, and with blanks for the preprocessor."""

    def shortened(it: re.Match[str]) -> str:
        if it["comment"]:
            return _blank(it[0])
        if it["letter"]:
            return "0" + _blank(it[0][1:])
        return '""' + _blank(it[0][2:])

    return _without_directives(_PIECES.sub(shortened, text))


def _blank(text: str) -> str:
    return _NOT_NEWLINE.sub(" ", text)


class _Condition:
    """An #if with its branches: indices of lines, without the directives' own."""

    def __init__(self, is_never: bool) -> None:
        self.branches: list[list[int]] = [[]]
        self.never = {0} if is_never else set()


def _without_directives(text: str) -> str:
    lines = text.split("\n")
    stack: list[_Condition] = []
    at = 0
    while at < len(lines):
        if not lines[at].lstrip().startswith("#"):
            for condition in stack:
                condition.branches[-1].append(at)
            at += 1
            continue
        first = at
        while lines[at].endswith("\\") and at + 1 < len(lines):
            at += 1
        at += 1
        found = _DIRECTIVE.match("\n".join(lines[first:at]))
        word, rest = (found[1], found[2].strip()) if found else ("", "")
        for index in range(first, at):
            lines[index] = _blank(lines[index])
        if word in ("if", "ifdef", "ifndef"):
            stack.append(_Condition(word == "if" and rest in ("0", "false")))
        elif word in ("else", "elif") and stack:
            stack[-1].branches.append([])
        elif word == "endif" and stack:
            _choose(stack.pop(), lines)
    return "\n".join(lines)


def _choose(condition: _Condition, lines: list[str]) -> None:
    """Blanks the lines that do not count."""
    left_out = set(condition.never)
    kept = [it for it in range(len(condition.branches)) if it not in left_out]
    if not all(_balances(lines, condition.branches[it]) for it in kept):
        left_out.update(kept[1:])
    for branch in left_out:
        for index in condition.branches[branch]:
            lines[index] = _blank(lines[index])


def _balances(lines: list[str], indices: list[int]) -> bool:
    depth = 0
    for index in indices:
        for letter in lines[index]:
            if letter in "({":
                depth += 1
            elif letter in ")}":
                depth -= 1
                if depth < 0:
                    return False
    return depth == 0
