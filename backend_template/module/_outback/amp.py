"""torch.<name>.amp: torch.amp's names, with this device as their device type already."""

import functools
from typing import Any

import torch

from . import _native, device_module, name, publish


class autocast(torch.amp.autocast):
    """torch.autocast for this device. Without `dtype` it casts to what torch.get_autocast_dtype()
    answers in this thread: the first of get_amp_supported_dtype() in the thread that registered the
    backend, float16 in others, until torch.set_autocast_dtype()."""

    def __init__(
        self, enabled: bool = True, dtype: torch.dtype | None = None, cache_enabled: bool = True
    ) -> None:
        super().__init__(name, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class _Scale(torch.Tensor):
    """The scale on a device without float64."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    def double(self) -> torch.Tensor:
        """It stays float32. The scale is a power of two unless a factor is chosen that is none, and
        the reciprocal of one is exact."""
        return self.as_subclass(torch.Tensor)


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler for this device."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        numbers = (init_scale, growth_factor, backoff_factor, growth_interval)
        super().__init__(name, *numbers, enabled=enabled)


def _teach_scalers() -> None:
    """Each scaler of PyTorch's, that of FSDP too, asks its scale for the reciprocal in float64."""
    torchs = torch.amp.GradScaler._lazy_init_scale_growth_tracker

    @functools.wraps(torchs)
    def _lazy_init_scale_growth_tracker(self: torch.amp.GradScaler, dev: torch.device) -> None:
        torchs(self, dev)
        assert self._scale is not None, "it has just been made"
        if self._scale.device.type == name and not _native.supports(torch.float64):
            self._scale = self._scale.as_subclass(_Scale)

    torch.amp.GradScaler._lazy_init_scale_growth_tracker = (  # type: ignore[method-assign]
        _lazy_init_scale_growth_tracker
    )


def amp_definitely_not_available() -> bool:
    """Whether there is no device to autocast on."""
    return not device_module.is_available()


def define(amp: Any) -> None:
    own = (autocast, GradScaler, amp_definitely_not_available)
    publish(amp, *own)
    _teach_scalers()
    decorators = ("custom_fwd", "custom_bwd")
    for decorator in decorators:
        setattr(amp, decorator, functools.partial(getattr(torch.amp, decorator), device_type=name))
    amp.__all__ = [*(member.__name__ for member in own), *decorators]
