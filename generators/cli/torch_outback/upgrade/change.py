"""One difference between two releases, and the places of a project that it touches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# The sections, in the order of the report, with what each compares.
SECTIONS = {
    "virtuals": "virtual functions of the C++ interfaces that a backend implements",
    "python classes": "methods of torch's Python classes that a backend derives from",
    "device module": "names of torch.<device> that torch's Python code asks for",
    "operators": "operators of native_functions.yaml",
    "stubs": "dispatch stubs",
    "opinfo": "entries of PyTorch's test samples",
    "deprecations": "deprecations that are new",
    "headers": "headers that are gone",
    "python names": "names of torch that the project's Python code uses",
}

NEW = "new"
REMOVED = "removed"
CHANGED = "changed"
BECAME_PURE = "became pure"
BECAME_VIRTUAL = "became virtual"
BECAME_ABSTRACT = "became abstract"
BECAME_FINAL = "became final"
DEPRECATED = "deprecated"
KINDS = (
    *(REMOVED, BECAME_PURE, BECAME_ABSTRACT, BECAME_FINAL, CHANGED),
    *(DEPRECATED, BECAME_VIRTUAL, NEW),
)


@dataclass(frozen=True, order=True)
class Touch:
    """A line of the project. `file` is relative to the project's folder, lines count from 1, and
    `how` says what the line does with the changed thing: "overrides it"."""

    file: str
    line: int
    how: str


def merged(*touches: Iterable[Touch]) -> tuple[Touch, ...]:
    """In the order of the files, each once."""
    return tuple(sorted({it for each in touches for it in each}))


@dataclass(frozen=True)
class Change:
    """`name` is qualified as in torch; `where` is torch's file: the newer release's, or the older
    one's where the newer has none. `before` and `after` are declarations, schemas or signatures,
    "" where there is none."""

    section: str
    kind: str
    name: str
    where: str
    before: str = ""
    after: str = ""
    note: str = ""
    touches: tuple[Touch, ...] = ()


def in_order(changes: list[Change]) -> list[Change]:
    """By section, then by kind (what breaks first), then by name."""
    sections = list(SECTIONS)
    return sorted(
        changes,
        key=lambda it: (sections.index(it.section), KINDS.index(it.kind), it.name, it.after),
    )
