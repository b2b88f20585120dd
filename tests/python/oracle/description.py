"""What a call is, as plain data: it is pickled to the child, and printed when it fails.

Arguments, and all else that Python can write down, are Python expressions over torch and numpy.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class TensorSource:
    """A tensor: see tensors.py for what the words mean."""

    device: str = "cpu"
    dtype: str = "float32"
    shape: tuple[int, ...] = (2, 3)
    layout: str = "contiguous"
    kind: str = "plain"


@dataclass(frozen=True)
class ModuleSource:
    """A module: see modules.py. The changes are made in the order of their list there."""

    name: str = "linear"
    device: str = "cpu"
    changes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class SequenceSource:
    """A PackedSequence of these lengths."""

    device: str = "cpu"
    dtype: str = "float32"
    lengths: tuple[int, ...] = (3, 2, 1)
    enforce_sorted: bool = True
    requires_grad: bool = False


@dataclass(frozen=True)
class StorageSource:
    """A storage: see storages.py for the kinds."""

    device: str = "cpu"
    dtype: str = "float32"
    size: int = 3
    kind: str = "untyped"


Source = TensorSource | ModuleSource | SequenceSource | StorageSource


@dataclass(frozen=True)
class Call:
    """What is done to the source: see calls.py for the actions."""

    source: Source
    positional: tuple[str, ...] = ()
    keywords: tuple[tuple[str, str], ...] = ()
    current: int = 0  # the current device while it happens
    action: str = "call"


def call(source: Source, *positional: str, current: int = 0, action: str = "call", **keywords: str):
    """A Call as one writes one by hand."""
    return Call(source, positional, tuple(keywords.items()), current, action)
