"""Memory of the device: what is held, what is given back, and what happens when it is full."""

from __future__ import annotations

import functools
import gc
import time
from collections.abc import Callable
from pathlib import Path

import torch

from ..backend import Backend
from ..busy import keep_busy, streams_of
from ..check import Skipped, Unsupported, check, variants
from .modes import OPERATORS, numbers

BESIDE_THE_CPU = True

MEBIBYTE = 1 << 20
LIVE = "allocated_bytes.all.current"


def bytes_of(backend: Backend, size: int, device: torch.device | None = None) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, device=device or backend.device)


@functools.cache
def freeze_what_was_there() -> None:
    """Saves each collection the look at everything that was imported, a tenth of a second."""
    gc.collect()
    gc.freeze()


def allocated(backend: Backend) -> int:
    """The bytes that tensors hold, when nothing waits for its end any more."""
    freeze_what_was_there()
    gc.collect()
    torch.accelerator.synchronize(backend.device)
    return torch.accelerator.memory_allocated(backend.device)


def left_over(backend: Backend, before: int) -> int:
    """The bytes that are held beyond `before`. Autograd's threads let go of the last tensors when
    the caller has gone on already, so that it is asked for a while."""
    end = time.monotonic() + 1
    while (left := allocated(backend) - before) > 0 and time.monotonic() < end:
        time.sleep(0.01)
    return left


def need_statistics(backend: Backend) -> None:
    x = bytes_of(backend, MEBIBYTE)
    if allocated(backend) == 0:
        raise Unsupported("the allocator counts nothing: memory_allocated() is 0 beside a tensor")
    del x


# ---- what a part costs


