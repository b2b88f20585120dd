"""What the sources beside this file call of the library (module/native.cpp)."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NoReturn

import torch

def check_addressable(device: int) -> None:
    """Raises NotImplementedError, which says what to do, where the CPU cannot address the device's
    memory."""

def variable(name: str) -> str | None:
    """A variable of the environment; None if it is not set or empty, or if the program has other
    rights than its user."""

def default_generators() -> tuple[torch.Generator, ...]:
    """Those that operators use when the caller gives none, one for each device. Starts nothing."""

def device_info(device: int) -> dict[str, Any]:
    """The fields of _DeviceProperties, the UUID as bytes. `device` is not checked."""

def kernels_of(device: int) -> str | None:
    """The device whose kernels compute in this one's memory in place: "cpu", or PyTorch's own for
    the same hardware, "cuda:0". Starts the backend."""

def lend_all(values: list[Any]) -> list[Any]:
    """The same values, with as_cuda() of the tensors whose device has a twin of that type. Empties
    `values`: their caller gives them up, so that memory is free as early as may be."""

def take_all(values: Sequence[Any], which: Sequence[bool]) -> list[Any]:
    """The same values, with from_cuda() of the tensors of CUDA's among those that are meant."""

def may_have_twins() -> bool:
    """Whether this torch has kernels that a device could share, other than the CPU's."""

def seed_default_generators(seed: int) -> None:
    """Seeds those of all devices. Starts nothing."""

def seed_twin(device: int) -> None:
    """Gives PyTorch's own device the seed that the device was given before its start."""

def twin_generator(generator: torch.Generator) -> torch.Generator:
    """The generator of PyTorch's own device that one of ours stands for."""

def qualify_name(cls: type) -> None:
    """Makes "torch.acme.FloatTensor" the name that C sees, which is else "FloatTensor"."""

def raw_stream(device_idx: Any) -> int:
    """The runtime's handle of the current stream, which compiled code passes to kernels."""

def set_sync_debug_mode(mode: int) -> None:
    """0, 1 or 2, as torch.cuda's."""

def runs_portable_kernels(device: int) -> bool:
    """Whether Outback's kernels in the dialect may run on the device. Starts the backend."""

def kernel_target(device: int, caller: str) -> tuple[Any, ...]:
    """The fields of kernels.Target. Raises NotImplementedError, which names `caller`, where the
    runtime launches no kernels."""

class GeneratedKernel:
    """A kernel of torch.compile's on one device, launched on its current stream."""

    def __init__(
        self, device: int, format: int, module: bytes, items: int, name: str, parameters: str
    ) -> None:
        """`parameters` has a letter for each (module/generated_kernel.cpp)."""

    def __call__(self, *arguments: torch.Tensor | float) -> None: ...

def shares_memory(device: Any) -> bool:
    """Whether another process may use the device's memory: the runtime has the group ipc."""

def export_memory(tensor: torch.Tensor) -> bytes:
    """What another process makes the same memory of, the tensor's whole storage: once. b"" for
    memory that cannot be shared. Waits for the device."""

def forbid_resizing(tensor: torch.Tensor) -> None:
    """The tensor's storage keeps its size from now on."""

def import_memory(sent: bytes) -> torch.Tensor:
    """A tensor of bytes over the whole storage that export_memory was called with."""

def memory_in(sent: bytes) -> bytes:
    """What all messages for the same memory have in common."""

def decline_memory(sent: bytes) -> None:
    """For what is not imported, since this process has a storage over the memory already."""

def supports(dtype: torch.dtype) -> bool:
    """Whether the device can have tensors of this dtype. Raises TypeError for what is no dtype."""

def supports_all() -> bool:
    """Whether there is no dtype that the device cannot have."""

# ---- The race finder

def look_for_races(on: bool) -> None:
    """Begins with nothing known, or ends."""

def race_begin(device: int) -> tuple[int, int]:
    """Of an operator that is about to be enqueued on the current stream: its number, and another
    number that the next functions want."""

# Of each earlier operator that nothing orders: its number, whether it wrote, its stream.
_Races = list[tuple[int, bool, torch.Stream]]

