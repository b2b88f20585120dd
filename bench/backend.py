"""The backend under test: its package, its device, and the module torch.<device>."""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Callable
from types import ModuleType

import torch


@dataclasses.dataclass(frozen=True)
class Backend:
    package: str
    name: str

    @classmethod
    def load(cls, package: str, name: str) -> Backend:
        importlib.import_module(package)
        return cls(package, name)

    @property
    def device(self) -> torch.device:
        return torch.device(self.name, 0)

    @property
    def module(self) -> ModuleType:
        return getattr(torch, self.name)

    @property
    def settle(self) -> Callable[[], object]:
        return self.module.synchronize

    @property
    def is_in_place(self) -> bool:
        """The CPU can address the device's memory."""
        return self.module.get_device_properties(0).is_host_addressable

    @property
    def is_host_runtime(self) -> bool:
        """It obeys the variables that begin with OUTBACK_HOST."""
        return self.module.get_device_properties(0).name == "Outback host device"

    def environment(self) -> dict[str, str]:
        """The variables that change what is measured."""
        return {k: v for k, v in sorted(os.environ.items()) if k.startswith("OUTBACK_")}