def _resident(field: str) -> int:
    """The process's memory in bytes, of a line of its status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) << 10
    raise Skipped(f"the system does not tell {field}")


@check(without="a loop that reads single values takes the memory and time of the whole tensor")
def one_value_costs_no_copy_of_its_tensor(backend: Backend) -> None:
    """Reading an element of a large tensor, or computing with a few, takes no host memory of the
    tensor's size."""
    size = 64 * MEBIBYTE
    x = torch.zeros(size, dtype=torch.uint8, device=backend.device)
    x[:8] += 1  # what the first use takes
    torch.accelerator.synchronize(backend.device)
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak is that of now
    except OSError as error:
        raise Skipped("the system does not count the peak anew") from error
    before = _resident("VmRSS")
    assert x[size // 2].item() == 0
    (x[size // 2 : size // 2 + 8] + 1).tolist()
    grown = _resident("VmHWM") - before
    assert grown < size // 2, f"{grown >> 20} MiB for nine bytes of a tensor of {size >> 20}"


# ---- what is counted


@check(
    called_by="torch/accelerator/memory.py: memory_allocated",
    without="nobody can tell what a model takes",
)
def what_tensors_hold_is_counted(backend: Backend) -> None:
    """memory_allocated() rises by what a tensor takes, and falls by the same when the last view of
    it is gone."""
    before = allocated(backend)
    x = bytes_of(backend, 3 * MEBIBYTE)
    with_x = allocated(backend)
    assert 3 * MEBIBYTE <= with_x - before < 4 * MEBIBYTE, f"{with_x - before} bytes for 3 MiB"
    view = x[5:10]
    del x
    assert allocated(backend) == with_x, "a view does not keep its memory"
    del view
    assert allocated(backend) == before, "the memory of a dead tensor is counted still"


@check(
    called_by="torch/accelerator/memory.py: memory_reserved",
    without="nobody can tell what the process keeps from others",
)
def what_is_reserved_holds_what_is_allocated(backend: Backend) -> None:
    """memory_reserved() is never less than memory_allocated(), and memory that was given back
    serves the next tensor of the size without more being reserved."""
    x = bytes_of(backend, 8 * MEBIBYTE)
    need_statistics(backend)
    reserved = torch.accelerator.memory_reserved(backend.device)
    assert reserved >= torch.accelerator.memory_allocated(backend.device) > 0
    del x
    if torch.accelerator.memory_reserved(backend.device) < reserved:
        raise Unsupported("the allocator does not cache: memory goes back at once")
    for _ in range(20):
        y = bytes_of(backend, 8 * MEBIBYTE)
        del y
    assert torch.accelerator.memory_reserved(backend.device) == reserved, "the cache serves nobody"


@check(
    called_by="torch/accelerator/memory.py: empty_cache",
    without="memory that nobody uses stays away from other processes",
)
def the_cache_is_emptied(backend: Backend) -> None:
    """empty_cache() gives back what no tensor holds, and leaves those that live as they are."""
    kept = torch.arange(1 << 18, device=backend.device)
    need_statistics(backend)
    x = bytes_of(backend, 32 * MEBIBYTE)
    before = torch.accelerator.memory_reserved(backend.device)
    del x
    torch.accelerator.empty_cache()
    after = torch.accelerator.memory_reserved(backend.device)
    assert before - after >= 32 * MEBIBYTE, f"{before - after} bytes went back, of 32 MiB"
    assert torch.equal(kept.cpu(), torch.arange(1 << 18)), "a living tensor lost its numbers"


@check(
    called_by="torch/accelerator/memory.py: max_memory_allocated",
    without="nobody can tell what a step takes at most",
)
def peaks_are_kept_and_reset(backend: Backend) -> None:
    """max_memory_allocated() is the most that was held since reset_peak_memory_stats(), and so is
    max_memory_reserved()."""
    need_statistics(backend)
    torch.accelerator.reset_peak_memory_stats(backend.device)
    base = allocated(backend)
    x = bytes_of(backend, 4 * MEBIBYTE)
    y = bytes_of(backend, 4 * MEBIBYTE)
    del x, y
    peak = torch.accelerator.max_memory_allocated(backend.device)
    assert 8 * MEBIBYTE <= peak - base < 10 * MEBIBYTE, f"a peak of {peak - base}, of two 4 MiB"
    reserved = torch.accelerator.memory_reserved(backend.device)
    assert torch.accelerator.max_memory_reserved(backend.device) >= max(peak, reserved)
    torch.accelerator.reset_peak_memory_stats(backend.device)
    peak = torch.accelerator.max_memory_allocated(backend.device)
    assert peak == allocated(backend), "the peak was not reset"


@check(
    called_by="torch/accelerator/memory.py: memory_stats",
    without="memory reports fail on a missing key",
)
def the_statistics_have_torchs_keys(backend: Backend) -> None:
    """torch.accelerator.memory_stats() has the keys of torch's caching allocators, all of them
    whole numbers, and the short functions read them."""
    kept = bytes_of(backend, 4096)
    stats = torch.accelerator.memory_stats(backend.device)
    if not stats:
        raise Unsupported("memory_stats() is empty")
    wanted = {
        f"{array}.{pool}.{value}"
        for array in ("allocated_bytes", "reserved_bytes", "active_bytes", "segment", "active")
        for pool in ("all", "small_pool", "large_pool")
        for value in ("current", "peak", "allocated", "freed")
    } | {"num_alloc_retries", "num_ooms", "num_device_alloc", "num_device_free"}
    missing = wanted - set(stats)
    assert not missing, f"missing: {', '.join(sorted(missing)[:5])}"
    odd = [key for key in wanted if not isinstance(stats[key], int) or stats[key] < 0]
    assert not odd, f"no counts: {', '.join(odd)}"
    assert stats[LIVE] == torch.accelerator.memory_allocated(backend.device) >= 4096
    assert stats["reserved_bytes.all.current"] == torch.accelerator.memory_reserved(backend.device)
    more = bytes_of(backend, 4096)
    after = torch.accelerator.memory_stats(backend.device)
    for array in ("allocated_bytes", "active_bytes"):
        grown = after[f"{array}.all.allocated"] - stats[f"{array}.all.allocated"]
        assert grown >= 4096, f"{array} counts {grown} of 4096 bytes"
        # The sums may have been reset beside living tensors, which current counts and they do not.
        rest = [
            each[f"{array}.all.current"]
            - each[f"{array}.all.allocated"]
            + each[f"{array}.all.freed"]
            for each in (stats, after)
        ]
        assert rest[0] == rest[1], f"{array} do not add up"
    del kept, more


@check(
    called_by="torch/accelerator/memory.py: reset_accumulated_memory_stats",
    without="what a step allocates cannot be told from what came before",
)
def sums_are_reset(backend: Backend) -> None:
    """After reset_accumulated_memory_stats() the counts begin at 0, and count what comes."""
    need_statistics(backend)
    torch.accelerator.reset_accumulated_memory_stats(backend.device)
    stats = torch.accelerator.memory_stats(backend.device)
    assert stats["allocated_bytes.all.allocated"] == stats["allocated_bytes.all.freed"] == 0
    for _ in range(3):
        bytes_of(backend, MEBIBYTE)
    stats = torch.accelerator.memory_stats(backend.device)
    for key in ("allocated_bytes.all.allocated", "allocated_bytes.all.freed"):
        assert 3 * MEBIBYTE <= stats[key] < 4 * MEBIBYTE, f"{key}: {stats[key]}, of thrice 1 MiB"


@check(
    called_by="torch/accelerator/memory.py: get_memory_info",
    without="programs that size their caches by the free memory fail",
)
def free_and_total_memory_are_known(backend: Backend) -> None:
    """get_memory_info() is (free, total) in bytes of each device, by every form of it, and
    torch.<name>.mem_get_info() the same."""
    for device in (torch.device(backend.name, index) for index in range(backend.count)):
        x = bytes_of(backend, 32 * MEBIBYTE, device)
        totals = set()
        for form in (device.index, str(device), device):
            free, total = torch.accelerator.get_memory_info(form)
            assert 0 < free <= total - x.nbytes, f"{free} of {total} bytes, beside {x.nbytes}"
            totals.add(total)
        assert len(totals) == 1, f"totals of one device: {totals}"
    total = torch.accelerator.get_memory_info(backend.device)[1]
    if hasattr(backend.module, "mem_get_info"):
        again = backend.module.mem_get_info(backend.device)
        assert again[1] == total and 0 < again[0] <= total


@check(
    called_by="torch/accelerator/memory.py: memory_allocated",
    without="one device is charged for another one's tensors",
)
def each_device_has_its_own_figures(backend: Backend) -> None:
    """A tensor of one device changes no figure of another one; every form of the device tells its
    own."""
    other = backend.other_device
    need_statistics(backend)
    here, there = allocated(backend), torch.accelerator.memory_allocated(other)
    x = bytes_of(backend, MEBIBYTE, other)
    assert allocated(backend) == here
    for form in (other.index, str(other), other):
        assert torch.accelerator.memory_allocated(form) - there >= MEBIBYTE, f"by {form!r}"
    with torch.accelerator.device_index(other.index):
        assert torch.accelerator.memory_allocated() - there >= MEBIBYTE, "where it is current"
    del x
    assert torch.accelerator.memory_allocated(other) == there


@check(
    called_by="torch/distributed/_tools/memory_tracker.py: _record_memory_stats",
    without="programs written for torch.cuda find other figures, or none",
)
def the_modules_figures_are_the_accelerators(backend: Backend) -> None:
    """What torch.<name> has of the memory functions answers as torch.accelerator does."""
    x = bytes_of(backend, MEBIBYTE)
    names = ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved")
    found = [name for name in names if hasattr(backend.module, name)]
    if not found:
        raise Unsupported(f"torch.{backend.name} has none of {', '.join(names)}")
    bytes_of(backend, 64 * MEBIBYTE)  # so that a peak is not what is held now
    for name in found:
        assert getattr(backend.module, name)() == getattr(torch.accelerator, name)(), name
    if hasattr(backend.module, "memory_stats"):
        ours, torchs = backend.module.memory_stats(), torch.accelerator.memory_stats()
        differ = [key for key in torchs if key in ours and ours[key] != torchs[key]]
        assert not differ and LIVE in ours, f"differ: {differ[:5]}"
    if hasattr(backend.module, "empty_cache"):
        reserved = backend.module.memory_reserved()
        bytes_of(backend, 32 * MEBIBYTE)
        backend.module.empty_cache()
        assert backend.module.memory_reserved() <= reserved, "empty_cache() empties nothing"
    if hasattr(backend.module, "reset_peak_memory_stats"):
        bytes_of(backend, 32 * MEBIBYTE)
        backend.module.reset_peak_memory_stats()
        held = torch.accelerator.memory_allocated()
        assert torch.accelerator.max_memory_allocated() == held, "the peak was not reset"
    if hasattr(backend.module, "memory_summary"):
        assert "Allocated memory" in backend.module.memory_summary()
    if hasattr(backend.module, "memory_snapshot"):
        address = x.data_ptr()
        segments = backend.module.memory_snapshot()
        assert any(s["address"] <= address < s["address"] + s["total_size"] for s in segments), (
            "no segment of the snapshot has a living tensor"
        )
    del x


# ---- what is given back

REPEATED: dict[str, Callable[[torch.Tensor], object]] = {
    "operators": lambda x: (x + 1) * (x @ x).relu(),
    "views": lambda x: x.t()[1:].reshape(-1)[::2],
    "in place": lambda x: x.clone().add_(1).mul_(2),
    "out=": lambda x: torch.add(x, x, out=torch.empty(0, device=x.device)),
    "several results": lambda x: (torch.sort(x, 1), x.max(0), x.unbind(), torch.split(x, 3)),
    "to the CPU and back": lambda x: x.cpu().to(x.device).tolist(),
    "indices": lambda x: x[torch.arange(3, device=x.device)].index_add_(
        0, torch.tensor([0, 1], device=x.device), x[:2]
    ),
    "random numbers": lambda x: (torch.rand_like(x), torch.randperm(5, device=x.device)),
    "backward": lambda x: (x.detach().requires_grad_() * x).exp().sum().backward(),
    "double backward": lambda x: torch.autograd.functional.hvp(lambda y: (y**3).sum(), x, x),
    "a module": lambda x: torch.nn.Linear(8, 4, device=x.device)(x).sum().backward(),
    "foreach": lambda x: torch._foreach_add([x, x], 1),
    "storages": lambda x: x.clone().untyped_storage().resize_(4096),
    "resize_": lambda x: x.clone().resize_(64, 64).resize_(2),
    "set_": lambda x: torch.empty(0, device=x.device).set_(x.clone()),
    "an error": lambda x: _fails(lambda: x.clone() @ torch.ones(3, 3, device=x.device)),
    "an error in backward": lambda x: _fails(lambda: (x.clone().requires_grad_() * 2).backward()),
    "complex numbers": lambda x: torch.complex(x, x).conj().imag.cpu(),
}


def _fails(call: Callable[[], object]) -> None:
    try:
        call()
    except RuntimeError:
        return
    raise AssertionError("the call that has to fail did not")


def nothing_is_left(backend: Backend, work: Callable[[torch.Tensor], object]) -> None:
    """Work that is done again and again leaves no memory behind."""
    x = torch.rand(8, 8, device=backend.device)
    need_statistics(backend)
    before = allocated(backend)
    for _ in range(3):  # the first times may make what stays
        work(x)
    before += left_over(backend, before)
    for _ in range(10):
        work(x)
    left = left_over(backend, before)
    assert left <= 0, f"10 rounds left {left} bytes of the device's behind"


leaks = variants(
    check(
        called_by="torch/include/c10/core/Allocator.h: DataPtr",
        without="a long run ends out of memory",
    )(nothing_is_left),
    nothing_is_left,
    {name: (work,) for name, work in REPEATED.items()},
)


@check(
    called_by="torch/include/c10/core/Allocator.h: DataPtr",
    without="a long run ends out of memory",
)
def no_operator_keeps_memory(backend: Backend) -> None:
    """Each operator of a long list, and its backward, gives back what it took when its results are
    gone."""
    x = numbers().to(backend.device).requires_grad_()
    need_statistics(backend)

    def run(operator: Callable[[torch.Tensor], torch.Tensor]) -> None:
        torch.autograd.grad(operator(x).sum(), x)

    leaking = []
    for name, operator in OPERATORS.items():
        before = allocated(backend)
        run(operator)  # the first time may make what stays
        before += left_over(backend, before)
        for _ in range(3):
            run(operator)
        left = left_over(backend, before)
        if left > 0:
            leaking.append(f"{name} ({left} bytes)")
    assert not leaking, f"of three runs something is left: {', '.join(leaking)}"


@check(
    called_by="torch/include/c10/core/CachingDeviceAllocator.h: recordStream",
    without="a run on several streams ends out of memory",
)
def streams_leave_nothing_behind(backend: Backend) -> None:
    """Tensors that other streams used are given back when those streams are done."""
    (side,) = streams_of(backend, 1)
    need_statistics(backend)
    torch.accelerator.empty_cache()
    before, reserved = allocated(backend), torch.accelerator.memory_reserved(backend.device)
    for _ in range(30):
        x = bytes_of(backend, 4 * MEBIBYTE)
        with side:
            x.zero_()
        x.record_stream(side)
        del x
        side.synchronize()
    assert allocated(backend) == before
    grown = torch.accelerator.memory_reserved(backend.device) - reserved
    assert grown <= 12 * MEBIBYTE, f"{grown} bytes are reserved for 30 times 4 MiB, one at a time"


# ---- what it is


@check(
    called_by="torch/include/c10/core/Allocator.h: Allocator",
    without="tensors overwrite each other",
)
def tensors_do_not_overlap(backend: Backend) -> None:
    """Tensors of many sizes, some of them given back and made anew, each keep their numbers."""
    sizes = [1, 3, 64, 511, 512, 513, 1000, 4096, 70_000, 300_000, 1 << 20]
    tensors: dict[int, torch.Tensor] = {}
    for number in range(66):
        tensors[number] = torch.full((sizes[number % 11],), number, device=backend.device)
        if number % 3 == 2:
            del tensors[number - 1]
    for number, x in tensors.items():
        assert x.eq(number).all(), f"the tensor of {number} holds {x.unique().tolist()[:4]}"


@check(
    called_by="torch/include/c10/core/CachingDeviceAllocator.h: DeviceAllocator",
    without="memory is given to a stream while another one still writes to it",
)
def memory_belongs_to_its_stream(backend: Backend) -> None:
    """Memory that a tensor of one stream gave back, while that stream was busy, does not serve
    another stream before the first one is done."""
    first, second = streams_of(backend, 2)
    source = torch.full((1 << 14,), -1.0, device=backend.device)
    torch.accelerator.synchronize()
    for _ in range(3):
        with first:
            x = torch.empty(1 << 14, device=backend.device)
            keep_busy(backend)
            x.copy_(source)
            del x
        with second:
            others = [torch.zeros(1 << 14, device=backend.device) for _ in range(8)]
            second.synchronize()
        first.synchronize()
        with second:
            assert all(y.eq(0).all() for y in others), "two streams had the same memory"


@check(
    called_by="torch/_inductor/utils.py: ALIGN_BYTES",
    without="vectorized kernels fault, or are slow",
)
def memory_is_aligned(backend: Backend) -> None:
    """What is allocated begins at a multiple of 64 bytes, whatever its size."""
    kept = []
    for size in (1, 2, 3, 17, 64, 65, 100, 511, 513, 4097, 1_000_003):
        x = bytes_of(backend, size)
        kept.append(x)
        assert x.data_ptr() % 64 == 0, f"{size} bytes begin at {x.data_ptr():#x}"


@check(
    called_by="torch/include/ATen/EmptyTensor.h: empty_generic",
    without="empty batches crash a program",
)
def no_bytes_take_no_memory(backend: Backend) -> None:
    """Tensors without elements are on the device, take no memory, and can be computed with."""
    before = allocated(backend)
    kept = [torch.empty(shape, device=backend.device) for shape in ((0,), (0, 3), (2, 0, 5))]
    assert allocated(backend) == before
    for x in kept:
        assert x.device == backend.device and x.data_ptr() == 0
        assert x.untyped_storage().device == backend.device
        y = (x + 1).sum()
        assert y.item() == 0 and y.device == backend.device
        assert torch.equal(x.cpu().to(backend.device), x)
        assert torch.cat([x, x]).numel() == 0


# ---- when it is full


@check(
    called_by="torch/include/c10/util/Exception.h: OutOfMemoryError",
    without="programs that make their batch smaller when memory is short die instead",
)
def too_large_a_request_is_out_of_memory(backend: Backend) -> None:
    """More than the device has is a torch.OutOfMemoryError, a RuntimeError that says "out of
    memory", and the device works on."""
    kept = torch.arange(5, device=backend.device)
    before = allocated(backend)
    for size in (1 << 46, 1 << 50, 1 << 60):
        try:
            bytes_of(backend, size)
        except torch.OutOfMemoryError as error:
            assert "out of memory" in str(error).lower(), error
        else:
            raise AssertionError(f"{size} bytes were given out")
    assert allocated(backend) == before
    assert (kept + 1).tolist() == [1, 2, 3, 4, 5], "the device does not work on"


@check(
    called_by="torch/cuda/memory.py: set_per_process_memory_fraction",
    without="one process of several takes all memory",
)
def the_fraction_is_a_limit(backend: Backend) -> None:
    """A process gets no more than its fraction, is out of memory before it has more, and gets the
    rest when the fraction is raised; what is cached goes back first."""
    limit = backend.need("set_per_process_memory_fraction")
    need_statistics(backend)
    torch.accelerator.empty_cache()
    total = torch.accelerator.get_memory_info(backend.device)[1]
    reserved = torch.accelerator.memory_reserved(backend.device)
    try:
        limit((reserved + 64 * MEBIBYTE) / total, backend.device)
        held = bytes_of(backend, 40 * MEBIBYTE)
        try:
            bytes_of(backend, 50 * MEBIBYTE)
        except torch.OutOfMemoryError:
            pass
        else:
            raise AssertionError("90 MiB were given out, of 64")
        del held
        assert bytes_of(backend, 50 * MEBIBYTE).numel() == 50 * MEBIBYTE, "the cache stays full"
    finally:
        limit(1.0, backend.device)
    assert bytes_of(backend, 100 * MEBIBYTE).numel() == 100 * MEBIBYTE


@check(
    called_by="torch/include/c10/core/CachingDeviceAllocator.h: DeviceStats",
    without="monitors do not see that memory was short",
)
def being_out_of_memory_is_counted(backend: Backend) -> None:
    """num_ooms counts each time that memory ran out."""
    need_statistics(backend)
    before = torch.accelerator.memory_stats(backend.device)["num_ooms"]
    for _ in range(2):
        try:
            bytes_of(backend, 1 << 50)
        except torch.OutOfMemoryError:
            continue
        raise AssertionError("a pebibyte was given out")
    after = torch.accelerator.memory_stats(backend.device)["num_ooms"]
    assert after == before + 2, f"counted {after - before} of 2"


@check(
    called_by="torch/cuda/memory.py: _record_memory_history",
    without="nobody learns who held the memory when it ran out",
    alone=True,
)
def observers_are_told_that_memory_ran_out(backend: Backend) -> None:
    """An observer is called with device, size, total and free memory before the error is raised."""
    attach = backend.need("memory._attach_out_of_memory_observer")
    seen: list[tuple] = []
    attach(lambda *arguments: seen.append(arguments))
    try:
        bytes_of(backend, 1 << 50)
    except torch.OutOfMemoryError:
        assert len(seen) == 1, f"called {len(seen)} times"
    else:
        raise AssertionError("a pebibyte was given out")
    device, requested, total, free = seen[0]
    assert (device, requested) == (backend.device.index, 1 << 50)
    assert 0 < free <= total


@check(
    called_by="torch/cuda/memory.py: MemPool",
    without="a library's tensors cannot be kept apart",
)
def a_pool_keeps_its_memory_apart(backend: Backend) -> None:
    """What is allocated inside use_mem_pool comes from the pool's own memory, and the pool's memory
    serves no other tensor while it lives."""
    make, use = backend.need("MemPool"), backend.need("use_mem_pool")
    torch.accelerator.empty_cache()
    pool = make()
    with use(pool):
        x = bytes_of(backend, MEBIBYTE)
    inside = x.data_ptr()
    del x
    others = [bytes_of(backend, MEBIBYTE) for _ in range(4)]
    assert inside not in [y.data_ptr() for y in others], "the pool's memory serves others"
    with use(pool):
        x = bytes_of(backend, MEBIBYTE)
        assert x.data_ptr() == inside, "the pool's memory does not serve the pool"
    del x, pool, others
    gc.collect()
    torch.accelerator.empty_cache()
