"""Checks that are made for a backend."""

from conformance.backend import Backend
from conformance.check import Check, check, variants


@check(level="standard", without="sums")
def is_its_own(_: Backend) -> None:
    """A check of the module."""


def _add(_: Backend, first: int, second: int) -> None:
    """Sums are right."""
    assert first + second == 3


def checks(backend: Backend) -> list[Check]:
    return variants(Check(_add), _add, {f"{backend.name}, 1 and 2": (1, 2), "1 and 1": (1, 1)})
