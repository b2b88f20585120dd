"""Storages that torch.load moves to the device can be resized if those that it read can be.

Those of a file with torch's zip format cannot. So a tensor that claims more bytes than its storage
has in the file is refused, as on the CPU; otherwise its storage would grow, and the tensor would
have memory that nothing was loaded into.
"""

from typing import Any

import torch
from torch import serialization

from . import _native, name


def _restore(storage: Any, location: str) -> Any:
    moved = serialization._deserialize(name, storage, location)
    if moved is not None and not storage.resizable():
        dtype = getattr(moved, "dtype", torch.uint8)  # torch.package moves typed storages
        whole = torch.empty(0, dtype=dtype, device=moved.device).set_(moved)
        _native.forbid_resizing(whole)
    return moved


def register() -> None:
    # Before torch's own function for a backend, whose priority is 23, and which tags what is saved.
    serialization.register_package(19, lambda storage: None, _restore)
