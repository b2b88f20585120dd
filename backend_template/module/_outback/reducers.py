"""How torch.multiprocessing sends the device's tensors to another process. torch 2.11 to 2.15 have
no hook for that and would take such a tensor for one of the CPU.

Where the runtime has the group ipc, or the device shares its memory with PyTorch's own, both
processes use the same memory, and the sender has to live for as long, as with torch.cuda. Else, and
for tensors that consist of more than memory, a copy goes in shared memory of the host, which the
receiver copies to its device of the same index. The arguments of a process that is being spawned go
as bytes then: it inherits the descriptors of shared memory, which must stay open until then, but
the copy that owns them would be gone.
"""

import io
from collections.abc import Callable
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing import reductions
from torch.utils.hooks import warn_if_has_hooks

from . import _native, device_module, name, publish, twin


def _packed(copy: torch.Tensor) -> torch.Tensor | bytes:
    """What pickle is to send: the tensor, whose memory torch shares, or its bytes."""
    if get_spawning_popen() is None:
        return copy
    file = io.BytesIO()
    torch.save(copy, file)
    return file.getvalue()


def _is_shared_by_twin(device: torch.device) -> bool:
    own = twin.of(device.index)
    return own is not None and own.type == "cuda"


def _exported(tensor: torch.Tensor) -> bytes:
    """A message for one receiver; none if the memory cannot be shared."""
    return _native.export_memory(tensor) if _native.shares_memory(tensor.device) else b""


def _is_plain(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and not (
        tensor.is_nested or tensor.is_quantized or tensor.is_conj() or tensor.is_neg()
    )


def _unpacked(sent: torch.Tensor | bytes) -> torch.Tensor:
    return torch.load(io.BytesIO(sent)) if isinstance(sent, bytes) else sent


def reduce_tensor(tensor: torch.Tensor) -> Any:
    """What pickle calls for every torch.Tensor: those of other devices go to torch's own function.
    It refuses and warns of the same tensors as that."""
    if tensor.device.type != name:
        return reductions.reduce_tensor(tensor)
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "cannot send a tensor that requires grad and is no leaf to another process, since "
            "autograd does not reach across processes; send tensor.detach()"
        )
    warn_if_has_hooks(tensor)
    if _is_shared_by_twin(tensor.device) and _is_plain(tensor):
        rebuild, its_arguments = reductions.reduce_tensor(device_module.as_cuda(tensor.detach()))
        given = type(tensor), rebuild, its_arguments, tensor.requires_grad
        return _rebuild_shared_tensor, given
    if _is_plain(tensor) and (sent := _exported(tensor)):
        layout = tensor.dtype, tensor.storage_offset(), tensor.size(), tensor.stride()
        return _rebuild_tensor_over, (type(tensor), sent, layout, tensor.requires_grad)
    copy = _packed(tensor.detach().cpu())
    arguments = (type(tensor), copy, str(tensor.device), tensor.requires_grad)
    return _rebuild_sent_tensor, arguments


def reduce_storage(storage: torch.UntypedStorage) -> Any:
    """The same for every torch.UntypedStorage; it travels as a tensor of bytes."""
    if storage.device.type != name:
        return reductions.reduce_storage(storage)
    if _is_shared_by_twin(storage.device):
        whole = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
        return _rebuild_shared_storage, reductions.reduce_tensor(device_module.as_cuda(whole))
    if sent := _exported(torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)):
        return _rebuild_storage_over, (sent,)
    copy = torch.empty(0, dtype=torch.uint8).set_(storage.cpu())
    return _rebuild_sent_storage, (_packed(copy), str(storage.device))


# ---- In the receiving process


def _as_kind(kind: type, tensor: torch.Tensor, requires_grad: bool) -> torch.Tensor:
    if kind is torch.nn.Parameter:
        return torch.nn.Parameter(tensor, requires_grad=requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_sent_tensor(
    kind: type, sent: torch.Tensor | bytes, device: str, requires_grad: bool
) -> torch.Tensor:
    return _as_kind(kind, _unpacked(sent).to(device), requires_grad)


def _rebuild_shared_tensor(
    kind: type, rebuild: Callable[..., torch.Tensor], arguments: Any, requires_grad: bool
) -> torch.Tensor:
    return _as_kind(kind, device_module.from_cuda(rebuild(*arguments)), requires_grad)


# The storages over memory of others that live, by the memory.
_received: dict[bytes, reductions.StorageWeakRef] = {}


def _received_storage(sent: bytes) -> torch.UntypedStorage:
    """One for all views that were sent, for as long as one of them lives."""
    memory = _native.memory_in(sent)
    known = _received.get(memory)
    storage = torch.UntypedStorage._new_with_weak_ptr(known.cdata) if known else None
    if storage is not None:
        _native.decline_memory(sent)
        return storage
    storage = _native.import_memory(sent).untyped_storage()
    for gone in [each for each, of in list(_received.items()) if of.expired()]:
        _received.pop(gone, None)
    _received[memory] = reductions.StorageWeakRef(storage)
    return storage


def _rebuild_tensor_over(kind: type, sent: bytes, layout: Any, requires_grad: bool) -> torch.Tensor:
    dtype, *geometry = layout
    storage = _received_storage(sent)
    tensor = torch.empty(0, dtype=dtype, device=storage.device).set_(storage, *geometry)
    return _as_kind(kind, tensor, requires_grad)


def _rebuild_storage_over(sent: bytes) -> torch.UntypedStorage:
    return _received_storage(sent)


def _rebuild_sent_storage(sent: torch.Tensor | bytes, device: str) -> torch.UntypedStorage:
    return _unpacked(sent).to(device).untyped_storage()


def _rebuild_shared_storage(
    rebuild: Callable[..., torch.Tensor], arguments: Any
) -> torch.UntypedStorage:
    return _rebuild_shared_tensor(torch.Tensor, rebuild, arguments, False).untyped_storage()


def register() -> None:
    add: Callable[..., None] = ForkingPickler.register
    add(torch.Tensor, reduce_tensor)
    add(torch.nn.Parameter, reduce_tensor)
    add(torch.UntypedStorage, reduce_storage)
    # pickle finds these by the extension module: importing that registers the backend there.
    publish(device_module, _rebuild_sent_tensor, _rebuild_sent_storage)
    publish(device_module, _rebuild_tensor_over, _rebuild_storage_over)
    publish(device_module, _rebuild_shared_tensor, _rebuild_shared_storage)
