"""FlexAttention, which torch has for a list of device types. In eager mode all of it consists of
operators that every device has. What is compiled is torch.cuda's code on a device with a twin, and
else, where the CPU addresses the memory, what inductor_flex_attention.py says."""

import functools
import sys
from typing import Any

import torch

from .. import name
from ..import_hook import when_imported

_FUNCTION = "_validate_device"
_TORCHS = "torch.nn.attention.flex_attention"


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


def _register_lowerings() -> None:
    from . import inductor_flex_attention

    inductor_flex_attention.register()


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
    when_imported("torch._inductor.lowering", _register_lowerings)
