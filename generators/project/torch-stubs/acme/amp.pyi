# Made by ./dev docs from the module itself: what type checkers see of torch.acme.
import typing

import torch

__all__ = [
    "GradScaler",
    "amp_definitely_not_available",
    "autocast",
    "custom_bwd",
    "custom_fwd",
]

class GradScaler(torch.amp.grad_scaler.GradScaler):
    """torch.amp.GradScaler for this device."""
    def __init__(
        self,
        init_scale: float = ...,
        growth_factor: float = ...,
        backoff_factor: float = ...,
        growth_interval: int = ...,
        enabled: bool = ...,
    ) -> None: ...

def amp_definitely_not_available() -> bool:
    """Whether there is no device to autocast on."""

class autocast(torch.amp.autocast_mode.autocast):
    """torch.autocast for this device. Without `dtype` it casts to what torch.get_autocast_dtype()
    answers in this thread: the first of get_amp_supported_dtype() in the thread that registered the
    backend, float16 in others, until torch.set_autocast_dtype().
    """
    def __init__(
        self,
        enabled: bool = ...,
        dtype: torch.dtype | None = ...,
        cache_enabled: bool = ...,
    ) -> None: ...

def custom_bwd(bwd: typing.Any = ..., *, device_type: typing.Any = ...) -> typing.Any:
    """Create a helper decorator for backward methods of custom autograd functions.

    Autograd functions are subclasses of :class:`torch.autograd.Function`.
    Ensures that ``backward`` executes with the same autocast state as ``forward``.
    See the :ref:`example page<amp-custom-examples>` for more detail.

    Args:
        device_type(str):  Device type to use. 'cuda', 'cpu', 'mtia', 'maia', 'xpu' and so on.
            The type is the same as the `type` attribute of a :class:`torch.device`.
            Thus, you may obtain the device type of a tensor using `Tensor.device.type`.
    """

def custom_fwd(
    fwd: typing.Any = ...,
    *,
    device_type: typing.Any = ...,
    cast_inputs: typing.Any = ...,
) -> typing.Any:
    """Create a helper decorator for ``forward`` methods of custom autograd functions.

    Autograd functions are subclasses of :class:`torch.autograd.Function`.
    See the :ref:`example page<amp-custom-examples>` for more detail.

    Args:
        device_type(str):  Device type to use. 'cuda', 'cpu', 'mtia', 'maia', 'xpu' and so on.
            The type is the same as the `type` attribute of a :class:`torch.device`.
            Thus, you may obtain the device type of a tensor using `Tensor.device.type`.
        cast_inputs (:class:`torch.dtype` or None, optional, default=None):  If not ``None``,
            when ``forward`` runs in an autocast-enabled region, casts incoming
            floating-point Tensors to the target dtype (non-floating-point Tensors are not affected),
            then executes ``forward`` with autocast disabled.
            If ``None``, ``forward``'s internal ops execute with the current autocast state.

    .. note::
        If the decorated ``forward`` is called outside an autocast-enabled region,
        :func:`custom_fwd<custom_fwd>` is a no-op and ``cast_inputs`` has no effect.
    """
