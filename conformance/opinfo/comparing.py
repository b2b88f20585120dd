"""Says how what the device returned differs from what the CPU returned."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils import _pytree as pytree


class Mismatch(Exception):
    """The device's answer is not the CPU's; the text says what differs."""


class WrongDevice(Mismatch):
    """What came back lives elsewhere than on the device that was asked."""


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What counts as equal; without `values`, whatever else there is."""

    device: torch.device
    values: bool = True
    rtol: float | None = None
    atol: float | None = None

    def check(self, what: str, actual: Any, expected: Any) -> None:
        """Raises Mismatch unless both are the same tree of equal leaves."""
        actual_leaves, actual_tree = pytree.tree_flatten(actual)
        expected_leaves, expected_tree = pytree.tree_flatten(expected)
        if actual_tree != expected_tree:
            raise Mismatch(f"{what}: structure {actual_tree}, the CPU's is {expected_tree}")
        for i, (a, e) in enumerate(zip(actual_leaves, expected_leaves, strict=True)):
            self._leaf(what if len(actual_leaves) == 1 else f"{what} {i}", a, e)

    def _leaf(self, what: str, actual: Any, expected: Any) -> None:
        if isinstance(expected, torch.Tensor):
            if not isinstance(actual, torch.Tensor):
                raise Mismatch(f"{what}: a {type(actual).__name__}, on the CPU a tensor")
            self._metadata(what, actual, expected)
            if self.values:
                self._close(what, actual.detach().cpu(), expected.detach())
            return
        if type(actual) is not type(expected):
            raise Mismatch(
                f"{what}: a {type(actual).__name__}, on the CPU a {type(expected).__name__}"
            )
        if isinstance(expected, torch.device):
            if actual != self.device:
                raise WrongDevice(f"{what}: device {actual}, not {self.device}")
        elif isinstance(expected, (int, float, complex)):
            if self.values:
                self._close(what, actual, expected)
        elif self.values and actual != expected:
            raise Mismatch(f"{what}: {actual!r}, on the CPU {expected!r}")

    def _metadata(self, what: str, actual: torch.Tensor, expected: torch.Tensor) -> None:
        if actual.device != self.device:
            raise WrongDevice(f"{what}: on {actual.device}, not on {self.device}")
        for attribute in ("dtype", "layout", "shape"):
            mine, cpus = getattr(actual, attribute), getattr(expected, attribute)
            if mine != cpus:
                mine, cpus = (tuple(x) if attribute == "shape" else x for x in (mine, cpus))
                raise Mismatch(f"{what}: {attribute} {mine}, on the CPU {cpus}")

    def _close(self, what: str, actual: Any, expected: Any) -> None:
        try:
            torch.testing.assert_close(
                actual, expected, rtol=self.rtol, atol=self.atol, equal_nan=True, check_stride=False
            )
        except AssertionError as error:
            raise Mismatch(f"{what}: {one_line(str(error))}") from None


def same_strides(actual: Any, expected: Any) -> bool:
    """Whether all results are laid out as the CPU's; a difference is allowed, but worth knowing."""
    pairs = zip(_tensors(actual), _tensors(expected), strict=True)
    return all(
        a.layout != torch.strided or e.numel() < 2 or _strides(a) == _strides(e) for a, e in pairs
    )


def aliases(results: Any, inputs: Iterable[torch.Tensor]) -> list[list[int]]:
    """For each result tensor, the inputs whose memory it shares: a view must stay a view."""
    owners = [_memory(tensor) for tensor in inputs]
    shared = []
    for result in _tensors(results):
        memory = _memory(result)
        shared.append([i for i, owner in enumerate(owners) if memory and owner == memory])
    return shared


def one_line(text: str, limit: int = 300) -> str:
    """The informative part of a message in a line, the same in each run."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0].endswith("are not close!"):  # torch.testing: the details follow
        lines = ["; ".join(lines[1:4]) or lines[0]]
    elif lines and lines[0].endswith("are not equal!"):
        lines = ["; ".join(lines[1:3]) or lines[0]]
    line = lines[0] if lines else ""
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _strides(tensor: torch.Tensor) -> tuple[int, ...]:
    """Without those of dimensions of one element, which say nothing."""
    return tuple(s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n != 1)


def _memory(tensor: torch.Tensor) -> int:
    """The address of a tensor's storage; 0 where it has none of its own."""
    if tensor.layout != torch.strided or math.prod(tensor.shape) == 0:
        return 0
    return tensor.untyped_storage().data_ptr()
