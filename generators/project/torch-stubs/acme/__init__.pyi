# Made by ./dev docs from the module itself: what type checkers see of torch.acme.
import collections.abc
import contextlib
import typing
import typing_extensions
import uuid

import torch
from . import amp as amp, graphs as graphs, memory as memory, random as random, streams as streams

_Device: typing.TypeAlias = torch.device | str | int | None

__all__ = [
    "ACMEGraph",
    "BFloat16Storage",
    "BFloat16Tensor",
    "BoolStorage",
    "BoolTensor",
    "ByteStorage",
    "ByteTensor",
    "CUDAGraph",
    "CharStorage",
    "CharTensor",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "DeferredCallError",
    "DoubleStorage",
    "DoubleTensor",
    "Event",
    "ExternalStream",
    "FloatStorage",
    "FloatTensor",
    "HalfStorage",
    "HalfTensor",
    "IntStorage",
    "IntTensor",
    "Kernel",
    "LongStorage",
    "LongTensor",
    "MemPool",
    "OperatorCalls",
    "OperatorRecord",
    "ShortStorage",
    "ShortTensor",
    "Stream",
    "StreamContext",
    "amp",
    "as_cuda",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "caching_allocator_disabled",
    "caching_allocator_enable",
    "can_device_access_peer",
    "change_current_allocator",
    "clock_rate",
    "compile_kernel",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_memory_used",
    "device_of",
    "emit_ranges",
    "empty_cache",
    "fallback_stats",
    "from_cuda",
    "get_allocator_backend",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_fallback_mode",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "graph",
    "graph_pool_handle",
    "graphs",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "list_gpu_processes",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "memory_usage",
    "power_draw",
    "random",
    "record_operators",
    "register_kernel_compiler",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_fallback_mode",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "set_sync_debug_mode",
    "stream",
    "streams",
    "synchronize",
    "temperature",
    "use_mem_pool",
    "utilization",
]

class ACMEGraph:
    """Work that was captured on a stream, to be replayed as one piece.

    Args:
        keep_graph: leaves `instantiate()` to you, or to the first `replay()`.

    What is allocated during the capture comes out of a pool that serves nobody else, and stays
    where it is until `reset()`: replays read and write the same memory. Prefer the context manager
    `graph`. Where the device shares its streams with PyTorch's own CUDA device, this makes a
    torch.cuda.CUDAGraph.
    """
    def __init__(self, keep_graph: bool = ...) -> None: ...
    def capture_end(self) -> None:
        """Ends the capture, on the thread and the stream of its begin. Raises what broke it."""
    def instantiate(self) -> None:
        """Makes the graph ready for replays, which may take long. Once."""
    def replay(self) -> None:
        """Puts the captured work on the current stream, with new random numbers."""
    def reset(self) -> None:
        """Lets go of the graph and of its memory. It may capture again."""
    def pool(self) -> tuple[int, int]:
        """The id of the graph's memory pool, for other graphs to share."""
    def capture_begin(
        self,
        pool: typing.Any = ...,
        capture_error_mode: str = ...,
        check_input_liveness: bool = ...,
    ) -> None:
        """Captures what this thread puts on its current stream from now on.

        Args:
            pool: shares the memory of other graphs: what `graph_pool_handle()` or their `pool()`
                answered.
            capture_error_mode: "global", "thread_local" or "relaxed". Other threads may do as they
                like in all of them.
        """
    def register_generator_state(self, generator: torch.Generator) -> None:
        """For torch.cuda's sake: generators join a capture when their numbers are drawn."""
    def enable_debug_mode(self) -> None:
        """Raises NotImplementedError: a runtime cannot describe a graph."""
    def debug_dump(self, debug_path: str) -> None:
        """Raises NotImplementedError: a runtime cannot describe a graph."""

AcceleratorError = torch.AcceleratorError

class BFloat16Storage(torch.storage._LegacyStorage): ...

