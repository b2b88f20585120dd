"""The backend that is checked, as the suites ask for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import torch

from . import dtypes


class Unsupported(Exception):
    """The backend does not have what the check is about; the text is the reason in the report."""


class Skipped(Exception):
    """This torch or this machine cannot show it, whatever the backend does; the text says why."""


@dataclasses.dataclass(frozen=True)
class Backend:
    """A device type that some module has registered; `device` has an index.

    Args:
        imports: the modules that register it, for programs in processes of their own; none where
            torch loads it by itself.
    """

    device: torch.device
    imports: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.device.type

    @property
    def module(self) -> ModuleType:
        """torch.<name>."""
        found = getattr(torch, self.name, None)
        if found is None:
            raise Unsupported(f"torch.{self.name} is not registered as a device module")
        return found

    @property
    def count(self) -> int:
        return self.module.device_count()

    @property
    def other_device(self) -> torch.device:
        """A second device; Skipped where there is one only."""
        if self.count < 2:
            raise Skipped("needs two devices, there is one")
        return torch.device(self.name, 1 if self.device.index == 0 else 0)

    def has(self, dtype: torch.dtype) -> bool:
        """Whether its tensors can have that dtype, by what it declares."""
        return dtype not in dtypes.missing(self.device)

    def having(self, wanted: Iterable[torch.dtype]) -> list[torch.dtype]:
        """Those that its tensors can have."""
        return dtypes.present(self.device, wanted)

    @property
    def other_float(self) -> torch.dtype:
        """One besides float32 that its tensors can have, the widest; Unsupported where there is
        none."""
        found = self.having((torch.float64, torch.float16, torch.bfloat16))
        if not found:
            raise Unsupported(f"{self.name} has no floating-point dtype but float32")
        return found[0]

    def need(self, path: str) -> Any:
        """What stands at `path` in torch.<name>, "memory.MemPool"; Unsupported where nothing
        does."""
        found: Any = self.module
        for part in path.split("."):
            if not hasattr(found, part):
                raise Unsupported(f"torch.{self.name} has no {path}")
            found = getattr(found, part)
        return found
