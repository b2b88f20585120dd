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
from torch._inductor.codegen import common
from torch._inductor.virtualized import V
from torch.fx import GraphModule
from torch.utils._pytree import tree_leaves

from .. import device_module, name, twin
from . import inductor


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


def _is_host_addressable(device: torch.device) -> bool:
    properties: Any = device_module.get_device_properties(device)
    return bool(properties.is_host_addressable)


TWINS = "the twin's (inductor_twin.py)"
VENDORS = "the vendor's"
CPUS = "the CPU's, in place (inductor.py)"
NONE = "none: operator by operator"

# The first one whose condition holds serves a device of ours.
_CONDITIONS: dict[str, Callable[[torch.device], bool]] = {
    TWINS: lambda device: twin_of(device) is not None,
    VENDORS: lambda device: has_vendors(),
    CPUS: _is_host_addressable,
    NONE: lambda device: True,
}


def generator_of(device: torch.device) -> str:
    return next(which for which, serves in _CONDITIONS.items() if serves(device))


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


@functools.cache
def _warn_once() -> None:
    """Since torch lets Python forget what it has warned of each time it compiles."""
    warnings.warn(
        f"{name}: torch.compile's default backend, Inductor, generates code for the CPU, which "
        "cannot address this device's memory: what is compiled runs operator by operator, as with "
        'backend="aot_eager"',
        stacklevel=3,
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
        which = set(map(generator_of, _devices(model, example_inputs)))
        if NONE in which and not V.aot_compilation:
            _warn_once()
            return aot_eager(model, list(example_inputs))
        inner = functools.partial(inductor_twin.compile_inner, inner_compile)
        # Autograd's cache would load a graph for the twin without its aliases.
        changes = {"enable_autograd_cache": False} if TWINS in which else {}
        with functorch_config.patch(changes):
            return compile_for_any(model, example_inputs, inner, *rest, **named)

    setattr(compiler, compile_fx.__name__, compile_fx)
