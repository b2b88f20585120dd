"""Puts a Python function in the place of the backend's kernel for an operator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

_KEPT: list[torch.library.Library] = []  # a library that is gone takes its kernels along


def replace(operator: str, key: str = "PrivateUse1") -> Callable[[Callable[..., Any]], None]:
    """For a function that is given the kernel that was there, and then the arguments."""

    def made(function: Callable[..., Any]) -> None:
        was = torch.library.get_kernel(f"aten::{operator}", key)

        def kernel(keys: torch.DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
            return function(lambda *a, **k: was.call_boxed(keys, *a, **k), *args, **kwargs)

        library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel is overridden, which is the purpose
            library.impl(operator, kernel, key, with_keyset=True)
        _KEPT.append(library)

    return made


def number_as_tensor(number: Any, like: torch.Tensor) -> torch.Tensor:
    """What a kernel in Python is given as a number, for one that takes tensors only."""
    if isinstance(number, torch.Tensor):
        return number
    return torch.tensor(number, dtype=torch.result_type(like, number))
