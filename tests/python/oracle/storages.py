"""Storages, and what is to be seen of one."""

import torch

from oracle.description import StorageSource
from oracle.tensors import numbers


class Mine(torch.UntypedStorage):
    """A subclass that adds nothing."""


def make(source: StorageSource):
    dtype = getattr(torch, source.dtype)
    tensor = numbers(source.size, dtype).to(source.device)
    untyped = tensor.untyped_storage()
    match source.kind:
        case "untyped":
            return untyped
        case "subclass":
            return Mine(untyped.nbytes()).copy_(untyped)
        case "pinned":
            # Not by the storage's own method: torch 2.11's asks CUDA for the memory.
            return tensor.pin_memory().untyped_storage()
        case "typed":
            return torch.TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)
        case "legacy":
            return torch.FloatStorage(wrap_storage=untyped)
    raise ValueError(source.kind)


def untyped_of(storage) -> torch.UntypedStorage:
    return storage._untyped_storage if isinstance(storage, torch.TypedStorage) else storage


def look(storage) -> dict:
    untyped = untyped_of(storage)
    seen = {
        "class": type(storage).__name__,
        "device": str(untyped.device),
        "bytes": untyped.nbytes(),
        "resizable": untyped.resizable(),
    }
    if untyped is not storage:
        seen["dtype"] = str(storage.dtype)
    if untyped.device.type != "meta":
        seen["data"] = bytes(untyped.cpu().tolist())
    return seen


def compare(source, result) -> dict:
    if not isinstance(result, torch.UntypedStorage | torch.TypedStorage):
        return {"value": repr(result)}
    return {
        "storage": look(result),
        "is source": result is source,
        "same untyped object": untyped_of(result) is untyped_of(source),
        "same memory": untyped_of(result)._cdata == untyped_of(source)._cdata,
    }
