"""What torch.compile has to know of the device, told when its parts are imported: they take
seconds, and most programs never import them."""

import sys
from typing import Any

import torch

from .. import __name__ as _package
from .. import _native, device_module, name
from ..import_hook import when_imported
from . import fake_tensors, flex_attention

# What a compiled function may ask of the device module, as of torch.cuda: what stays as it is in a
# process, and what it is compiled again for when that has changed.
_CONSTANTS = (
    *("is_available", "device_count", "get_device_name", "get_device_capability"),
    "is_bf16_supported",
)
_GUARDED = ("is_initialized", "current_device")


def _choose_what_is_traced() -> None:
    """All else is as torch.cuda's functions and those of a library in C++: a call is a graph
    break."""
    rules = sys.modules["torch._dynamo.trace_rules"]
    rules.add(_package)
    for each in (*_CONSTANTS, *_GUARDED):
        function = f"torch.{name}.{each}"
        rules.manual_torch_name_rule_map[function] = rules.TorchInGraphFunctionVariable
    rules.get_torch_obj_rule_map.cache_clear()


def _fold_constants() -> None:
    variables = sys.modules["torch._dynamo.variables.torch"]
    for each in (*_CONSTANTS, *_GUARDED):
        variables.constant_fold_functions[getattr(device_module, each)] = None
    for each in _GUARDED:
        variables.constant_fold_functions_need_guards[getattr(device_module, each)] = None


def _let_autocast_through() -> None:
    """Operators of higher order leave autocast to what they call, for the device types that torch
    lists: those that are there, and those that are made later."""
    from torch import _ops

    key = torch._C.DispatchKey.AutocastPrivateUse1  # type: ignore[attr-defined]
    _ops._HIGHER_ORDER_OP_DEFAULT_FALLTHROUGH_DISPATCH_KEYS.append(key)
    for operator in _ops._higher_order_ops.values():
        if key not in operator.py_kernels:
            operator.fallthrough(key)


def _register_interface() -> None:
    from . import dynamo

    dynamo.register()


def _register_streams() -> None:
    from . import dynamo_streams

    dynamo_streams.register()


def _start_before_tracing() -> None:
    """Dynamo saves the state of torch.cuda's generator before it traces and sets it again after
    that. A seed that waits for the device's start would be lost if the trace started it."""
    from torch._dynamo.callback import callback_handler

    def start(_: Any) -> None:
        if device_module.is_available() and not device_module._is_in_bad_fork():
            device_module.init()

    clear_of_torch = callback_handler.clear

    def clear() -> None:  # torch._dynamo.reset() calls it
        clear_of_torch()
        callback_handler.register_start_callback(start)

    callback_handler.register_start_callback(start)
    setattr(callback_handler, clear.__name__, clear)


def _register_random_state() -> None:
    """Lets compiled graphs draw the same random numbers again in the backward pass. torch 2.13 and
    newer have this function for devices other than CUDA."""
    utilities = sys.modules["torch._functorch._aot_autograd.utils"]
    if hasattr(utilities, "register_graphsafe_rng_device_type"):
        utilities.register_graphsafe_rng_device_type(name)


def _register_generator() -> None:
    from . import generators, in_place, inductor

    if generators.has_vendors():
        generators.register_vendors()
        return
    inductor.register()
    in_place.register()
    # Last: if something above fails, the next import of Inductor tries again.
    in_place.use()


def _register_lowerings() -> None:
    from . import inductor

    inductor.register_lowerings()


def _register_compilers() -> None:
    from . import generators

    generators.register()


def register() -> None:
    fake_tensors.register()
    _let_autocast_through()
    flex_attention.register()
    when_imported("torch._dynamo.trace_rules", _choose_what_is_traced)
    when_imported("torch._dynamo.variables.torch", _fold_constants)
    when_imported("torch._dynamo.device_interface", _register_interface)
    when_imported("torch._dynamo.variables.streams", _register_streams)
    if _native.may_have_twins():
        when_imported("torch._dynamo.callback", _start_before_tracing)
    when_imported("torch._functorch._aot_autograd.utils", _register_random_state)
    when_imported("torch._inductor.codegen.cpp", _register_generator)
    when_imported("torch._inductor.lowering", _register_lowerings)
    when_imported("torch._inductor.compile_fx", _register_compilers)
