"""Copies between devices and the host."""

from __future__ import annotations

import threading

import torch

from .defect import defect
from .kernels import number_as_tensor, replace


@defect("data", "goes_there_and_back[float32]", says="other numbers", blind=True)
def host_copy_is_late() -> None:
    """A blocking copy to the host returns before the data is there."""

    @replace("copy_")
    def _(copy_, destination, source, non_blocking=False):
        if destination.device.type != "cpu" or non_blocking:
            return copy_(destination, source, non_blocking)
        later = torch.empty_like(destination)
        copy_(later, source, False)
        raw = destination.detach()
        threading.Timer(0.02, lambda: raw.copy_(later)).start()
        return destination


@defect("serialization", "sparse_tensors_survive_the_old_format[COO]", says="not equal")
def sparse_values_are_taken_too_early() -> None:
    """A sparse tensor is made of what its values are before the file's are read, here zeros."""
    rebuild = torch._utils._rebuild_sparse_tensor

    def _rebuild_sparse_tensor(layout, data):
        indices, values, *rest = data
        return rebuild(layout, (indices, torch.zeros_like(values), *rest))

    _rebuild_sparse_tensor.__module__ = rebuild.__module__  # by which pickle finds it
    _rebuild_sparse_tensor.__qualname__ = rebuild.__qualname__
    torch._utils._rebuild_sparse_tensor = _rebuild_sparse_tensor


@defect("pinned", "captures_give_pinned_memory_back", says="broken off keeps pinned memory")
def captures_hold_what_they_copy() -> None:
    """Pinned memory that a capture copies is never given back."""
    held = []

    @replace("copy_")
    def _(copy_, destination, source, non_blocking=False):
        if torch.acme.is_current_stream_capturing():
            held.append(source)
        return copy_(destination, source, non_blocking)


@defect("pinned", "a_graph_keeps_the_pinned_memory_that_it_copies", says="expected 7")
def graphs_share_their_pinned_memory() -> None:
    """What a graph copies lies in memory that later pinned tensors get too."""
    shared = {}
    pin = torch.Tensor.pin_memory

    def pin_memory(self, device=None):
        if (memory := shared.get(self.shape)) is not None:
            memory.copy_(self)
        return pin(self)

    torch.Tensor.pin_memory = pin_memory

    @replace("copy_")
    def _(copy_, destination, source, non_blocking=False):
        if torch.acme.is_current_stream_capturing() and source.is_pinned():
            source = shared[source.shape] = source.detach()
        return copy_(destination, source, non_blocking)


@defect("memory", "one_value_costs_no_copy_of_its_tensor", says="MiB for nine bytes")
def a_value_copies_its_tensor() -> None:
    """item() copies all of the tensor that it reads an element of."""
    item = torch.Tensor.item

    def copying(self):
        if self._base is None:
            return item(self)
        return item(self._base.cpu().as_strided(self.shape, self.stride(), self.storage_offset()))

    torch.Tensor.item = copying


@defect("views", "operators_stay_within_parts", says="the tensor")
def what_is_written_is_rounded_up() -> None:
    """An operator in place writes one element beyond a part."""

    @replace("sub_.Tensor")
    def _(sub_, self, other, *, alpha=1):
        after = self.storage_offset() + self.numel()
        if self._base is not None and after < self._base.numel():
            self.detach().as_strided((1,), (1,), after).zero_()
        return sub_(self, number_as_tensor(other, self), alpha=alpha)
