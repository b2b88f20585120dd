"""torch.compile's default backend, Inductor, on a device for which nothing generates code: the CPU
cannot address its memory, and no vendor has registered a code generator. What is compiled runs
there operator by operator, as with backend="aot_eager", and the first time a warning says so.
Imported when Inductor is.
"""

import functools
import re
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch._dynamo.backends.debugging import aot_eager
from torch._inductor import compile_fx as compiler
from torch._inductor.codegen import common
from torch._inductor.virtualized import V
from torch.fx import GraphModule
from torch.utils._pytree import tree_leaves

from . import device_module, inductor, name, twin


def _is_apart(device: torch.device) -> bool:
    if device.type != name or twin.of(device.index or 0) is not None:
        return False
    properties: Any = device_module.get_device_properties(device)
    return not properties.is_host_addressable


def _has_generator() -> bool:
    """One of a vendor's."""
    common.init_backend_registration()
    registered = common.get_scheduling_for_device(name)
    return registered is not None and not inductor.is_generated_here(name)


def _device(value: Any) -> torch.device | None:
    """Of a tensor, or of what names a device."""
    if isinstance(value, str) and re.fullmatch(rf"{name}(:\d+)?", value):
        return torch.device(value)
    if isinstance(value, torch.Tensor):
        return value.device
    return value if isinstance(value, torch.device) else None


def _uses_memory_apart(model: Any, example_inputs: Sequence[Any]) -> bool:
    parts = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    nodes = [node for part in parts if isinstance(part, GraphModule) for node in part.graph.nodes]
    used = [(node.meta.get("example_value"), node.args, node.kwargs) for node in nodes]
    held = [[*part.parameters(recurse=False), *part.buffers(recurse=False)] for part in parts]
    devices = set(map(_device, tree_leaves((list(example_inputs), used, held))))
    return any(device is not None and _is_apart(device) for device in devices)


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
    compile_for_any = compiler.compile_fx

    @functools.wraps(compile_for_any)
    def compile_fx(model: Any, example_inputs: Sequence[Any], *rest: Any, **named: Any) -> Any:
        apart = not V.aot_compilation and _uses_memory_apart(model, example_inputs)
        if not apart or _has_generator():
            return compile_for_any(model, example_inputs, *rest, **named)
        _warn_once()
        return aot_eager(model, list(example_inputs))

    setattr(compiler, compile_fx.__name__, compile_fx)
