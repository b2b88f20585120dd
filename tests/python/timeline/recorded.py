"""What a profile has, as kineto has it: torch 2.11 passes on less in `events()`."""

from dataclasses import dataclass
from pathlib import Path

import torch_acme
from torch.autograd import DeviceType

_PACKAGE = Path(torch_acme.__file__).parents[1].name  # in the build tree, by the runtime

# Whether the runtime has records of the device's work, and ranges for the driver's tools. The host
# runtime has both, whatever its memory is like.
HAS_RECORDS = not _PACKAGE.startswith(
    ("python_cuda", "python_level_zero", "python_null", "python_custom")
)
HAS_RANGES = HAS_RECORDS and not _PACKAGE.startswith("python_opencl")


@dataclass
class Recorded:
    name: str
    id: int
    operator: int  # the id of the operator that it came from, 0 for none
    is_on_device: bool
    is_range: bool  # of record_function
    device: int
    row: int
    start: float  # in microseconds, as `end`
    end: float

    @property
    def length(self) -> float:
        return self.end - self.start


def everything(profiled) -> list[Recorded]:
    return [
        Recorded(
            event.name(),
            event.correlation_id(),
            event.linked_correlation_id(),
            event.device_type() == DeviceType.PrivateUse1,
            event.is_user_annotation(),
            event.device_index(),
            event.device_resource_id(),
            event.start_ns() / 1000,
            event.end_ns() / 1000,
        )
        for event in profiled.profiler.kineto_results.events()
    ]


def on_device(profiled) -> list[Recorded]:
    """The pieces on the device's rows, in the order of their beginnings."""
    pieces = [each for each in everything(profiled) if each.is_on_device and not each.is_range]
    return sorted(pieces, key=lambda piece: piece.start)


def on_host(profiled) -> list[Recorded]:
    return [each for each in everything(profiled) if not each.is_on_device]


def from_where(profiled, piece) -> Recorded:
    """The operator that a piece came from."""
    return {each.id: each for each in on_host(profiled)}[piece.operator]