def race_access(now: tuple[int, int], tensor: torch.Tensor, writes: bool) -> _Races: ...
def race_withdraw(now: tuple[int, int]) -> None:
    """The operator does not run after all."""

def race_access_by_host(tensor: torch.Tensor, writes: bool) -> _Races: ...
def race_freed() -> _Races:
    """Those that used memory that was freed meanwhile. Each once."""

def race_order(first: int, second: int) -> None:
    """The second device's current stream waits for the first one's."""

def race_host_wait(device: int) -> None:
    """The host has waited for the device's current stream."""

def race_remembered() -> set[int]:
    """The numbers that later answers may have."""

def also_written(operator: str) -> list[str]:
    """The arguments that the operator writes though its schema does not say so (the table in
    ops/operator_table.cpp). Other members of the list are empty."""

# ---- Graphs

class Graph:
    """torch.<name>.CUDAGraph but for what graphs.py adds."""

    def __init__(self, keep_graph: bool = False) -> None: ...
    def _begin(self, pool: tuple[int, int]) -> None: ...
    def _abandon_capture(self) -> None:
        """Ends an open capture without a graph and without an error of its own."""

    def capture_end(self) -> None: ...
    def replay(self) -> None: ...

def refuse_graph_description() -> NoReturn: ...
def new_pool_id() -> tuple[int, int]: ...

# ---- Memory

class MemPool:
    """A memory pool on a device, as long as it lives."""

    def __init__(self, device: int, use_on_oom: bool, no_split: bool) -> None: ...
    @property
    def id(self) -> tuple[int, int]: ...

def begin_allocate_to_pool(device: int, pool: tuple[int, int]) -> None:
    """Lets this thread's allocations on the device come from the pool."""

def end_allocate_to_pool(device: int, pool: tuple[int, int]) -> None:
    """Raises RuntimeError unless the pool is the one that began last."""

def enable_caching(on: bool) -> None: ...
def is_caching_enabled() -> bool: ...
def memory_fraction(device: int) -> float: ...
def set_memory_fraction(device: int, fraction: float) -> None:
    """Raises ValueError unless it is between 0 and 1."""

def newer_stats(device: int) -> dict[str, Any]:
    """Counters that torch._C._accelerator_getDeviceStats leaves out."""

def record_history(
    enabled: bool,
    with_cpp: bool,
    contexts: int,
    most_entries: int,
    clear: bool,
    skipped_actions: Sequence[str],
) -> None:
    """As core/memory/allocator/history.h describes its settings; stacks of Python, and of C++ too
    where wanted. Raises RuntimeError for an action that torch does not know."""

def take_snapshot(pool: tuple[int, int], with_traces: bool) -> dict[str, Any]:
    """What the allocator holds, in one pool or, for (0, 0), in all, and what was recorded of it, as
    the dict of torch.cuda's."""

# ---- The operator report, as ops/report/ describes it

def begin_recording(with_formulas: Sequence[str], with_places: bool) -> None:
    """Records the operators of all threads. May be nested."""

def end_recording() -> None: ...
def logged_operators() -> list[tuple[Any, ...]]:
    """(key, counts, arguments, results) of each row, in the order of _outback/operators.py. The
    last two are for formulas of FLOPs, and None for operators that have none."""

def noted_outside_operators() -> tuple[int, ...]:
    """The counts of bytes, copies and waits outside of operators since the process began."""

def wanted_report() -> str | None:
    """The file that OUTBACK_OPERATORS names."""

def are_places_wanted() -> bool: ...
def providers(name_space: str) -> list[tuple[str, str, str]]:
    """Name, overload and who would serve it, of each operator of a namespace."""

def begin_ranges(operators: bool) -> None: ...
def end_ranges(operators: bool) -> None: ...

# ---- distributed/bindings.cpp

def make_process_group(transport: Any, is_nccl: bool, name: str, timeout: timedelta) -> Any:
    """The group of the device over `transport`: NCCL's, for a device with a twin, or Gloo's."""

def wanted_transport() -> str | None:
    """The value of OUTBACK_TRANSPORT, "gloo" or "nccl", or None. Raises ValueError for another."""

def leave_groups(seconds: float) -> None:
    """At the end of the process: waits that long for the operations of groups, which are left alone
    then."""
