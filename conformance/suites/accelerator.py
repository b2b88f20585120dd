"""torch.accelerator: the functions that programs for any device are written with"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch

from .. import dtypes
from ..backend import Backend
from ..check import Check, Skipped, check, variants
from ..current import current_device, need_accelerator
from ..expect import equal, on, refused, same

INIT = "torch/accelerator/__init__.py"
MEMORY = "torch/accelerator/memory.py"
MEGABYTE = 1024 * 1024
WRONG_DEVICE = (RuntimeError, ValueError, IndexError)


def _forms(backend: Backend, index: int) -> list[Any]:
    return [index, f"{backend.name}:{index}", torch.device(backend.name, index)]


def _newer(owner: object, name: str) -> Callable:
    """A function that only some versions of PyTorch have."""
    if not hasattr(owner, name):
        raise Skipped(f"this torch has no {name}")
    return getattr(owner, name)


# ---- which device


@check(called_by=f"{INIT}: current_accelerator", without="programs for any device take the CPU")
def the_accelerator_is_available(backend: Backend) -> None:
    """The accelerator is this type, without an index, also where it has to be available."""
    need_accelerator(backend)
    for found in (
        torch.accelerator.current_accelerator(),
        torch.accelerator.current_accelerator(check_available=True),
    ):
        equal(found, torch.device(backend.name), "the accelerator")
    equal(torch.accelerator.is_available(), True, "is_available()")


@check(called_by=f"{INIT}: device_count", without="launchers start too many processes or too few")
def the_counts_agree(backend: Backend) -> None:
    """torch.accelerator, the device module and the hooks count the same devices."""
    need_accelerator(backend)
    count = torch.accelerator.device_count()
    assert type(count) is int and count > 0, f"torch.accelerator.device_count() is {count!r}"
    equal(count, backend.count, "torch.accelerator.device_count()")
    hooks = getattr(torch._C, "_accelerator_hooks_device_count", None)
    if hooks is not None:
        equal(hooks(), count, "the hooks' count")


@check(called_by=f"{INIT}: set_device_index", without="work goes to a device that nobody chose")
def setting_a_device_is_seen_everywhere(backend: Backend) -> None:
    """After set_device_index(), by every form of a device, tensors and modules follow."""
    need_accelerator(backend)
    with current_device(backend, backend.device):
        for index in reversed(range(backend.count)):
            for form in _forms(backend, index):
                torch.accelerator.set_device_index(0)
                torch.accelerator.set_device_index(form)
                equal(torch.accelerator.current_device_index(), index, f"the index after {form!r}")
                equal(backend.module.current_device(), index, "the module's current device")
                on(torch.ones(1, device=backend.name), torch.device(backend.name, index))
                equal(torch.accelerator.current_stream().device_index, index, "the stream's index")


@check(called_by=f"{INIT}: set_device_index", without="a mistaken index is another device's")
def a_wrong_device_is_refused(backend: Backend) -> None:
    """Every function that takes a device refuses one out of range and one of another type."""
    need_accelerator(backend)
    accelerator = torch.accelerator
    calls = (
        accelerator.set_device_index,
        accelerator.synchronize,
        accelerator.current_stream,
        accelerator.memory_allocated,
        accelerator.max_memory_reserved,
        accelerator.reset_peak_memory_stats,
        lambda device: accelerator.device_index(device).__enter__(),
    )
    torch.ones(1, device=backend.device)
    with current_device(backend, backend.device):
        for call in calls:
            name = getattr(call, "__name__", "")
            with refused(*WRONG_DEVICE, what=f"{name}(99)"):
                call(99)
            with refused(*WRONG_DEVICE, TypeError, what=f"{name}('cpu')"):
                call("cpu")
            equal(accelerator.current_device_index(), backend.device.index, "the current device")


@check(called_by=f"{INIT}: device_index", without="a library leaves its caller on another device")
def the_context_restores_the_device(backend: Backend) -> None:
    """`with device_index(i)` makes i current and restores the one before, after errors too."""
    need_accelerator(backend)
    context, index = torch.accelerator.device_index, torch.accelerator.current_device_index
    here, last = backend.device.index, backend.count - 1
    with current_device(backend, backend.device):
        with context(last):
            equal(index(), last, "the device inside")
            on(torch.ones(1, device=backend.name), torch.device(backend.name, last))
            with context(here):
                equal(index(), here, "the device of the inner context")
            equal(index(), last, "the device after the inner context")
        equal(index(), here, "the device afterwards")
        with context(None):
            equal(index(), here, "the device in device_index(None)")
        with refused(LookupError, what="an error inside"), context(last):
            raise LookupError
        equal(index(), here, "the device after an error")


@check(
    called_by="torch/utils/data/_utils/pin_memory.py: _pin_memory_loop",
    without="a DataLoader's thread moves the program to another device",
)
def the_device_is_the_threads_own(backend: Backend) -> None:
    """What a thread sets is its own; it starts on device 0."""
    need_accelerator(backend)
    other = backend.other_device
    seen: list[int] = []

    def run() -> None:
        seen.append(torch.accelerator.current_device_index())
        torch.accelerator.set_device_index(1)
        seen.append(torch.accelerator.current_device_index())
        seen.append(torch.ones(1, device=backend.name).device.index)

    with current_device(backend, torch.device(backend.name, 0)):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        equal(seen, [0, 1, 1], "what the thread saw")
        equal(torch.accelerator.current_device_index(), 0, "this thread's device")
    assert other.index in (0, 1)


@check(
    called_by=f"{INIT}: get_device_capability",
    without="programs choose a dtype that the device does not have",
)
def capabilities_list_dtypes(backend: Backend) -> None:
    """get_device_capability() has the dtypes that tensors of the device can have, and one that it
    leaves out is refused."""
    need_accelerator(backend)
    capability = torch.accelerator.get_device_capability(backend.device)
    declared = capability["supported_dtypes"]
    assert torch.float32 in declared, f"float32 is not in {declared}"
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool):
        if dtype in declared:
            found = torch.zeros(2, dtype=dtype, device=backend.device)
            same(found, torch.zeros(2, dtype=dtype), backend.device, f"a tensor of {dtype}")
    equal(torch.accelerator.get_device_capability(), capability, "that of the current device")
    for dtype in dtypes.missing(backend.device):
        call = functools.partial(torch.empty, 2, dtype=dtype, device=backend.device)
        with refused(TypeError, RuntimeError, what=f"a tensor of {dtype}, which is not among them"):
            call()


# ---- streams


@check(called_by=f"{INIT}: current_stream", without="programs synchronise with another stream")
def streams_are_of_their_device(backend: Backend) -> None:
    """current_stream() is a torch.Stream of the current device or of the one that is asked for."""
    need_accelerator(backend)
    for index in range(backend.count):
        device = torch.device(backend.name, index)
        for form in _forms(backend, index):
            stream = torch.accelerator.current_stream(form)
            assert isinstance(stream, torch.Stream), f"it is a {type(stream)}"
            equal(stream.device, device, f"the device of current_stream({form!r})")
        with current_device(backend, device):
            equal(torch.accelerator.current_stream().device, device, "that of current_stream()")
            equal(torch.accelerator.current_stream(), torch.accelerator.current_stream(index), "it")


@check(called_by=f"{INIT}: set_stream", without="work is not where the program ordered it to be")
def a_stream_can_be_set(backend: Backend) -> None:
    """After set_stream(s) the current stream is s, and work there gives right values."""
    need_accelerator(backend)
    with current_device(backend, backend.device):
        before = torch.accelerator.current_stream()
        new = torch.Stream(device=backend.device)
        try:
            torch.accelerator.set_stream(new)
            equal(torch.accelerator.current_stream(), new, "the current stream")
            found = torch.arange(4.0, device=backend.device) * 2
            torch.accelerator.current_stream().synchronize()
            same(found, torch.arange(4.0) * 2, backend.device)
        finally:
            torch.accelerator.set_stream(before)
        equal(torch.accelerator.current_stream(), before, "the stream afterwards")


@check(
    called_by=f"{INIT}: set_stream",
    without="kernels of one device are queued on a stream of another",
)
def setting_a_stream_sets_its_device(backend: Backend) -> None:
    """set_stream() of another device's stream makes that device current, the others unchanged."""
    need_accelerator(backend)
    other = backend.other_device
    with current_device(backend, backend.device):
        before, here = torch.accelerator.current_stream(other), torch.accelerator.current_stream()
        new = torch.Stream(device=other)
        try:
            torch.accelerator.set_stream(new)
            equal(torch.accelerator.current_device_index(), other.index, "the current device")
            equal(torch.accelerator.current_stream(), new, "the current stream")
            equal(torch.accelerator.current_stream(backend.device), here, "the first device's")
        finally:
            torch.accelerator.set_stream(before)


