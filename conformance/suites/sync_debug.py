"""set_sync_debug_mode: calls that wait for the device are found."""

from __future__ import annotations

import warnings

import torch

from ..backend import Backend
from ..check import check

SYNCHRONIZING = {
    "item()": lambda x: x[0].item(),
    "cpu()": lambda x: x.cpu(),
    "to the device": lambda x: torch.ones(3).to(x.device),
    "tolist()": lambda x: x.tolist(),
    "nonzero()": lambda x: x.nonzero(),
    "masked_select()": lambda x: x.masked_select(x > 1),
    "unique()": torch.unique,
    "equal()": lambda x: torch.equal(x, x),
    "bool()": lambda x: bool(x[0] > 1),
    "a copy from the CPU": lambda x: x.copy_(torch.ones(4)),
    "Stream.synchronize()": lambda x: torch.accelerator.current_stream().synchronize(),
}


@check(
    called_by="torch/cuda/__init__.py: set_sync_debug_mode",
    without="calls that stop the device cannot be found",
)
def the_mode_warn_warns(backend: Backend) -> None:
    """With set_sync_debug_mode("warn") each call that waits for the device warns, and with
    "default" none does."""
    set_mode = backend.need("set_sync_debug_mode")
    x = torch.arange(4.0, device=backend.device)
    try:
        for name, call in SYNCHRONIZING.items():
            set_mode("warn")
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                call(x)
            set_mode("default")
            assert any("synchroniz" in str(w.message) for w in said), f"{name}: no warning"
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                call(x)
            assert not said, f"{name} warns in the default mode: {said[0].message}"
    finally:
        set_mode("default")


@check(
    called_by="torch/cuda/__init__.py: set_sync_debug_mode",
    without="calls that stop the device cannot be found",
)
def the_mode_error_raises(backend: Backend) -> None:
    """With set_sync_debug_mode("error") each call that waits for the device raises a RuntimeError,
    what does not wait is not reported, and get_sync_debug_mode() tells the mode."""
    set_mode, get_mode = backend.need("set_sync_debug_mode"), backend.need("get_sync_debug_mode")
    x, y = torch.arange(4.0, device=backend.device), torch.empty(4, device=backend.device)
    try:
        for mode, number in (("default", 0), ("warn", 1), ("error", 2), (1, 1), (2, 2)):
            set_mode(mode)
            assert get_mode() == number, f"{mode!r}: {get_mode()}"
        for name, call in SYNCHRONIZING.items():
            try:
                call(x)
            except RuntimeError as error:
                assert "synchroniz" in str(error), f"{name}: {error}"
            else:
                raise AssertionError(f"{name} waits for the device, and raised nothing")
        torch.empty(3, device=backend.device).zero_()
        y.copy_(x)
        torch.ones(3).to(backend.device, non_blocking=True)
        event = torch.accelerator.current_stream().record_event()
        event.query()
        # Asked for by name: torch.cuda reports neither.
        event.synchronize()
        torch.accelerator.synchronize(backend.device)
    finally:
        set_mode("default")
    assert x.tolist() == [0, 1, 2, 3] and y.tolist() == x.tolist()


@check(
    called_by="torch/cuda/__init__.py: set_sync_debug_mode",
    without="a misspelt mode finds nothing",
)
def there_are_three_modes(backend: Backend) -> None:
    """set_sync_debug_mode refuses what is none of its modes, and keeps the one before."""
    set_mode, get_mode = backend.need("set_sync_debug_mode"), backend.need("get_sync_debug_mode")
    for mode in ("loud", 3, -1):
        try:
            set_mode(mode)
        except RuntimeError:
            assert get_mode() == 0
        else:
            set_mode("default")
            raise AssertionError(f"the mode {mode!r} was accepted")
