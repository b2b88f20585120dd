"""What of torch.<name>.memory is made of the counters and snapshots that the library gives: texts,
drawings, and old names."""

import pickle
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import torch

from . import _native, allocator, device_module, name, publish, safe_files, twin


def _flat(prefix: str, nested: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    """(name, value) pairs, with names such as "allocated_bytes.all.peak". A pool's id, which is a
    pair, becomes "0_1"."""
    for key, value in nested.items():
        each = prefix + (f"{key[0]}_{key[1]}" if isinstance(key, tuple) else key)
        if isinstance(value, dict):
            yield from _flat(f"{each}.", value)
        else:
            yield each, value


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The counters of memory_stats as dicts of dicts. Empty before the first allocation."""
    index = device_module._normalize_device(device)
    if not torch._C._accelerator_isAllocatorInitialized():
        return {}
    return {**torch._C._accelerator_getDeviceStats(index), **_native.newer_stats(index)}


def memory_stats(device: Any = None) -> dict[str, Any]:
    """All of the allocator's counters, under torch.cuda.memory_stats's keys, sorted. Empty before
    the first allocation."""
    return OrderedDict(sorted(_flat("", memory_stats_as_nested_dict(device))))


def host_memory_stats() -> dict[str, Any]:
    """What the pinned allocator counts, in blocks, bytes and microseconds, under
    torch.cuda.host_memory_stats's keys. Empty before the first use of the backend."""
    return OrderedDict(sorted(_flat("", device_module.host_memory_stats_as_nested_dict())))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Sets the peaks to the current values."""
    torch.accelerator.reset_peak_memory_stats(device_module._normalize_device(device))


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Sets the counters of what was ever allocated and freed to zero."""
    torch.accelerator.reset_accumulated_memory_stats(device_module._normalize_device(device))


# ---- The summary, in the layout of torch.cuda.memory_summary, whose units and limits it has


_METRICS = {
    "Allocated memory": "allocated_bytes",
    "Active memory": "active_bytes",
    "Requested memory": "requested_bytes",
    "Reserved memory": "reserved_bytes",
    "Non-releasable memory": "inactive_split_bytes",
    "Allocations": "allocation",
    "Active allocs": "active",
    "Reserved segments": "segment",
    "Non-releasable allocs": "inactive_split",
}
_OVERSIZE = {
    "Oversize allocations": "oversize_allocations",
    "Oversize segments": "oversize_segments",
}
_WIDTH = 75  # of a line, without the bars at its ends


def _text(value: int, scale: float, of_bytes: bool) -> str:
    """In the unit that suits `scale`, so that all rows of one metric have one unit."""
    step, limit = (1024, 768 * 1024) if of_bytes else (1000, 750 * 1000)
    unit, *larger = ("B  ", "KiB", "MiB", "GiB", "TiB", "PiB") if of_bytes else (" ", "K", "M")
    for following in larger:
        if scale < limit:
            break
        value, scale, unit = value // step, scale / step, following
    return f"{value:6d} {unit}" if of_bytes else f"{value:7d} {unit} "


def _row(title: str, stats: dict[str, Any], key: str, of_scale: str) -> str:
    numbers = ((stats.get(f"{key}.{of}", 0), stats.get(f"{of_scale}.{of}", 0)) for of in _COLUMNS)
    texts = (_text(number, scale, "bytes" in key) for number, scale in numbers)
    return f" {title:<21} | {' | '.join(texts)} "


_COLUMNS = ("current", "peak", "allocated", "freed")


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The counters of memory_stats as a table for people; `abbreviated`: without the two pools."""
    stats = memory_stats(device)
    ooms, retries = stats.get("num_ooms", 0), stats.get("num_alloc_retries", 0)
    index, title = device_module._normalize_device(device), name.upper()
    lines = [
        "=" * _WIDTH,
        f"{'':17} PyTorch {title} memory summary, device ID {index}",
        "-" * _WIDTH,
        f"{'':11} {title} OOMs: {ooms:<12d} | {'':6} mem_alloc retries: {retries:<8d}",
        "=" * _WIDTH,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed",
    ]
    for metric, key in _METRICS.items():
        lines += ["-" * _WIDTH, _row(metric, stats, f"{key}.all", f"{key}.all")]
        for pool in () if abbreviated else ("large", "small"):
            lines.append(_row(f"      from {pool} pool", stats, f"{key}.{pool}_pool", f"{key}.all"))
    for metric, key in _OVERSIZE.items():
        lines += ["-" * _WIDTH, _row(metric, stats, key, key)]
    lines.append("=" * _WIDTH)
    return "".join(f"|{line:<{_WIDTH}}|\n" for line in lines)


# ---- Snapshots


def _snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """A dict of the segments of all devices and of their history, as
    torch.cuda.memory._snapshot's."""
    if device_module.is_initialized() and (own := twin.member("memory._snapshot")):
        return dict(own(augment_with_fx_traces=augment_with_fx_traces))
    taken: Any = _native.take_snapshot((0, 0), True)
    if augment_with_fx_traces:
        taken = torch._utils._augment_memory_snapshot_stack_traces(taken)
    return dict(taken)


def _dump_snapshot(
    filename: Any = "dump_snapshot.pickle", augment_with_fx_traces: bool = False
) -> None:
    """Pickles _snapshot() into a file that pytorch.org/memory_viz opens."""
    taken = _snapshot(augment_with_fx_traces=augment_with_fx_traces)
    safe_files.write(filename, pickle.dumps(taken))


def _save_segment_usage(filename: Any = "output.svg", snapshot: Any = None) -> None:
    """Draws the segments as a flame graph (SVG)."""
    from torch.cuda._memory_viz import segments

    text = segments(_snapshot() if snapshot is None else snapshot)
    safe_files.write(filename, text.encode())


def _save_memory_usage(filename: Any = "output.svg", snapshot: Any = None) -> None:
    """Draws who holds memory as a flame graph (SVG)."""
    from torch.cuda._memory_viz import memory

    text = memory(_snapshot() if snapshot is None else snapshot)
    safe_files.write(filename, text.encode())


# ---- Old names, which warn as torch.cuda's do


def _warn(text: str) -> None:
    warnings.warn(text.format(f"torch.{name}"), FutureWarning, stacklevel=3)


def memory_cached(device: Any = None) -> int:
    """Deprecated: memory_reserved."""
    _warn("`{0}.memory_cached` has been renamed to `{0}.memory_reserved`")
    return int(device_module.memory_reserved(device))


def max_memory_cached(device: Any = None) -> int:
    """Deprecated: max_memory_reserved."""
    _warn("`{0}.max_memory_cached` has been renamed to `{0}.max_memory_reserved`")
    return int(device_module.max_memory_reserved(device))


_RESETS = "{{0}}.{} now calls {{0}}.reset_peak_memory_stats, which resets /all/ peak memory stats."


def reset_max_memory_allocated(device: Any = None) -> None:
    """Deprecated: reset_peak_memory_stats, which resets all peaks."""
    _warn(_RESETS.format("reset_max_memory_allocated"))
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Any = None) -> None:
    """Deprecated: reset_peak_memory_stats, which resets all peaks."""
    _warn(_RESETS.format("reset_max_memory_cached"))
    reset_peak_memory_stats(device)


def define(memory: Any) -> None:
    """Adds these to the module torch.<name>.memory, and its public names to the device module."""
    publish(memory, *allocator.PUBLIC, allocator._record_memory_history)
    publish(memory, memory_stats_as_nested_dict, reset_accumulated_memory_stats)
    publish(
        memory,
        memory_stats,
        reset_peak_memory_stats,
        memory_summary,
        memory_cached,
        max_memory_cached,
    )
    publish(memory, reset_max_memory_allocated, reset_max_memory_cached)
    publish(memory, _snapshot, _dump_snapshot, _save_segment_usage, _save_memory_usage)
    memory.__all__ = [each for each in vars(memory) if not each.startswith("_")]
    for each in memory.__all__:
        setattr(device_module, each, getattr(memory, each))