class BFloat16Tensor(torch.Tensor): ...

class BoolStorage(torch.storage._LegacyStorage): ...

class BoolTensor(torch.Tensor): ...

class ByteStorage(torch.storage._LegacyStorage): ...

class ByteTensor(torch.Tensor): ...

CUDAGraph = ACMEGraph

class CharStorage(torch.storage._LegacyStorage): ...

class CharTensor(torch.Tensor): ...

class ComplexDoubleStorage(torch.storage._LegacyStorage): ...

class ComplexFloatStorage(torch.storage._LegacyStorage): ...

class DeferredCallError(Exception):
    """A call that was queued until the backend's start has failed; the text shows where it was
    queued.
    """

class DoubleStorage(torch.storage._LegacyStorage): ...

class DoubleTensor(torch.Tensor): ...

class Event(torch.Event):
    """A point in a stream's work that can be waited for.

    Args:
        enable_timing (bool): whether elapsed_time() can be asked
        blocking (bool): a hint that synchronize() should sleep, not spin
        interprocess (bool): whether ipc_handle() can be asked; excludes enable_timing
        external (bool): not supported
    """
    def __new__(
        cls,
        enable_timing: bool = ...,
        blocking: bool = ...,
        interprocess: bool = ...,
        external: typing.Any = ...,
    ) -> typing_extensions.Self: ...
    @property
    def native_handle(self) -> int: ...

class ExternalStream(Stream):
    """A Stream for a stream of the driver's that somebody else made, and keeps alive.

    Args:
        stream_ptr (int): the driver's handle
        device (int, str or torch.device, optional): where it was made; the current device if None
    """
    def __new__(cls, stream_ptr: typing.Any, device: _Device = ...) -> typing_extensions.Self: ...

class FloatStorage(torch.storage._LegacyStorage): ...

class FloatTensor(torch.Tensor): ...

class HalfStorage(torch.storage._LegacyStorage): ...

class HalfTensor(torch.Tensor): ...

class IntStorage(torch.storage._LegacyStorage): ...

class IntTensor(torch.Tensor): ...

class Kernel:
    """A kernel on one device, made by `compile_kernel`. It keeps its code loaded."""
    def __call__(
        self,
        groups: int | collections.abc.Sequence[int],
        items: int | collections.abc.Sequence[int],
        arguments: collections.abc.Sequence,
        local_memory: int = ...,
        stream: torch.Stream | None = ...,
    ) -> None:
        """Enqueues the kernel on `stream`, or on this thread's current stream, and returns.
        `groups` and `items` are the number of groups, and of items in each group, in one to three
        dimensions. `arguments` are tensors, which become pointers to their first element, and
        numbers: an int has 32 bits, a float has 32 bits, and a number of ctypes, of NumPy or a CPU
        tensor without dimensions has its own type. `local_memory` is in bytes for each group.
        Tensors must not be freed for other streams before the work is done: see record_stream.
        """
    @property
    def name(self) -> str: ...
    @property
    def device(self) -> torch.device: ...
    @property
    def argument_count(self) -> int | None: ...
    @property
    def max_items(self) -> int: ...
    @property
    def items(self) -> int: ...

class LongStorage(torch.storage._LegacyStorage): ...

class LongTensor(torch.Tensor): ...

class MemPool:
    """Memory that serves only what is allocated under use_mem_pool.

    Args:
        allocator: None.
        use_on_oom: others may have its memory before memory runs out.
        no_split: a segment serves one allocation.

    Where the device shares its memory with PyTorch's own CUDA device, this makes a
    torch.cuda.MemPool.
    """
    def __init__(
        self,
        allocator: None = ...,
        use_on_oom: bool = ...,
        no_split: bool = ...,
    ) -> None: ...
    @property
    def id(self) -> tuple[int, int]: ...
    @property
    def device(self) -> int: ...
    def use_count(self) -> int:
        """How many hold the pool: this object, and contexts."""
    def snapshot(self, include_traces: bool = ...) -> list[dict[str, typing.Any]]:
        """The pool's segments, as memory_snapshot lists them."""

