"""The names of torch.<name> as a whole: its submodules, what it lists, and what it says of names
that it does not have."""

import functools
import importlib
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import torch

from . import _native, amp, device_module, graphs, legacy_types, memory, name, publish, random

_MODULE = f"torch.{name}"

# The names of torch.cuda that the device module does not have: a user who ports code from CUDA sees
# the reason in the AttributeError.
_LEFT_OUT = {
    "CUDAPluggableAllocator": "a runtime brings its own allocation",
    "CudaError": "a failed call raises torch.AcceleratorError",
    "DeferredCudaCallError": "here it is DeferredCallError",
    "GreenContext": "it splits CUDA devices only",
    "check_error": "a failed call raises torch.AcceleratorError",
    "cudaStatus": "a failed call raises torch.AcceleratorError",
    "cudart": "it is CUDA's own library",
    "current_blas_handle": "it belongs to cuBLAS",
    "current_solver_handle": "it belongs to cuSOLVER",
    "export_dot": "a runtime cannot say what is in a graph",
    "export_graph_data": "a runtime cannot say what is in a graph",
    "get_arch_list": "there are no architectures to compile kernels for",
    "get_gencode_flags": "there are no architectures to compile kernels for",
    "graph_annotations": "it marks the kernels of CUDA's graphs",
    "has_half": "see is_bf16_supported and get_amp_supported_dtype",
    "has_magma": "MAGMA is for CUDA only",
    "is_tf32_supported": "TF32 is a format of CUDA devices",
    "jiterator": "it compiles CUDA kernels",
    "nccl": "it is CUDA's own library; torch.distributed has the process groups",
    "nvtx": "it is CUDA's own library; see torch.profiler.record_function",
    "profiler": "it drives CUDA's own profiler; see torch.profiler",
    "sparse": "sparse tensors have no types of their own here; see torch.sparse",
    "tunable": "it tunes cuBLAS",
}


# Names in sources that are loaded when one is asked for: making the classes of operators.py takes
# as long as three other files do. They never become members: whoever has one replaced keeps his
# own.
_LATE = {
    "record_operators": "operators",
    "OperatorRecord": "operators",
    "OperatorCalls": "operators",
    "register_kernel_compiler": "kernels",
}


@functools.cache
def _source(part: str) -> ModuleType:
    return importlib.import_module(f"{__package__}.{part}")


def _late_attribute(attribute: str) -> Any:
    """The module's __getattr__: what is loaded late, what has no fixed value, and the error for
    what is missing."""
    if attribute in _LATE:
        return getattr(_source(_LATE[attribute]), attribute)
    if attribute == "_initialized":
        return device_module.is_initialized()
    if attribute == "default_generators":
        return _native.default_generators()
    reason = _LEFT_OUT.get(attribute)
    why = f", unlike torch.cuda: {reason}" if reason else ""
    raise AttributeError(f"module '{_MODULE}' has no attribute '{attribute}'{why}")


def _all_names() -> list[str]:
    return sorted({*vars(device_module), *_LATE, "default_generators", "_initialized"})


def add_submodule(part: str, doc: str) -> ModuleType:
    """Makes torch.<name>.<part>, an attribute that sys.modules has too, so that it can be imported
    once the backend is registered."""
    made = ModuleType(f"{_MODULE}.{part}", doc)
    sys.modules[made.__name__] = made
    setattr(device_module, part, made)
    return made


def _add_shared(part: str, doc: str, names: Iterable[str]) -> None:
    """A submodule of objects that the device module has, under the name that torch.cuda has."""
    members = {each: getattr(device_module, each) for each in names}
    vars(add_submodule(part, doc)).update(members, __all__=list(members))


def _add_sanitizer() -> None:
    """torch.<name>._sanitizer, which is loaded when somebody asks for something of it."""

    def of_part(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(importlib.import_module(f"{__package__}.sanitizer"), attribute)

    made = add_submodule("_sanitizer", "Finds operators on two streams that use the same memory.")
    vars(made)["__getattr__"] = of_part


# Of torch.<name>.memory too, as in torch.cuda: what else the device module counts.
_ALSO_OF_MEMORY = (
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "list_gpu_processes",
    "reset_accumulated_host_memory_stats",
    "reset_peak_host_memory_stats",
)


def _complete_memory() -> None:
    of_memory = vars(device_module.memory)
    of_memory.update({each: getattr(device_module, each) for each in _ALSO_OF_MEMORY})
    of_memory["__all__"] = [*of_memory["__all__"], *_ALSO_OF_MEMORY]


def _is_of_streams(member: Any) -> bool:
    return isinstance(member, type) and issubclass(member, (torch.Stream, torch.Event))


def define() -> None:
    """After all other definitions."""
    legacy_types.define()
    # By its own name, and by the one that code written for torch.cuda uses.
    publish(device_module, graphs.DeviceGraph)
    device_module.CUDAGraph = graphs.DeviceGraph
    publish(device_module, graphs.graph, graphs.make_graphed_callables, graphs.graph_pool_handle)
    publish(device_module, memory.host_memory_stats)
    _complete_memory()
    publish(device_module, random._get_generator, *random.PUBLIC)
    members = vars(device_module)
    # The module that a user can import, for reprs, pickles and tracebacks.
    for member in members.values():
        if isinstance(member, type):
            member.__module__ = _MODULE
    of_streams = [each for each, member in members.items() if _is_of_streams(member)]
    _add_shared("streams", "The device's streams and events.", of_streams)
    of_random = [each.__name__ for each in random.PUBLIC]
    _add_shared("random", "The devices' random number generators.", of_random)
    of_graphs = ("is_current_stream_capturing", "graph_pool_handle", "CUDAGraph", "graph")
    _add_shared(
        "graphs",
        "Work that is captured once and replayed.",
        (*of_graphs, "make_graphed_callables"),
    )
    amp.define(add_submodule("amp", "torch.amp's names, with the device filled in already."))
    _add_sanitizer()
    public = [each for each in members if not each.startswith("_")]
    device_module.__all__ = [*public, *_LATE, "default_generators"]
    # torch's own classes, which torch.cuda has under these names too.
    device_module.OutOfMemoryError = torch.OutOfMemoryError
    device_module.AcceleratorError = torch.AcceleratorError
    device_module.__getattr__ = _late_attribute
    device_module.__dir__ = _all_names
