"""FlexAttention, which torch has for a list of device types. In eager mode all of it consists of
operators that every device has. What is compiled is torch.cuda's code on a device with a twin, and
else, where the CPU addresses the memory, the CPU's, which has no gradients."""

import functools
import sys
from typing import Any

import torch

from . import name
from .import_hook import when_imported

_FUNCTION = "_validate_device"
_TORCHS = "torch.nn.attention.flex_attention"
_LOWERING = "torch._inductor.kernel.flex.flex_attention"


def _accept() -> None:
    torchs = sys.modules[_TORCHS]
    refuse = getattr(torchs, _FUNCTION)

    @functools.wraps(refuse)
    def validate_device(query: Any, key: Any, value: Any) -> None:
        if query.device.type != name:
            refuse(query, key, value)

    setattr(torchs, _FUNCTION, validate_device)
    when_imported("torch._dynamo.trace_rules", _trace_through)


def _trace_through() -> None:
    """Although it is of this package, which is not traced."""
    rules = sys.modules["torch._dynamo.trace_rules"]
    rules.manual_torch_name_rule_map[f"{_TORCHS}.{_FUNCTION}"] = rules.UserFunctionVariable
    rules.get_torch_obj_rule_map.cache_clear()


def _uses_sums(node: Any) -> bool:
    """True if a graph uses the second result, the logsumexp, which the gradients need. That it is
    asked for says only that they were not turned off."""
    return any(user.args[1:] == (1,) and user.users for user in node.users)


def _lower_as_on_cpu() -> None:
    """For Inductor, where it generates code for the CPU."""
    torchs = sys.modules[_LOWERING]
    lowerings = sys.modules["torch._inductor.lowering"].lowerings
    operator = torch.ops.higher_order.flex_attention
    of_torch = lowerings[operator]

    @functools.wraps(of_torch)
    def lower(query: Any, *rest: Any) -> Any:
        from . import inductor

        if not inductor.is_generated_here(query.get_device().type):
            return of_torch(query, *rest)
        if _uses_sums(sys.modules["torch._inductor.virtualized"].V.graph.current_node):
            raise NotImplementedError(
                f"{name}: Inductor's FlexAttention for the CPU has neither gradients nor "
                "return_lse: call it under torch.no_grad(), without return_lse, or do not compile "
                'it, or compile it with backend="aot_eager"'
            )
        *before, kernel_options, score_buffers, mask_buffers = rest
        kernel_options = {**kernel_options, "OUTPUT_LOGSUMEXP": False}
        return torchs.lower_cpu(query, *before, kernel_options, score_buffers, mask_buffers)

    lowerings[operator] = lower


def _cast_under_autocast() -> None:
    operator = torch.ops.higher_order.flex_attention
    key = torch._C.DispatchKey.AutocastPrivateUse1  # type: ignore[attr-defined]

    def cast(tensor: torch.Tensor) -> torch.Tensor:
        is_cast = tensor.device.type == name and tensor.is_floating_point()
        if not is_cast or tensor.dtype == torch.float64:
            return tensor
        return tensor.to(torch.get_autocast_dtype(name))

    @operator.py_impl(key)
    def under_autocast(query: Any, key_: Any, value: Any, *rest: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(key)):
            return operator(cast(query), cast(key_), cast(value), *rest)


def register() -> None:
    when_imported(_TORCHS, _accept)
    when_imported("torch._higher_order_ops.flex_attention", _cast_under_autocast)
    when_imported(_LOWERING, _lower_as_on_cpu)
