"""What of torch.<name>.memory changes how memory is allocated: limits, pools, caching, and what is
recorded of it."""

import sys
from collections.abc import Sequence
from contextlib import ContextDecorator
from typing import Any, Literal, NoReturn

from . import _native, device_module, name, twin


def get_allocator_backend() -> str:
    """ "native": the caching allocator, the only one there is."""
    return "native"


def change_current_allocator(allocator: Any) -> NoReturn:
    """Not supported: the memory comes from the device's runtime."""
    raise NotImplementedError(
        f"{name}: change_current_allocator: the memory of this device comes from its runtime's "
        "slots mem_alloc and mem_free: write another runtime, or a layer over its table, to change "
        "them"
    )


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Limits this process to a part of the device's memory, from 0 to 1. Beyond it, allocating
    raises torch.OutOfMemoryError."""
    device_module.init()
    index = device_module._normalize_device(device)
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if own := twin.member("set_per_process_memory_fraction", index):
        own(fraction, twin.index(index))
    else:
        _native.set_memory_fraction(index, fraction)


def get_per_process_memory_fraction(device: Any = None) -> float:
    """The part of the device's memory that this process may use, from 0 to 1."""
    device_module.init()
    index = device_module._normalize_device(device)
    if own := twin.member("get_per_process_memory_fraction", index):
        return float(own(twin.index(index)))
    return _native.memory_fraction(index)


# ---- Caching


def caching_allocator_enable(value: bool = True) -> None:
    """Turns the caching of freed memory on or off; nothing before the backend has started."""
    if not device_module.is_initialized():
        return
    if own := twin.member("caching_allocator_enable"):
        own(value)
        _twin.caches = value
    else:
        _native.enable_caching(value)


class _Twin:
    """What was last asked of the twin's allocator here, since it has no function that tells."""

    caches = True


_twin = _Twin()


class caching_allocator_disabled(ContextDecorator):
    """Context manager and decorator: freed memory is not cached inside it.

    Process-wide, as in torch.cuda: other threads do not cache either.
    """

    def __init__(self) -> None:
        self._before: list[bool] = []  # a stack, since one object may be entered again

    def _recreate_cm(self) -> "caching_allocator_disabled":
        return caching_allocator_disabled()

    def __enter__(self) -> None:
        self._before.append(_native.is_caching_enabled() and _twin.caches)
        caching_allocator_enable(False)

    def __exit__(self, *args: Any) -> Literal[False]:
        if not self._before:
            raise RuntimeError("this context was not entered")
        caching_allocator_enable(self._before.pop())
        return False


# ---- Pools


class MemPool(_native.MemPool):
    """Memory that serves only what is allocated under use_mem_pool.

    Args:
        allocator: None.
        use_on_oom: others may have its memory before memory runs out.
        no_split: a segment serves one allocation.

    Where the device shares its memory with PyTorch's own CUDA device, this makes a
    torch.cuda.MemPool.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        own = twin.member("MemPool") if cls is MemPool else None
        return own(*args, **kwargs) if own else super().__new__(cls)

    def __init__(
        self, allocator: None = None, use_on_oom: bool = False, no_split: bool = False
    ) -> None:
        if allocator is not None:
            raise NotImplementedError(
                f"{name}: MemPool(allocator=...): the memory of this device comes from its "
                "runtime's slot mem_alloc: expected None"
            )
        device_module.init()
        super().__init__(device_module.current_device(), use_on_oom, no_split)

    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]:
        """The pool's segments, as memory_snapshot lists them."""
        return memory_snapshot(self.id, include_traces)


class use_mem_pool(ContextDecorator):
    """Context manager and decorator: what this thread allocates on the device comes out of the
    pool."""

    def __new__(cls, pool: Any, device: Any = None) -> Any:
        index = device_module._normalize_device(device)
        known = isinstance(pool, MemPool) or not device_module.is_initialized()
        own = None if known else twin.member("use_mem_pool", index)
        return own(pool, twin.index(index)) if own else super().__new__(cls)

    def __init__(self, pool: MemPool, device: Any = None) -> None:
        if not isinstance(pool, MemPool):
            kind = type(pool).__name__
            raise TypeError(f"use_mem_pool: expected a torch.{name}.MemPool, got {kind}")
        self._pool = pool  # must exist as long as allocations go to it
        self._device = device_module._normalize_device(device)

    def __enter__(self) -> None:
        _native.begin_allocate_to_pool(self._device, self._pool.id)

    def __exit__(self, *args: Any) -> Literal[False]:
        _native.end_allocate_to_pool(self._device, self._pool.id)
        return False


def memory_snapshot(
    mempool_id: tuple[int, int] | None = None, include_traces: bool = True
) -> list[dict[str, Any]]:
    """The allocator's segments on all devices, a list of dicts with their blocks; of one pool where
    `mempool_id` names it."""
    if device_module.is_initialized() and (own := twin.member("memory_snapshot")):
        return list(own(mempool_id, include_traces))
    taken = _native.take_snapshot(mempool_id or (0, 0), include_traces)
    return list(taken["segments"])


# ---- History

_CONTEXTS = {None: 0, "state": 1, "alloc": 2, "all": 3}  # the numbers of c10's RecordContext


def _record_memory_history(
    enabled: Any = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    device: Any = None,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: Sequence[str] | None = None,
) -> None:
    """Records from now on who allocates (enabled="state"), and the last `max_entries` events of
    each device too ("all"); None stops. For _snapshot()."""
    if device_module.is_initialized() and (own := twin.member("memory._record_memory_history")):
        # What this torch's has, and where it is asked for: their number grows from torch to torch.
        asked = {
            "compile_context": compile_context,
            "global_record_annotations": global_record_annotations,
            "skip_actions": skip_actions,
            "device": None if device is None else twin.index(device),
        }
        others = {key: it for key, it in asked.items() if it is not None and it is not False}
        own(
            enabled,
            context=context,
            stacks=stacks,
            max_entries=max_entries,
            clear_history=clear_history,
            **others,
        )
        return
    if isinstance(
        enabled, bool
    ):  # torch.cuda's older form; its other arguments keep their defaults
        return _record_memory_history("state" if enabled else None, "state", "python")
    if compile_context or global_record_annotations:
        raise NotImplementedError(
            f"{name}: _record_memory_history: compile_context and global_record_annotations are "
            "not recorded: expected False"
        )
    if enabled not in (None, "state", "all"):
        raise RuntimeError("expected state to be 'state', 'all', or None")
    if context not in _CONTEXTS:
        raise RuntimeError("expected context to be 'state', 'alloc', 'all', or None")
    if stacks not in ("python", "all"):
        raise RuntimeError("expected stacks to be 'python', or 'all'")
    _native.record_history(
        enabled is not None,
        stacks == "all",
        _CONTEXTS[context],
        max_entries if enabled == "all" else 1,
        clear_history,
        skip_actions or (),
    )


PUBLIC = (
    *(get_allocator_backend, change_current_allocator, caching_allocator_enable),
    *(set_per_process_memory_fraction, get_per_process_memory_fraction),
    *(caching_allocator_disabled, MemPool, use_mem_pool, memory_snapshot),
)
