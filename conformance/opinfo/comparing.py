"""Says how what the device returned differs from what the CPU returned."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from .judging import is_as_near

if TYPE_CHECKING:
    from ..tolerance import Tolerance

# What an entry says of a pass whose values the CPU's are not.
BY_FLOAT64 = "by_float64"
LOOSENED = "loosened"
_AS_NEAR = "differs from the CPU, and is as near to float64 as the CPU is, or within the tolerance"


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
    wider: Tolerance | None = None  # that somebody has given for this entry
    entry: dict[str, Any] = dataclasses.field(default_factory=dict)  # told how values have passed

    def check(
        self, what: str, actual: Any, expected: Any, in_float64: Callable[[], Any] | None = None
    ) -> None:
        """Raises Mismatch unless both are the same tree of equal leaves.

        `in_float64` computes the CPU's answer in float64, and is called where values differ: what
        is as near to that as the CPU's is equal too.
        """
        actual_leaves, actual_tree = pytree.tree_flatten(actual)
        expected_leaves, expected_tree = pytree.tree_flatten(expected)
        if actual_tree != expected_tree:
            raise Mismatch(f"{what}: structure {actual_tree}, the CPU's is {expected_tree}")
        for i, (a, e) in enumerate(zip(actual_leaves, expected_leaves, strict=True)):
            reference = functools.partial(_leaf_of, in_float64, i, len(expected_leaves))
            self._leaf(what if len(actual_leaves) == 1 else f"{what} {i}", a, e, reference)

    def _leaf(self, what: str, actual: Any, expected: Any, reference: Callable[[], Any]) -> None:
        if isinstance(expected, torch.Tensor):
            if not isinstance(actual, torch.Tensor):
                raise Mismatch(f"{what}: a {type(actual).__name__}, on the CPU a tensor")
            self._metadata(what, actual, expected)
            if self.values:
                self._close(what, actual.detach().cpu(), expected.detach(), reference)
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
                self._close(what, actual, expected, reference)
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

    def _close(self, what: str, actual: Any, expected: Any, reference: Callable[[], Any]) -> None:
        differs = _difference(actual, expected, self.rtol, self.atol)
        if not differs:
            return
        if isinstance(expected, torch.Tensor) and is_as_near(
            actual, expected, reference(), self.rtol, self.atol
        ):
            self.entry[BY_FLOAT64] = _AS_NEAR
            return
        wider = self.wider
        if wider is None or _difference(actual, expected, wider.rtol, wider.atol):
            raise Mismatch(f"{what}: {differs}")
        self.entry[LOOSENED] = f"within the tolerance that is given for it, {wider}"


def _difference(actual: Any, expected: Any, rtol: float | None, atol: float | None) -> str:
    """In what the values differ; "" where they are close."""
    try:
        torch.testing.assert_close(
            actual, expected, rtol=rtol, atol=atol, equal_nan=True, check_stride=False
        )
    except AssertionError as error:
        return one_line(str(error))
    return ""


def _leaf_of(tree: Callable[[], Any] | None, index: int, count: int) -> Any:
    """A leaf of what is computed; None where that is not possible, or is made otherwise."""
    if tree is None:
        return None
    try:
        leaves = pytree.tree_leaves(tree())
    except Exception:  # an operator need not take float64
        return None
    found = leaves[index] if len(leaves) == count else None
    return found.detach() if isinstance(found, torch.Tensor) else None


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
