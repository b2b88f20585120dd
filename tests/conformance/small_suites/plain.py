"""Checks of every verdict that leaves its process alive.

The second paragraph is no part of the title.
"""

from conformance.backend import Backend
from conformance.check import Skipped, Unsupported, check


@check(called_by="torch/nn/modules/module.py: Module.to", without="modules cannot be moved")
def passes(backend: Backend) -> None:
    """The device has a name."""
    assert backend.name


@check(called_by="torch/nn/modules/module.py: Module.to", without="modules cannot be moved")
def fails(backend: Backend) -> None:
    """Two is
    three."""
    assert 2 == 3


@check()
def fails_with_words(_: Backend) -> None:
    """It fails."""
    raise AssertionError("the words")


@check()
def raises(_: Backend) -> None:
    """It does not raise."""
    raise TypeError("an unexpected argument\nand a second line")


@check()
def is_unsupported(_: Backend) -> None:
    """There are graphs."""
    raise Unsupported("no graphs")


@check()
def has_no_kernel(_: Backend) -> None:
    """There is a kernel."""
    raise NotImplementedError("Could not run 'aten::foo' with arguments from the 'acme' backend")


@check()
def is_skipped(backend: Backend) -> None:
    """Two devices differ."""
    raise Skipped(f"there is one {backend.name}")


@check()
def passes_too(_: Backend) -> None:
    """It passes."""


@check(level="standard")
def is_of_standard(_: Backend) -> None:
    """Runs at standard."""


@check(level="full")
def is_of_full(_: Backend) -> None:
    """Runs at full."""
