"""What is about a device beside the CPU, and says nothing where the CPU itself is checked."""

from __future__ import annotations

from .backend import Backend
from .check import Skipped


def need_device(backend: Backend) -> None:
    """Skipped where the suites run on the CPU, to see that they ask for nothing that PyTorch does
    not do."""
    if backend.name == "cpu":
        raise Skipped("is about a device beside the CPU")