@check(called_by=f"{INIT}: synchronize", without="timings are of what was queued only")
def synchronize_takes_every_form(backend: Backend) -> None:
    """synchronize() takes every form of a device and leaves the current one alone."""
    need_accelerator(backend)
    with current_device(backend, backend.device):
        for index in range(backend.count):
            found = torch.ones(1000, device=torch.device(backend.name, index)).cumsum(0)
            for form in _forms(backend, index):
                equal(torch.accelerator.synchronize(form), None, "synchronize()")
            equal(torch.accelerator.current_device_index(), backend.device.index, "the device")
            equal(found[-1].item(), 1000.0, "the last sum")
        equal(torch.accelerator.synchronize(), None, "synchronize()")


# ---- memory


STATISTICS = {
    name: (name,)
    for name in ("allocation", "segment", "active", "allocated_bytes", "reserved_bytes")
}


def statistics_move_together(backend: Backend, name: str) -> None:
    """memory_stats() has each statistic's current, peak, allocated and freed, and they agree."""
    need_accelerator(backend)
    tensor = torch.empty(4 * MEGABYTE, dtype=torch.uint8, device=backend.device)
    stats = torch.accelerator.memory_stats(backend.device)
    found = {}
    for part in ("current", "peak", "allocated", "freed"):
        key = f"{name}.all.{part}"
        assert key in stats, f"{key} is not in memory_stats()"
        found[part] = stats[key]
    assert found["current"] > 0, f"with {tensor.nbytes} bytes allocated {name} is {found}"
    assert found["peak"] >= found["current"], f"the peak is below the current: {found}"
    equal(found["allocated"] - found["freed"], found["current"], f"allocated - freed of {name}")


