"""What the sources beside this file call of the library (module/native.cpp)."""

from typing import Any

import torch

def check_addressable(device: int) -> None:
    """Raises NotImplementedError, which says what to do, where the CPU cannot address the device's
    memory."""

def default_generators() -> tuple[torch.Generator, ...]:
    """Those that operators use when the caller gives none, one for each device. Starts nothing."""

def device_properties(device: int) -> Any:
    """As get_device_properties, but starts nothing, and `device` is not checked."""

def qualify_name(cls: type) -> None:
    """Makes "torch.acme.FloatTensor" the name that C sees, which is else "FloatTensor"."""

def raw_stream(device_idx: Any) -> int:
    """The runtime's handle of the current stream, which compiled code passes to kernels."""

def set_sync_debug_mode(mode: int) -> None:
    """0, 1 or 2, as torch.cuda's."""

def supports(dtype: torch.dtype) -> bool:
    """Whether the device can have tensors of this dtype. Raises TypeError for what is no dtype."""

def supports_all() -> bool:
    """Whether there is no dtype that the device cannot have."""

def take_snapshot() -> dict[str, Any]:
    """What the allocator holds and what was recorded of it, as the dict of torch.cuda's."""
