"""The expressions of -k: words that stand in an entry's id, with and, or, not and parentheses."""

from __future__ import annotations

import re
from collections.abc import Callable

from .running.refused import Refused

Filter = Callable[[str], bool]
_TOKEN = re.compile(r'\s*(?:(?P<sign>[()])|"(?P<quoted>[^"]*)"|(?P<word>[^\s()"]+))')


def compiled(text: str) -> Filter:
    """Whether an id fits `text`, in whatever case, as pytest's -k does. Raises Refused."""
    reader = _Reader(text)
    found = reader.either()
    if reader.next is not None:
        raise reader.wrong()
    return found


class _Reader:
    """From the left to the right, with the next token in hand."""

    def __init__(self, text: str):
        self._text = text
        self._at = 0
        self.next: tuple[str, str] | None = None
        self._step()

    def either(self) -> Filter:
        found = self._both()
        while self._takes("or"):
            found = _or(found, self._both())
        return found

    def _both(self) -> Filter:
        found = self._one()
        while self._takes("and"):
            found = _and(found, self._one())
        return found

    def _one(self) -> Filter:
        if self._takes("not"):
            inner = self._one()
            return lambda id: not inner(id)
        if self._takes("("):
            inner = self.either()
            if not self._takes(")"):
                raise self.wrong()
            return inner
        if self.next is None or self.next in _SIGNS:
            raise self.wrong()
        word = self.next[1].lower()
        self._step()
        return lambda id: word in id.lower()

    def _takes(self, sign: str) -> bool:
        if self.next != ("sign", sign):
            return False
        self._step()
        return True

    def _step(self) -> None:
        if not self._text[self._at :].strip():
            self.next = None
            return
        found = _TOKEN.match(self._text, self._at)
        if found is None:  # a quotation mark without the other one
            raise self.wrong()
        self._at = found.end()
        kind = found.lastgroup or ""
        text = found[kind]
        self.next = ("sign", text) if kind == "word" and text in _WORDS else (kind, text)

    def wrong(self) -> Refused:
        return Refused(
            f"-k {self._text!r}: expected words with and, or, not and parentheses between them"
        )


_WORDS = ("and", "or", "not")
_SIGNS = tuple(("sign", sign) for sign in (*_WORDS, "(", ")"))


def _or(first: Filter, second: Filter) -> Filter:
    return lambda id: first(id) or second(id)


def _and(first: Filter, second: Filter) -> Filter:
    return lambda id: first(id) and second(id)
