"""Memory and its statistics."""

from __future__ import annotations

import ctypes
import time

import torch

from .defect import defect
from .kernels import number_as_tensor, replace


@defect("memory", "nothing_is_left[operators]", says="left", blind=True)
def sums_are_never_freed() -> None:
    """Every result of add is kept for ever."""
    kept = []

    @replace("add.Tensor")
    def _(add, x, y, *, alpha=1):
        like = x if isinstance(x, torch.Tensor) else y
        kept.append(add(*(number_as_tensor(each, like) for each in (x, y)), alpha=alpha))
        return kept[-1].view(kept[-1].shape)


@defect("device_module", "free_memory_is_a_part_of_all", blind=True)
def free_and_total_are_swapped() -> None:
    """mem_get_info says the total first."""
    was = torch.acme.mem_get_info
    torch.acme.mem_get_info = lambda device=None: was(device)[::-1]


@defect("memory", "the_modules_figures_are_the_accelerators", says="memory_allocated")
def figures_never_go_down() -> None:
    """torch.acme.memory_allocated() is the most that there ever was."""
    torch.acme.memory_allocated = torch.acme.max_memory_allocated


@defect("memory", "the_modules_figures_are_the_accelerators", says="the peak was not reset")
def peak_is_not_reset() -> None:
    """torch.acme.reset_peak_memory_stats() does nothing."""
    torch.acme.reset_peak_memory_stats = lambda device=None: None


@defect("process", "sending_a_tensor_loses_no_write_to_others", says="additions of 1 were made")
def sending_puts_back_an_older_state() -> None:
    """Sending a tensor copies all memory beside it, and puts the copy back some time later."""
    native = torch.acme._outback._native
    export = native.export_memory

    def export_slowly(tensor: torch.Tensor) -> bytes:
        at = tensor.untyped_storage().data_ptr()
        for each in torch.acme.memory_snapshot():
            begin, size = each["address"], each["total_size"]
            if begin <= at < begin + size:
                before = ctypes.string_at(begin, size)
                time.sleep(0.01)
                ctypes.memmove(begin, before, size)
        return export(tensor)

    native.export_memory = export_slowly


@defect("stream_order", "record_stream_keeps_the_memory[torch]")
def record_stream_does_nothing() -> None:
    """Memory that another stream still uses is given to the next tensor."""

    @replace("record_stream")
    def _(record_stream, x, stream):
        pass


@defect("pinned", "only_pinned_memory_is_pinned", says="nobody pinned")
def every_tensor_is_pinned() -> None:
    """is_pinned() is true of any tensor of the CPU."""
    torch.Tensor.is_pinned = lambda self, device=None: True