STATS: list[Check] = variants(
    Check(
        statistics_move_together,
        called_by=f"{MEMORY}: memory_stats",
        without="monitors of memory show nothing, or nonsense",
    ),
    statistics_move_together,
    STATISTICS,
)


@check(called_by=f"{MEMORY}: empty_host_cache", without="pinned memory is kept for good")
def the_host_cache_can_be_emptied(backend: Backend) -> None:
    """empty_host_cache() can be called, and a pinned tensor that lives keeps its values."""
    need_accelerator(backend)
    empty = _newer(torch.accelerator, "empty_host_cache")
    pinned = torch.arange(10.0).pin_memory()
    equal(empty(), None, "empty_host_cache()")
    torch.zeros(10).pin_memory()
    same(pinned, torch.arange(10.0), torch.device("cpu"), "a pinned tensor from before")


@check(called_by=f"{MEMORY}: empty_cache", without="settings of the allocator are taken in silence")
def the_allocator_is_initialized(backend: Backend) -> None:
    """PyTorch knows that the allocator runs once there is a tensor, and keeps statistics of it."""
    need_accelerator(backend)
    tensor = torch.ones(1, device=backend.device)
    equal(torch._C._accelerator_isAllocatorInitialized(), True, "isAllocatorInitialized()")
    assert torch.accelerator.memory_stats(tensor.device), "memory_stats() is empty"


# ---- random numbers, where this torch has them


@check(
    called_by="torch/accelerator/random.py: get_rng_state",
    without="checkpoints written for any device have no random numbers",
)
def random_states_are_of_each_device(backend: Backend) -> None:
    """torch.accelerator.random gives each device's seed and state, as its generator has them."""
    need_accelerator(backend)
    random = _newer(torch.accelerator, "random")
    states = random.get_rng_state_all()
    equal(len(states), backend.count, "the number of states")
    for index in range(backend.count):
        for form in _forms(backend, index):
            assert torch.equal(random.get_rng_state(form), states[index]), f"{form!r} has another"
        expected = backend.need("get_rng_state")(index)
        assert torch.equal(states[index], expected), "the module gives another state"
        assert isinstance(random.initial_seed(index), int), "the seed is no int"
