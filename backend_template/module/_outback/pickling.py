"""How pickle, and so torch.save, takes the device's sparse tensors apart."""

import functools
from typing import Any

import torch
from torch.utils.hooks import warn_if_has_hooks

from . import name


def _coo(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor._indices(), tensor._values(), tensor.size(), tensor.is_coalesced()


def _by_rows(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.crow_indices(), tensor.col_indices(), tensor.values(), tensor.size()


def _by_columns(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.ccol_indices(), tensor.row_indices(), tensor.values(), tensor.size()


# As torch._utils._rebuild_sparse_tensor has them.
_MEMBERS = {
    torch.sparse_coo: _coo,
    torch.sparse_csr: _by_rows,
    torch.sparse_bsr: _by_rows,
    torch.sparse_csc: _by_columns,
    torch.sparse_bsc: _by_columns,
}


def _reduced(tensor: torch.Tensor) -> tuple[Any, ...]:
    members = _MEMBERS[tensor.layout](tensor.detach())
    rebuild, arguments = torch._utils._rebuild_sparse_tensor, (tensor.layout, members)
    if not tensor.requires_grad:
        return rebuild, arguments
    # Of functions of torch's alone, so that the file can be loaded without the backend.
    state = {"requires_grad": True}
    return torch._tensor._rebuild_from_type_v2, (rebuild, torch.Tensor, arguments, state)


def teach() -> None:
    """torch sends a tensor without a storage that is of a device like ours as a tensor of the CPU,
    which is copied to the device as soon as it is rebuilt. The legacy format of torch.save has the
    contents of all storages after that, so the copy would be of uninitialised memory. Ours go as
    those of torch's own devices do: as their members, which have storages."""
    torchs = torch.Tensor._reduce_ex_internal

    @functools.wraps(torchs)
    def _reduce_ex_internal(self: torch.Tensor, proto: int) -> tuple[Any, ...]:
        # A subclass that stands for a sparse tensor, such as a fake one, has no members of its own.
        is_own = type(self).__torch_dispatch__ is torch.Tensor.__torch_dispatch__
        if self.layout in _MEMBERS and self.device.type == name and is_own:
            warn_if_has_hooks(self)
            return _reduced(self)
        reduced: tuple[Any, ...] = torchs(self, proto)
        return reduced

    torch.Tensor._reduce_ex_internal = _reduce_ex_internal  # type: ignore[method-assign]
