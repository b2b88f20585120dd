"""Copies between devices and the host."""

from __future__ import annotations

import threading

import torch

from .defect import defect
from .kernels import replace


@defect("data", "goes_there_and_back[float32]", says="other numbers", blind=True)
def host_copy_is_late() -> None:
    """A blocking copy to the host returns before the data is there."""

    @replace("copy_")
    def _(copy_, destination, source, non_blocking=False):
        if destination.device.type != "cpu" or non_blocking:
            return copy_(destination, source, non_blocking)
        later = torch.empty_like(destination)
        copy_(later, source, False)
        raw = destination.detach()
        threading.Timer(0.02, lambda: raw.copy_(later)).start()
        return destination