class OperatorCalls:
    """All calls of one operator with one dtype, from one place, that the same one served."""
    @property
    def operator(self) -> str: ...
    @property
    def overload(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def served(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def calls(self) -> int: ...
    @property
    def own_ns(self) -> int: ...
    @property
    def total_ns(self) -> int: ...
    @property
    def tensor_bytes(self) -> int: ...
    @property
    def bytes_to_host(self) -> int: ...
    @property
    def bytes_to_device(self) -> int: ...
    @property
    def bytes_on_devices(self) -> int: ...
    @property
    def copies(self) -> int: ...
    @property
    def waits(self) -> int: ...
    @property
    def waited_ns(self) -> int: ...
    @property
    def flops(self) -> int | None: ...
    def __init__(
        self,
        operator: str,
        overload: str,
        dtype: torch.dtype | None,
        served: str,
        place: str,
        calls: int = ...,
        own_ns: int = ...,
        total_ns: int = ...,
        tensor_bytes: int = ...,
        bytes_to_host: int = ...,
        bytes_to_device: int = ...,
        bytes_on_devices: int = ...,
        copies: int = ...,
        waits: int = ...,
        waited_ns: int = ...,
        flops: int | None = ...,
    ) -> None: ...
    @property
    def name(self) -> int: ...

class OperatorRecord:
    """What `record_operators` gives. It is filled when the block ends."""
    @property
    def operators(self) -> list[torch.acme.OperatorCalls]: ...
    @property
    def outside(self) -> dict[str, int]: ...
    @property
    def seconds(self) -> float: ...
    def __init__(
        self,
        operators: list[torch.acme.OperatorCalls] = ...,
        outside: dict[str, int] = ...,
        seconds: float = ...,
    ) -> None: ...
    def document(self) -> dict[str, typing.Any]:
        """All of it for JSON, with a number in "schema". RuntimeError until the block has ended.
        """
    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the document, which `outback ops --read` shows: whole or not at all. A link of
        another user's is not followed.
        """

OutOfMemoryError = torch.OutOfMemoryError

class ShortStorage(torch.storage._LegacyStorage): ...

class ShortTensor(torch.Tensor): ...

class Stream(torch.Stream):
    """A queue of work: what is enqueued runs in that order, independently of other streams.

    Args:
        device (int, str or torch.device, optional): the current device if None
        priority (int): lower is more urgent; clamped to what the device has
    """
    def __new__(cls, device: _Device = ..., priority: int = ...) -> typing_extensions.Self: ...
    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The least and the greatest priority; the greatest is the lower number."""
    @property
    def priority(self) -> int: ...

class StreamContext:
    """Context manager: the stream, and its device, are this thread's inside it. None changes
    nothing.
    """
    def __init__(self, stream: torch.Stream | None) -> None: ...
    @property
    def stream(self) -> torch.Stream | None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: typing.Any) -> bool: ...

class _DeviceProperties:
    """The fields of torch.cuda's object that every device may have. A copy of what the device said,
    so that it can be used in a forked child, where torch.compile's workers run and where the device
    may not be asked.
    """
    @property
    def name(self) -> str: ...
    @property
    def total_memory(self) -> int: ...
    @property
    def max_allocation(self) -> int: ...
    @property
    def multi_processor_count(self) -> int: ...
    @property
    def major(self) -> int: ...
    @property
    def minor(self) -> int: ...
    @property
    def warp_size(self) -> int | None: ...
    @property
    def max_threads_per_block(self) -> int | None: ...
    @property
    def is_integrated(self) -> bool: ...
    @property
    def is_host_addressable(self) -> bool: ...
    @property
    def kernels(self) -> str | None: ...
    @property
    def pci_id(self) -> str: ...
    def __init__(self, fields: dict[str, typing.Any]) -> None: ...
    @property
    def uuid(self) -> uuid.UUID | None: ...

def _lazy_call(
    callable: collections.abc.Callable[[], typing.Any],
    **kwargs: typing.Any,
) -> None:
    """Calls it now if the backend is started, else at its start."""

def _lazy_init() -> None: ...

def _sleep(cycles: int) -> None:
    """Keeps the current stream busy for so many nanoseconds; other streams go on, unless they run
    host callbacks too.
    """

def as_cuda(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as a tensor of torch.cuda's: what is written to one in place is seen in both.
    For devices on which torch.cuda's kernels run. Tensors that require a gradient are refused
    outside of a torch.autograd.Function. The storage of the result cannot be resized.
    """

def caching_allocator_alloc(
    size: int,
    device: _Device = ...,
    stream: torch.Stream | None = ...,
) -> int:
    """The address of `size` bytes of the device's memory for use on `stream`, a Stream or a native
    handle; None: the current one. To be given to caching_allocator_delete.
    """

def caching_allocator_delete(mem_ptr: int) -> None:
    """Frees what caching_allocator_alloc answered."""

class caching_allocator_disabled(contextlib.ContextDecorator):
    """Context manager and decorator: freed memory is not cached inside it.

    Process-wide, as in torch.cuda: other threads do not cache either.
    """
    def __init__(self) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: typing.Any) -> typing.Literal[False]: ...

def caching_allocator_enable(value: bool = ...) -> None:
    """Turns the caching of freed memory on or off; nothing before the backend has started."""

def can_device_access_peer(device: _Device, peer_device: _Device) -> bool:
    """Whether kernels of `device` can use memory of `peer_device` directly. Copies between devices
    do not need it.
    """

def change_current_allocator(allocator: typing.Any) -> typing.NoReturn:
    """Not supported: the memory comes from the device's runtime."""

def clock_rate(device: _Device = ...) -> int:
    """The device's clock in megahertz."""

def compile_kernel(
    source: str | bytes,
    name: typing.Any,
    *,
    language: str | int | None = ...,
    items: int | collections.abc.Sequence[int] = ...,
    device: _Device = ...,
) -> typing.Any:
    """Compiles `source`, a text or bytes in a language of the device's driver, and returns its
    kernel `name`, or for several names a tuple. `language` is one of host, spirv, ptx, cubin, hsaco
    and opencl_c, or the number of a vendor's own format; by default the device's first one for
    text, or for bytes. "dialect" is Outback's own language, outback/dialect.h, for every device;
    its groups have `items` items, by default 256 or the device's most. An error has the compiler's
    words.
    """

def current_device() -> int:
    """The index of this thread's device."""

def current_stream(device: _Device = ...) -> Stream:
    """This thread's stream on the device."""

default_generators: tuple[torch.Generator, ...]

def default_stream(device: _Device = ...) -> Stream:
    """The device's default stream."""

class device:
    """Context manager: the device is this thread's inside it. A negative index changes nothing."""
    def __init__(self, device: _Device) -> None: ...
    @property
    def idx(self) -> int: ...
    @property
    def prev_idx(self) -> int: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: typing.Any) -> bool: ...

def device_count() -> int:
    """The number of devices. Starts nothing: safe before a fork."""

def device_memory_used(device: _Device = ...) -> int:
    """Bytes of the device's memory that are in use, other processes included."""

class device_of(device):
    """Context manager: the device of a tensor or storage is this thread's inside it. Changes
    nothing for one that is elsewhere.
    """
    def __init__(self, obj: torch.Tensor | torch.UntypedStorage | torch.TypedStorage) -> None: ...

class emit_ranges:
    """Opens a range of the driver's tools, such as NVTX's for Nsight, for each range of
    torch.profiler.record_function that begins in the `with` block, on any thread. It is what
    torch.autograd.profiler.emit_nvtx is for CUDA.

    A profile with ProfilerActivity.PrivateUse1 does so by itself. Raises NotImplementedError if the
    runtime has no group `ranges`.

    Args:
        enabled: False makes the block do nothing.
        operators: also opens a range for each operator.
    """
    def __init__(self, enabled: bool = ..., *, operators: bool = ...) -> None: ...
    def __enter__(self) -> 'emit_ranges': ...
    def __exit__(self, *_: object) -> None: ...

def empty_cache() -> None:
    """Gives cached memory that no tensor uses back."""

def fallback_stats() -> dict[str, dict[str, int]]:
    """Which operators have run on the CPU over copies of their tensors since the process began.

    Of each, "calls", "bytes_to_host" and "bytes_to_device". Empty where the CPU, or the device's
    twin, reaches the device's memory. It is always counted.
    """

def from_cuda(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as a tensor of this backend's, as as_cuda does it the other way. The storage
    of `tensor` cannot be resized from then on.
    """

def get_allocator_backend() -> str:
    """"native": the caching allocator, the only one there is."""

def get_amp_supported_dtype() -> list[torch.dtype]:
    """The dtypes that torch.autocast may cast to on this device."""

def get_device_capability(device: _Device = ...) -> tuple[int, int]:
    """The device's capability as (major, minor)."""

def get_device_name(device: _Device = ...) -> str:
    """The device's name."""

def get_device_properties(device: _Device = ...) -> _DeviceProperties:
    """What the device says of itself."""

def get_fallback_mode() -> str:
    """The mode that `set_fallback_mode` sets: "allow", "warn" or "error"."""

def get_per_process_memory_fraction(device: _Device = ...) -> float:
    """The part of the device's memory that this process may use, from 0 to 1."""

def get_rng_state(device: _Device = ...) -> torch.Tensor:
    """The state of a device's generator: 16 bytes on the CPU."""

def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices' generators."""

def get_stream_from_external(data_ptr: int, device: _Device = ...) -> Stream:
    """A Stream for a stream of the driver's that somebody else made, and keeps alive."""

def get_sync_debug_mode() -> int:
    """The mode that `set_sync_debug_mode` set: 0, 1 or 2."""

class graph:
    """Context manager: what is put on the stream inside it goes into a graph.

    Args:
        cuda_graph: the graph that captures.
        pool: shares the memory of other graphs: what `graph_pool_handle()` or their `pool()`
            answered.
        stream: current inside it; not a default one. None: a stream of its own.
        capture_error_mode: as for the graph's `capture_begin`.

    It waits for the device first, and gives cached memory back. What the body raises ends the
    capture without a graph.
    """
    def __init__(
        self,
        cuda_graph: ACMEGraph,
        pool: typing.Any = ...,
        stream: torch.Stream | None = ...,
        capture_error_mode: str = ...,
        enable_annotations: bool = ...,
        check_input_liveness: bool = ...,
    ) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: typing.Any) -> typing.Literal[False]: ...

def graph_pool_handle() -> tuple[int, int]:
    """A pool that graphs may share, for their `capture_begin` or for `graph`."""

def host_memory_stats() -> dict[str, typing.Any]:
    """What the pinned allocator counts, in blocks, bytes and microseconds, under
    torch.cuda.host_memory_stats's keys. Empty before the first use of the backend.
    """

def host_memory_stats_as_nested_dict() -> dict:
    """The same as host_memory_stats, one dict a counter."""

def init() -> None:
    """Starts the backend, which happens by itself at the first use."""

def initial_seed() -> int:
    """The current device's seed."""

def ipc_collect() -> None:
    """Frees memory that was shared with other processes and that they let go of."""

def is_available() -> bool:
    """Whether there is a device to use. Never raises, starts nothing."""

def is_bf16_supported(including_emulation: bool = ...) -> bool:
    """Whether bfloat16 can be used: natively, or at all."""

def is_current_stream_capturing() -> bool:
    """Whether the current stream's work goes into a graph instead of being run."""

def is_initialized() -> bool:
    """Whether the backend has been started."""

def list_gpu_processes(device: _Device = ...) -> str:
    """The processes that use the device and the memory of each, as text."""

def make_graphed_callables(
    callables: typing.Any,
    sample_args: tuple[typing.Any, ...],
    num_warmup_iters: int = ...,
    allow_unused_input: bool = ...,
    pool: typing.Any = ...,
    capture_error_mode: str = ...,
    enable_annotations: bool = ...,
) -> typing.Any:
    """Functions and modules whose forward and backward passes are replays of graphs.

    Args:
        callables: a function or torch.nn.Module, or a tuple of them in the order in which they run.
        sample_args: a tuple of tensors, or one for each callable; later calls take tensors like
            them.
        num_warmup_iters: how often each runs before its capture.
        allow_unused_input: inputs that the outputs do not depend on are no error.
        pool: shares the memory of other graphs.
        capture_error_mode: as for the graph's `capture_begin`.

    Returns the callables, modules changed in place. A module goes on as before in the other mode
    (training, evaluation) than it was captured in. There are no second derivatives.
    """

def manual_seed(seed: int) -> None:
    """Seeds the current device's generator. Ignored without a device."""

def manual_seed_all(seed: int) -> None:
    """Seeds all devices' generators, also of devices that come up later."""

def max_memory_allocated(device: _Device = ...) -> int:
    """The most bytes that tensors held since the peak was reset."""

def max_memory_cached(device: _Device = ...) -> int:
    """Deprecated: max_memory_reserved."""

def max_memory_reserved(device: _Device = ...) -> int:
    """The most bytes that the allocator held since the peak was reset."""

def mem_get_info(device: _Device = ...) -> tuple[int, int]:
    """Free and total bytes of the device, other processes included."""

def memory_allocated(device: _Device = ...) -> int:
    """Bytes that tensors hold now."""

def memory_cached(device: _Device = ...) -> int:
    """Deprecated: memory_reserved."""

def memory_reserved(device: _Device = ...) -> int:
    """Bytes that the allocator holds now, the cached ones included."""

def memory_snapshot(
    mempool_id: tuple[int, int] | None = ...,
    include_traces: bool = ...,
) -> list[dict[str, typing.Any]]:
    """The allocator's segments on all devices, a list of dicts with their blocks; of one pool where
    `mempool_id` names it.
    """

def memory_stats(device: _Device = ...) -> dict[str, typing.Any]:
    """All of the allocator's counters, under torch.cuda.memory_stats's keys, sorted. Empty before
    the first allocation.
    """

def memory_stats_as_nested_dict(device: _Device = ...) -> dict[str, typing.Any]:
    """The counters of memory_stats as dicts of dicts. Empty before the first allocation."""

def memory_summary(device: _Device = ..., abbreviated: bool = ...) -> str:
    """The counters of memory_stats as a table for people; `abbreviated`: without the two pools.
    """

def memory_usage(device: _Device = ...) -> int:
    """Percent of the last moment in which the device's memory was read or written."""

def power_draw(device: _Device = ...) -> int:
    """The power that the device draws, in milliwatts."""

class record_operators:
    """Records the operators of all threads in a `with` block, and gives an OperatorRecord.

    Args:
        with_stack: also says from which line of Python each was called, but for those of a backward
            pass that runs in a thread of autograd's.
    """
    def __init__(self, with_stack: bool = ...) -> None: ...
    def __enter__(self) -> OperatorRecord: ...
    def __exit__(self, *_: object) -> None: ...

def register_kernel_compiler(
    number: int,
    compile: collections.abc.Callable[[str, str], bytes] | collections.abc.Sequence[str],
    *,
    words: str,
    version: str,
) -> None:
    """Lets `compile_kernel` and torch.compile compile the dialect for a format of the vendor's own,
    1000 or more.

    `words` is the text of the header with the dialect's words in the vendor's language. Above it
    stand LSIZE, and HAS_F64, HAS_F16 and HAS_I64_ATOMICS if the device has these. `compile` is

    - a function: `compile(text, target)` returns the module's bytes, and raises an exception with
      the compiler's words if it refuses the text. Several threads may call it at once; or
    - a command, such as ["acmecc", "-O2", "{source}", "-o", "{made}"]: a program and its arguments,
      of which "{source}" becomes the file with the text, "{made}" the file that the program
      writes, and "{target}" the driver's name for the device. If the program ends with another
      status than 0, the error has what it has printed.

    `version` names the compiler: for another one, kernels are compiled again. A second call for a
    format replaces the first.
    """

def reset_accumulated_host_memory_stats() -> None:
    """Sets what the pinned allocator ever allocated and freed to zero."""

def reset_accumulated_memory_stats(device: _Device = ...) -> None:
    """Sets the counters of what was ever allocated and freed to zero."""

def reset_max_memory_allocated(device: _Device = ...) -> None:
    """Deprecated: reset_peak_memory_stats, which resets all peaks."""

def reset_max_memory_cached(device: _Device = ...) -> None:
    """Deprecated: reset_peak_memory_stats, which resets all peaks."""

def reset_peak_host_memory_stats() -> None:
    """Sets the peaks of the pinned allocator's counters to the current values."""

def reset_peak_memory_stats(device: _Device = ...) -> None:
    """Sets the peaks to the current values."""

def seed() -> None:
    """Gives the current device's generator a random seed."""

def seed_all() -> None:
    """Gives all devices' generators one random seed."""

def set_device(device: _Device) -> None:
    """Makes `device` this thread's; a negative index changes nothing. Prefer the context manager
    `device`.
    """

def set_fallback_mode(mode: str) -> None:
    """What to do with operators that have no kernel for this device, if the CPU cannot address its
    memory.

    Args:
        mode: "allow" runs them on the CPU, over copies of their tensors; "warn" says so once an
            operator; "error" raises NotImplementedError. The environment's OUTBACK_FALLBACK sets the
            first mode.
    """

def set_per_process_memory_fraction(fraction: float, device: _Device = ...) -> None:
    """Limits this process to a part of the device's memory, from 0 to 1. Beyond it, allocating
    raises torch.OutOfMemoryError.
    """

def set_rng_state(new_state: torch.Tensor, device: _Device = ...) -> None:
    """Sets the state of a device's generator."""

def set_rng_state_all(new_states: collections.abc.Iterable[torch.Tensor]) -> None:
    """Sets the states of all devices' generators."""

def set_stream(stream: torch.Stream | None) -> None:
    """Makes the stream, and its device, this thread's; None changes nothing. Prefer the context
    manager `stream`.
    """

def set_sync_debug_mode(debug_mode: int | str) -> None:
    """What calls do that make the host wait for a stream: `item()`, copies that block,
    `Stream.synchronize()`.

    Args:
        debug_mode: "default" or 0 lets them be, "warn" or 1 warns, "error" or 2 raises
            RuntimeError. Holds for all threads. `synchronize()` of a device and of an event are
            asked for by name and never reported.
    """

def stream(stream: torch.Stream | None) -> StreamContext:
    """The context manager StreamContext(stream)."""

def synchronize(device: _Device = ...) -> None:
    """Waits until all work on the device's streams is done."""

def temperature(device: _Device = ...) -> int:
    """The device's temperature in degrees Celsius."""

class use_mem_pool(contextlib.ContextDecorator):
    """Context manager and decorator: what this thread allocates on the device comes out of the
    pool.
    """
    def __init__(self, pool: MemPool, device: _Device = ...) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: typing.Any) -> typing.Literal[False]: ...

def utilization(device: _Device = ...) -> int:
    """Percent of the last moment in which work ran on the device."""
