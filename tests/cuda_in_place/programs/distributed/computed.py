"""Operators of the device that compute, although its kernels compute nothing on the stand-in.

While `Computed()` is entered, also in backward passes, the CPU computes on copies of the tensors,
and what it wrote is copied back. So values can be compared. What only makes or views tensors, and
what is neither ATen's nor FSDP's packing, runs as it does without it."""

from typing import Any

import torch
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

NAME = "acme"


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """All elements between the first and the last one, in the order of the memory: a copy of them
    needs no kernel."""
    size = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.as_strided((size if tensor.numel() else 0,), (1,), tensor.storage_offset())


def fetch(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the CPU, with the same strides."""
    flat = torch.empty(_bytes_of(tensor).shape, dtype=tensor.dtype)
    flat.copy_(_bytes_of(tensor))
    return flat.as_strided(tensor.shape, tensor.stride())


def put_back(tensor: torch.Tensor, host: torch.Tensor) -> None:
    flat = _bytes_of(tensor)
    flat.copy_(host.as_strided(flat.shape, (1,), host.storage_offset()))


def _put(host: torch.Tensor, device: torch.device) -> torch.Tensor:
    made = torch.empty_strided(host.shape, host.stride(), dtype=host.dtype, device=device)
    put_back(made, host)
    return made


def _is_ours(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == NAME


def _only_makes_or_views(function: Any) -> bool:
    infos = [each.alias_info for each in function._schema.arguments]
    views = any(info is not None and not info.is_write for info in infos)
    name = function.overloadpacket.__name__
    return views or name.startswith(("empty", "new_empty", "set_", "record_stream", "resize_"))


def _written(function: Any, arguments: Any, named: dict[str, Any]) -> list[torch.Tensor]:
    """Those of its arguments that the operator writes to; the schemas of fsdp's do not say."""
    found = []
    for i, each in enumerate(function._schema.arguments):
        value = arguments[i] if i < len(arguments) else named.get(each.name)
        is_written = each.alias_info is not None and each.alias_info.is_write
        if is_written or function.namespace == "fsdp":
            found += [tensor for tensor in tree_leaves(value) if _is_ours(tensor)]
    return found


class Computed(TorchDispatchMode):
    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        if any(issubclass(each, DTensor) for each in types):
            return NotImplemented  # DTensor asks for operators of its parts, which come here again
        named = named or {}
        if function.namespace not in ("aten", "fsdp") or _only_makes_or_views(function):
            return function(*arguments, **named)
        lent: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        device = [value for value in named.values() if isinstance(value, torch.device | str)]

        def lend(value: Any) -> Any:
            if isinstance(value, torch.device) and value.type == NAME:
                device.append(value)
                return torch.device("cpu")
            if not _is_ours(value):
                return value
            if id(value) not in lent:
                lent[id(value)] = (value, fetch(value))
            device.append(value.device)
            return lent[id(value)][1]

        with torch.no_grad():
            there = tree_map(lend, (arguments, named))
            if not lent and not any(torch.device(each).type == NAME for each in device):
                return function(*arguments, **named)
            made = function(*there[0], **there[1])
            for each in _written(function, arguments, named):
                put_back(*lent[id(each)])
            own = {id(host): ours for ours, host in lent.values()}
            to = _target(function, named, device)

            def adopt(value: Any) -> Any:
                if not isinstance(value, torch.Tensor):
                    return value
                return own[id(value)] if id(value) in own else _put(value, to) if to else value

            return tree_map(adopt, made)


def _target(function: Any, named: dict[str, Any], device: list[Any]) -> torch.device | None:
    """Where results belong: `device=` if there is one, that of the arguments otherwise."""
    wanted = named.get("device") or next(
        (torch.device(each) for each in device if torch.device(each).type == NAME), None
    )
    wanted = torch.device(wanted) if wanted is not None else None
    return wanted if wanted is not None and wanted.type == NAME else None
