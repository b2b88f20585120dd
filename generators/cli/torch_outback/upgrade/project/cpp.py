"""What C++ sources name: words, qualified names, texts, headers, and the classes that they derive.

Comments do not count. What a macro pastes together (`op##_stub`) is not seen.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from ..change import Touch
from ..cpp import classes, source
from ..py.trees import TOO_DEEP
from .files import Source

_WORD = re.compile(r"[A-Za-z_]\w*")
# No name of torch has as many parts.
_QUALIFIED = re.compile(r"(?<![\w:])(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*){1,15}")
_TEXT = re.compile(r'"((?:\\.|[^"\\\n])*)"?')  # read once, also where it has no end
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_HEAD = re.compile(r"\b(?:class|struct)\s[^;{}()]*")
_COLON = re.compile(r"(?<!:):(?!:)")


@dataclass(frozen=True)
class Derived:
    """A class of the project, in the file where it is."""

    file: str
    found: classes.Class


class CppSources:
    """`unread` gets those whose classes cannot be read, with the reasons."""

    def __init__(self, sources: list[Source], unread: dict[str, str]) -> None:
        self.sources = sources
        self._unread = unread

    @cached_property
    def _texts(self) -> list[tuple[str, str]]:
        return [(it.name, source.without_comments(it.text)) for it in self.sources]

    @cached_property
    def includes(self) -> dict[str, list[Touch]]:
        return self._all(_INCLUDE, lambda it: it[1], "includes it")

    @cached_property
    def strings(self) -> dict[str, list[Touch]]:
        return self._all(_TEXT, lambda it: it[1], "names it in a text")

    @cached_property
    def qualified(self) -> dict[str, list[Touch]]:
        """By each name as it is written, and by what it begins with: at::_ops::mm::call counts as
        at::_ops::mm too. A name that a using declaration shortens is not seen."""
        found: dict[str, list[Touch]] = defaultdict(list)
        for name, touches in self._all(
            _QUALIFIED, lambda it: it[0].removeprefix("::"), "names it"
        ).items():
            parts = name.split("::")
            for at in range(2, len(parts) + 1):
                found["::".join(parts[:at])] += touches
        return found

    def words(self, wanted: Iterable[str]) -> dict[str, list[Touch]]:
        """The lines with these words; "" is none of them."""
        names = set(wanted)
        found: dict[str, list[Touch]] = defaultdict(list)
        for name, text in self._texts:
            lines: list[int] | None = None
            for it in _WORD.finditer(text):
                if it[0] in names:
                    lines = lines or _starts(text)
                    line = bisect.bisect_left(lines, it.start()) + 1
                    found[it[0]].append(Touch(name, line, "names it"))
        return found

    @cached_property
    def derived(self) -> list[Derived]:
        """The classes that have bases; those of the standard library count too."""
        found = []
        for it, (_, text) in zip(self.sources, self._texts, strict=True):
            if not any(_COLON.search(head[0]) for head in _HEAD.finditer(text)):
                continue  # which is faster than to read it
            try:
                found += [Derived(it.name, each) for each in classes.read(it.text) if each.bases]
            except RecursionError:
                self._unread[it.name] = TOO_DEEP
        return found

    def _all(
        self, pattern: re.Pattern[str], key: Callable[[re.Match[str]], str], how: str
    ) -> dict[str, list[Touch]]:
        found: dict[str, list[Touch]] = defaultdict(list)
        for name, text in self._texts:
            lines = _starts(text)
            for it in pattern.finditer(text):
                line = bisect.bisect_left(lines, it.start(it.lastindex or 0)) + 1
                found[key(it)].append(Touch(name, line, how))
        return found


def _starts(text: str) -> list[int]:
    """The ends of the lines; how many are before an index is its line, less one."""
    return [it.start() for it in re.finditer("\n", text)]
