"""Who generates the code that torch.compile's default backend, Inductor, runs on a device. Where
nobody does, what is compiled runs operator by operator, as with backend="aot_eager", and the first
time a warning says so. Imported when Inductor is.
"""

import functools
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch import config as functorch_config
from torch._inductor import config as inductor_config
from torch._inductor.codegen import common
from torch._inductor.virtualized import V
from torch.fx import GraphModule
from torch.utils._pytree import tree_leaves

from .. import _native, device_module, kernels, name, twin
from . import in_place, inductor, portable


def twin_of(device: Any) -> torch.device | None:
    """PyTorch's own device for which Inductor compiles in place of `device`, where that is one of
    ours: one of CUDA's."""
    if not isinstance(device, torch.device) or device.type != name:
        return None
    found = twin.of(device.index or 0)
    return found if found is not None and found.type == "cuda" else None


def has_vendors() -> bool:
    """Whether the vendor has a code generator: one that is registered, or one under the names that
    torch looks for in the device module."""
    if common.get_scheduling_for_device(name) is not None:
        return not inductor.is_generated_here(name)
    return any(hasattr(device_module, own) for own in ("Scheduling", "_inductor_backend_init"))


def register_vendors() -> None:
    """Calls the vendor's function that registers it, if there is one. Newer releases of torch do
    so where nothing is registered yet (pytorch#192896)."""
    if common.get_scheduling_for_device(name) is None:
        getattr(device_module, "_inductor_backend_init", lambda: None)()


def _is_host_addressable(device: torch.device) -> bool:
    properties: Any = device_module.get_device_properties(device)
    return bool(properties.is_host_addressable)


@functools.cache
def why_no_compiler(index: int) -> str | None:
    """Why kernels in the dialect cannot be compiled for the device here; None: they can."""
    return kernels.why_not(kernels.target_of(index, "torch.compile"))


def _is_portable(device: torch.device) -> bool:
    index = device.index or 0
    return _native.runs_portable_kernels(index) and why_no_compiler(index) is None


VENDORS = "the vendor's"
TWINS = "the twin's (inductor_twin.py)"
PORTABLE = "kernels in the dialect (portable/)"
CPUS = "the CPU's, in place (in_place.py)"
NONE = "none: operator by operator"

# The first one whose condition holds serves a device of ours.
_CONDITIONS: dict[str, Callable[[torch.device], bool]] = {
    VENDORS: lambda device: has_vendors(),
    TWINS: lambda device: twin_of(device) is not None,
    PORTABLE: _is_portable,
    CPUS: _is_host_addressable,
    NONE: lambda device: True,
}


def generator_of(device: torch.device) -> str:
    return next(which for which, serves in _CONDITIONS.items() if serves(device))


# Inductor has one generator for a type of devices: the one that the graph at hand needs.
_USE: dict[str, Callable[[], None]] = {PORTABLE: portable.use, CPUS: in_place.use}


# ---- What is compiled


def _device(value: Any) -> torch.device | None:
    """Of a tensor, or of what names a device."""
    if isinstance(value, str) and re.fullmatch(rf"{name}(:\d+)?", value):
        return torch.device(value)
    if isinstance(value, torch.Tensor):
        return value.device
    return value if isinstance(value, torch.device) else None


def _devices(model: Any, example_inputs: Sequence[Any]) -> set[torch.device]:
    """Those of ours that a graph uses."""
    parts = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    nodes = [node for part in parts if isinstance(part, GraphModule) for node in part.graph.nodes]
    used = [(node.meta.get("example_value"), node.args, node.kwargs) for node in nodes]
    held = [[*part.parameters(recurse=False), *part.buffers(recurse=False)] for part in parts]
    found = map(_device, tree_leaves((list(example_inputs), used, held)))
    return {device for device in found if device is not None and device.type == name}


_MARK = "_outback_inner_compile"


@functools.cache
def _warn_once(why: str) -> None:
    """Since torch lets Python forget what it has warned of each time it compiles."""
    warnings.warn(
        f'{name}: {why}: what is compiled runs operator by operator, as with backend="aot_eager"',
        stacklevel=3,
    )


def _why_none(generators: dict[torch.device, str]) -> str:
    unserved = [device.index or 0 for device, which in generators.items() if which == NONE]
    if not unserved:
        return "a compiled graph has devices of which the CPU addresses only some"
    if _native.runs_portable_kernels(unserved[0]):
        return f"torch.compile has no compiler for this device: {why_no_compiler(unserved[0])}"
    return (
        "torch.compile's default backend, Inductor, generates code for the CPU, which cannot "
        "address this device's memory; kernels in the dialect need a runtime with the group "
        "kernels, and OUTBACK_PORTABLE other than never"
    )


def register() -> None:
    from torch._dynamo.backends.debugging import aot_eager
    from torch._inductor import compile_fx as compiler

    from . import inductor_twin

    inductor_twin.register()
    compile_for_any = compiler.compile_fx

    @functools.wraps(compile_for_any)
    def compile_fx(
        model: Any,
        example_inputs: Sequence[Any],
        inner_compile: Callable[..., Any] = compiler.compile_fx_inner,
        *rest: Any,
        **named: Any,
    ) -> Any:
        generators = {each: generator_of(each) for each in _devices(model, example_inputs)}
        which = set(generators.values())
        ours = which & set(_USE)
        if (NONE in which or len(ours) > 1) and not V.aot_compilation:
            _warn_once(_why_none(generators))
            return aot_eager(model, list(example_inputs))

        def inner(graph_module: GraphModule, inputs: Sequence[Any], **options: Any) -> Any:
            for each in ours:  # once more: a backward graph is compiled much later
                _USE[each]()
            wanted = options.get("cudagraphs")
            replays = which == {PORTABLE} and bool(wanted)
            compiled = inductor_twin.compile_inner(inner_compile, graph_module, inputs, **options)
            if not replays or wanted is None:
                return compiled
            wanted.value = True  # which torch has changed, and reads for the backward graph
            return portable.replayed(compiled, inputs, options.get("static_input_idxs") or ())

        for each in ours:
            _USE[each]()
        # With options, torch calls this function again, and passes `inner`.
        is_inner = hasattr(inner_compile, _MARK)
        inner = inner_compile if is_inner else functools.wraps(inner_compile)(inner)
        setattr(inner, _MARK, True)
        # Autograd's cache would load a graph for the twin without its aliases, and no replays.
        is_wrapped = TWINS in which or (PORTABLE in which and inductor_config.triton.cudagraphs)
        changes = {"enable_autograd_cache": False} if is_wrapped else {}
        with functorch_config.patch(changes):
            return compile_for_any(model, example_inputs, inner, *rest, **named)

    setattr(compiler, compile_fx.__name__, compile_fx)
