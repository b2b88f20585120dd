"""The names of a device module, torch.<name>: who looks for each, and what breaks without it.

"required" is what PyTorch itself calls with nothing to fall back on, "recommended" what its
optional parts call, or what programs for any device do, and "full" is the rest of torch.cuda that
other devices offer too.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Name:
    """One name: `kind` is "function", "class", "bool", "value" or "module"."""

    name: str
    kind: str
    tier: str
    called_by: str
    without: str


PORTED = "programs ported from torch.cuda raise AttributeError"


def _names(tier: str, rows: list[tuple[str, str, str, str]]) -> list[Name]:
    return [Name(name, kind, tier, called_by, without) for name, kind, called_by, without in rows]


REQUIRED = _names(
    "required",
    [
        (
            "is_available",
            "function",
            "torch/accelerator/__init__.py: is_available",
            "torch.accelerator raises, and torch.load refuses the device",
        ),
        (
            "device_count",
            "function",
            "torch/accelerator/__init__.py: device_count",
            "torch.accelerator, torchrun and DeviceMesh do not know how many devices there are",
        ),
        (
            "current_device",
            "function",
            "torch/_utils.py: _get_current_device_index",
            "FSDP and fake tensors cannot tell which device a tensor without an index is on",
        ),
        (
            "set_device",
            "function",
            "torch/distributed/device_mesh.py: DeviceMesh",
            "every process of a DeviceMesh stays on device 0",
        ),
        (
            "device",
            "class",
            "torch/_utils.py: _to",
            "torch.load to the device raises AttributeError",
        ),
        (
            "is_initialized",
            "function",
            "torch/distributed/device_mesh.py: DeviceMesh",
            "fake tensors, so torch.compile and export, raise AttributeError",
        ),
        (
            "_initialized",
            "bool",
            "torch/utils/checkpoint.py: checkpoint",
            "checkpointing does not replay the device's random numbers: dropout's gradients are"
            " wrong",
        ),
        (
            "_is_in_bad_fork",
            "function",
            "torch/random.py: _seed_custom_device",
            "torch.manual_seed warns and leaves the device unseeded",
        ),
        (
            "manual_seed_all",
            "function",
            "torch/random.py: _seed_custom_device",
            "torch.manual_seed warns and leaves the device unseeded",
        ),
        (
            "get_rng_state",
            "function",
            "torch/random.py: fork_rng",
            "fork_rng, checkpointing and DTensor's random operators raise",
        ),
        (
            "set_rng_state",
            "function",
            "torch/random.py: fork_rng",
            "fork_rng, checkpointing and DTensor's random operators raise",
        ),
        (
            "get_amp_supported_dtype",
            "function",
            "torch/amp/autocast_mode.py: autocast.__init__",
            "torch.autocast raises for the device",
        ),
        (
            "synchronize",
            "function",
            "torch/autograd/profiler.py: profile.__exit__",
            "traces end before the device does, and FSDP raises",
        ),
        (
            "current_stream",
            "function",
            "torch/distributed/fsdp/_runtime_utils.py: _init_streams",
            "FSDP and distributed checkpoints raise",
        ),
        (
            "stream",
            "function",
            "torch/distributed/fsdp/_runtime_utils.py: _unshard",
            "FSDP and distributed checkpoints raise",
        ),
        (
            "Stream",
            "class",
            "torch/distributed/fsdp/_runtime_utils.py: _init_streams",
            "FSDP raises before the first step",
        ),
        (
            "Event",
            "class",
            "torch/distributed/fsdp/_runtime_utils.py: _reshard",
            "FSDP raises in the first step",
        ),
    ],
)

RECOMMENDED = _names(
    "recommended",
    [
        (
            "_lazy_init",
            "function",
            "torch/include/torch/csrc/utils/device_lazy_init.h: device_lazy_init",
            "the device is started by an import, or not at all",
        ),
        ("init", "function", "", "programs cannot start the device when they want to"),
        ("manual_seed", "function", "", "a program cannot seed the current device alone"),
        ("seed", "function", "", PORTED),
        ("seed_all", "function", "", PORTED),
        ("initial_seed", "function", "", "a program cannot write down the seed of a run"),
        (
            "get_rng_state_all",
            "function",
            "",
            "a checkpoint has the random numbers of one device of several",
        ),
        ("set_rng_state_all", "function", "", "a checkpoint cannot be continued on several"),
        (
            "default_generators",
            "value",
            "torch/_prims/rng_prims.py: register_graphsafe_run_with_rng_state_op",
            "compiled code cannot recompute random operators",
        ),
        (
            "_get_generator",
            "function",
            "torch/_functorch/_aot_autograd/utils.py: get_default_generator",
            "compiled code cannot recompute random operators",
        ),
        ("set_stream", "function", "", PORTED),
        ("default_stream", "function", "", PORTED),
        ("StreamContext", "class", "", PORTED),
        (
            "memory_allocated",
            "function",
            "torch/distributed/_tools/memory_tracker.py: MemoryTracker",
            "PyTorch's memory tracker raises",
        ),
        (
            "memory_reserved",
            "function",
            "torch/distributed/_tools/memory_tracker.py: MemoryTracker",
            "PyTorch's memory tracker raises",
        ),
        (
            "memory_stats",
            "function",
            "torch/distributed/_tools/memory_tracker.py: MemoryTracker.stop",
            "PyTorch's memory tracker raises",
        ),
        (
            "empty_cache",
            "function",
            "torch/distributed/_tools/memory_tracker.py: MemoryTracker.start_monitor",
            "PyTorch's memory tracker raises",
        ),
        ("max_memory_allocated", "function", "", "training scripts cannot log their peak"),
        ("max_memory_reserved", "function", "", "training scripts cannot log their peak"),
        ("reset_peak_memory_stats", "function", "", "a peak is of the whole run"),
        ("reset_accumulated_memory_stats", "function", "", PORTED),
        ("mem_get_info", "function", "", "programs that fit their batch to memory cannot"),
        (
            "memory_summary",
            "function",
            "torch/distributed/fsdp/_optim_utils.py: _allgather_orig_param_states",
            "FSDP's debug log of an optimizer's state raises",
        ),
        (
            "get_device_properties",
            "function",
            "torch/_utils.py: _get_devices_properties",
            "programs cannot ask for the device's memory or processors",
        ),
        ("get_device_name", "function", "", "logs do not say what they ran on"),
        ("get_device_capability", "function", "", PORTED),
        ("is_bf16_supported", "function", "", "training scripts choose float16 or float32"),
        ("device_of", "class", "", "operators of other packages run on the wrong device"),
    ],
)

FULL = _names(
    "full",
    [
        ("memory", "module", "", PORTED),
        ("random", "module", "", PORTED),
        ("streams", "module", "", PORTED),
        ("amp", "module", "", PORTED),
        ("graphs", "module", "", PORTED),
        ("memory_stats_as_nested_dict", "function", "", PORTED),
        ("memory_snapshot", "function", "", "fragmentation cannot be looked at"),
        ("reset_max_memory_allocated", "function", "", PORTED),
        ("reset_max_memory_cached", "function", "", PORTED),
        ("memory_cached", "function", "", PORTED),
        ("max_memory_cached", "function", "", PORTED),
        ("host_memory_stats", "function", "", "pinned memory cannot be accounted for"),
        ("host_memory_stats_as_nested_dict", "function", "", PORTED),
        ("reset_peak_host_memory_stats", "function", "", PORTED),
        ("reset_accumulated_host_memory_stats", "function", "", PORTED),
        ("set_per_process_memory_fraction", "function", "", "processes cannot share a device"),
        ("get_per_process_memory_fraction", "function", "", PORTED),
        ("caching_allocator_alloc", "function", "", "other packages cannot use PyTorch's memory"),
        ("caching_allocator_delete", "function", "", "other packages cannot use PyTorch's memory"),
        ("get_allocator_backend", "function", "", PORTED),
        ("change_current_allocator", "function", "", PORTED),
        ("MemPool", "class", "", "tensors cannot be kept apart in a pool"),
        ("use_mem_pool", "function", "", "tensors cannot be kept apart in a pool"),
        ("ExternalStream", "class", "", "streams of other packages cannot be used"),
        ("get_stream_from_external", "function", "", "streams of other packages cannot be used"),
        ("set_sync_debug_mode", "function", "", "hidden synchronisation cannot be found"),
        ("get_sync_debug_mode", "function", "", "hidden synchronisation cannot be found"),
        ("graph", "class", "", "work cannot be captured"),
        ("graph_pool_handle", "function", "", "graphs cannot share memory"),
        ("make_graphed_callables", "function", "", "models cannot be captured"),
        ("is_current_stream_capturing", "function", "", PORTED),
        ("can_device_access_peer", "function", "", PORTED),
        ("ipc_collect", "function", "", PORTED),
        ("utilization", "function", "", "a monitor has nothing to show"),
        ("temperature", "function", "", "a monitor has nothing to show"),
        ("power_draw", "function", "", "a monitor has nothing to show"),
        ("clock_rate", "function", "", "a monitor has nothing to show"),
        ("device_memory_used", "function", "", "a monitor has nothing to show"),
        ("memory_usage", "function", "", "a monitor has nothing to show"),
        ("list_gpu_processes", "function", "", "a monitor has nothing to show"),
    ],
)

NAMES = [*REQUIRED, *RECOMMENDED, *FULL]
