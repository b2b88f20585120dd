"""What PyTorch says of an operator (OpInfo), with one dtype: all that a check of it asks."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import OpInfo


@dataclasses.dataclass(frozen=True, eq=False)
class Described:
    """`dtype` is None where the CPU has none to compare with."""

    name: str
    info: OpInfo
    dtype: torch.dtype | None

    @property
    def differentiable(self) -> bool:
        return (
            self.dtype is not None
            and (self.dtype.is_floating_point or self.dtype.is_complex)
            and self.info.supports_autograd
            and self.dtype in self.info.supported_backward_dtypes("cpu")
        )
