"""Streams and the order of work."""

from __future__ import annotations

import torch

from .defect import defect


@defect("?", "?", blind=True)
def stream_stays_current() -> None:
    """`with torch.acme.stream(s)` leaves s current when it ends."""
    torch.acme.StreamContext.__exit__ = lambda self, *_: None


@defect("?", "?", blind=True)
def warning_mode_says_nothing() -> None:
    """set_sync_debug_mode("warn") is remembered, and nothing warns."""
    mode = [0]

    def set_sync_debug_mode(debug_mode):
        mode[0] = {"default": 0, "warn": 1, "error": 2}.get(debug_mode, debug_mode)

    torch.acme.set_sync_debug_mode = set_sync_debug_mode
    torch.acme.get_sync_debug_mode = lambda: mode[0]
