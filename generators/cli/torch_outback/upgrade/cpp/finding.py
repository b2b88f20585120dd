"""Where in a release's headers a class is."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property

from ..release import INCLUDE, Release
from . import classes
from .classes import Class

# Those whose classes a backend may derive; ATen/ops/ has a file for each operator.
_SEARCHED = ("ATen/", "c10/", "kineto/", "torch/csrc/")
_NOT_SEARCHED = "ATen/ops/"
_HEAD = re.compile(
    r"\b(?:class|struct)\s+(?:[A-Z][A-Z0-9_]+(?:\([^)]*\))?\s+)*"
    r"(?:\w+::)*([A-Za-z_]\w*)(?:\s+final)?\s*(?::[^:;{}][^;{}]*)?\{"
)


class Headers:
    def __init__(self, release: Release) -> None:
        self.release = release
        self._read: dict[str, list[Class]] = {}

    def classes(self, path: str) -> list[Class]:
        """Of one header, which has to be there."""
        if path not in self._read:
            self._read[path] = classes.read(self.release.text(path))
        return self._read[path]

    def find(self, name: str, hint: str = "") -> tuple[Class, str] | None:
        """By its qualified name, with its header. `hint` is a header to look at first."""
        last = name.rpartition("::")[2]
        for path in (f"{INCLUDE}{hint}", *self._headers_of.get(last, ())):
            if self.release.has(path):
                for it in self.classes(path):
                    if it.name == name:
                        return it, path
        return None

    @cached_property
    def _headers_of(self) -> dict[str, list[str]]:
        """By the last part of a class's name."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in self.release.headers():
            short = path.removeprefix(INCLUDE)
            if short.startswith(_SEARCHED) and not short.startswith(_NOT_SEARCHED):
                for name in set(_HEAD.findall(self.release.text(path))):
                    found[name].append(path)
        return found
