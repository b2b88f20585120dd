"""Modules that are each wrong in one way, for the harness's own tests; compare broken_ops."""

from __future__ import annotations

import itertools
import os
from typing import Any

import torch
from broken_ops import WrongGradient
from torch import nn
from torch.testing._internal.common_modules import FunctionInput, ModuleInfo, ModuleInput


class Right(nn.Module):
    """Scales by a parameter, and counts its calls. Its second call of two is the device's."""

    def __init__(self, features: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((features,), 2.0, device=device, dtype=dtype))
        self.register_buffer("calls", torch.zeros((), device=device))
        self._turns = _turns_of(type(self))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.on_device(x) if next(self._turns) % 2 else x * self.weight

    def on_device(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


_TURNS: dict[type, Any] = {}


def _turns_of(module_class: type) -> Any:
    return _TURNS.setdefault(module_class, itertools.count())


class WrongResult(Right):
    def on_device(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight + 1


class WrongInEvaluation(Right):
    def on_device(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight + (not self.training)


class WrongParameterGradient(Right):
    def on_device(self, x: torch.Tensor) -> torch.Tensor:
        return x * WrongGradient.apply(self.weight) / 2


class WrongArgumentGradient(Right):
    def on_device(self, x: torch.Tensor) -> torch.Tensor:
        return WrongGradient.apply(x) / 2 * self.weight


class WrongState(Right):
    def on_device(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.weight


class CreatedElsewhere(Right):
    """Forgets where it was to be made, for what is not a parameter."""

    def __init__(self, features: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__(features, device, dtype)
        if device is not None:
            self.register_buffer("calls", torch.zeros((), device="meta"))


class Aborts(Right):
    def on_device(self, _x: torch.Tensor) -> torch.Tensor:
        os.abort()


def inputs(_info: Any, device: str, dtype: torch.dtype, requires_grad: bool, **_: Any) -> list:
    x = torch.arange(3, dtype=dtype, device=device).requires_grad_(requires_grad)
    return [ModuleInput(FunctionInput(3), FunctionInput(x))]


module_db = [
    ModuleInfo(module_class, module_inputs_func=inputs)
    for module_class in (
        Right,
        WrongResult,
        WrongInEvaluation,
        WrongParameterGradient,
        WrongArgumentGradient,
        WrongState,
        CreatedElsewhere,
        Aborts,
    )
]
