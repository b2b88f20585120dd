"""torch.<name>.get_device_properties and its kin: what a device says of itself."""

from functools import cache
from typing import Any

from . import _native, device_module, name, publish


class _DeviceProperties:
    """The fields of torch.cuda's object that every device may have. A copy of what the device said,
    so that it can be used in a forked child, where torch.compile's workers run and where the device
    may not be asked."""

    name: str
    total_memory: int
    max_allocation: int
    multi_processor_count: int
    major: int
    minor: int
    warp_size: int | None
    max_threads_per_block: int | None
    is_integrated: bool
    is_host_addressable: bool
    kernels: str | None  # whose run on its memory in place: "cpu", or PyTorch's device "cuda:0"
    pci_id: str

    def __init__(self, fields: dict[str, Any]) -> None:
        vars(self).update(fields)
        # 0 stands for "the device has none": torch.compile divides by some of these.
        for each in ("warp_size", "max_threads_per_block"):
            vars(self)[each] = fields[each] or None

    def __setattr__(self, attribute: str, value: Any) -> None:
        raise AttributeError(f"what a device says of itself cannot be changed: {attribute}")

    @property
    def uuid(self) -> Any:
        import uuid

        own: bytes = vars(self)["_uuid"]
        return uuid.UUID(bytes=own) if any(own) else None

    def __repr__(self) -> str:
        """In the form of torch.cuda's."""
        return (
            f"{name}_device_properties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, "
            f"multi_processor_count={self.multi_processor_count})"
        )


@cache
def unchecked(device: int) -> _DeviceProperties:
    """As get_device_properties, but `device` is not checked. Asks the device once: after that it
    may be called in a forked child."""
    return _DeviceProperties(_native.device_info(device))


def get_device_properties(device: Any = None) -> _DeviceProperties:
    """What the device says of itself."""
    index = device_module._normalize_device(device)
    device_module.init()
    return unchecked(index)


def get_device_name(device: Any = None) -> str:
    """The device's name."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The device's capability as (major, minor)."""
    own = get_device_properties(device)
    return own.major, own.minor


def define() -> None:
    publish(device_module, _DeviceProperties, get_device_properties)
    publish(device_module, get_device_name, get_device_capability)
