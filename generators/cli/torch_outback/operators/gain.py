"""What a kernel of one's own would gain: the time that an operator took, less the least time in
which a device of a given bandwidth and speed can do its work. The wait for what the device did
before is no gain: another operator took that time."""

from __future__ import annotations

import dataclasses
import math
import re

from ..refused import Refused
from .document import Calls, Document

# Those of the vendor's are there already, those of Outback's own move and make tensors, and a
# composed operator is made of others, which count for themselves.
REPLACEABLE = ("in place", "over copies")

# The CPU's own, in which it does the work of an operator that a device has, and that one.
_IN_PLACE_OF = {
    "aten::mkldnn_rnn_layer": "aten::lstm.input",
    "aten::mkldnn_rnn_layer_backward": "aten::lstm.input",
    "aten::_scaled_dot_product_flash_attention_for_cpu": (
        "aten::_scaled_dot_product_fused_attention_overrideable"
    ),
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": (
        "aten::_scaled_dot_product_fused_attention_overrideable_backward"
    ),
}
_OF_THE_CPU = re.compile(r"aten::_?(mkldnn|onednn|nnpack|fbgemm)_")

_PREFIXES = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_FORM = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?) *([kKMGTP]?)(B/s|FLOP/s)")


@dataclasses.dataclass(frozen=True)
class DeviceModel:
    bandwidth: float = math.inf  # bytes a second
    flop_rate: float = math.inf  # FLOPs a second

    @property
    def is_known(self) -> bool:
        return math.isfinite(self.bandwidth) or math.isfinite(self.flop_rate)

    def least_ns(self, calls: Calls) -> float:
        by_bytes = calls.tensor_bytes / self.bandwidth
        return 1e9 * max(by_bytes, (calls.flops or 0) / self.flop_rate)

    def __str__(self) -> str:
        return f"{_rounded(self.bandwidth)}B/s, {_rounded(self.flop_rate)}FLOP/s"


def read_model(text: str) -> DeviceModel:
    """Of "2TB/s,100TFLOP/s", either of which may be missing. Refused for all else."""
    found = {}
    for part in filter(None, (it.strip() for it in text.split(","))):
        match = _FORM.fullmatch(part)
        value = _number(match.group(1)) * _PREFIXES[match.group(2)] if match else 0.0
        if not match or not value or math.isinf(value) or match.group(3) in found:
            raise Refused(
                f"--device-model {text}: expected a bandwidth and a speed, such as "
                f"2TB/s,100TFLOP/s; of {part} nothing can be made"
            )
        found[match.group(3)] = value
    return DeviceModel(found.get("B/s", math.inf), found.get("FLOP/s", math.inf))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _rounded(value: float) -> str:
    if not math.isfinite(value):
        return "any "
    for prefix in "PTGMk":
        if value >= _PREFIXES[prefix]:
            return f"{value / _PREFIXES[prefix]:g} {prefix}"
    return f"{value:g} "


@dataclasses.dataclass(frozen=True)
class Gain:
    calls: Calls
    gain_ns: float
    by_bytes_alone: bool  # nobody knows a formula for its FLOPs

    @property
    def to_write(self) -> str:
        """The operator of a device's that the time is gained by."""
        return _IN_PLACE_OF.get(self.calls.name, self.calls.name)

    @property
    def shown(self) -> str:
        """With the signature of what was called."""
        called = self.calls.signature
        return called if self.to_write == self.calls.name else f"{self.to_write}, for {called}"


def gains(document: Document, model: DeviceModel) -> list[Gain]:
    """Of the operators that a kernel of one's own would replace, the largest gain first. Those that
    nobody writes for a device are left out."""
    found = [
        Gain(row, max(0.0, row.spent_ns - model.least_ns(row)), row.flops is None)
        for row in document.operators
        if row.served in REPLACEABLE and not _is_of_cpu_alone(row)
    ]
    return sorted(found, key=lambda it: -it.gain_ns)


def left_out(document: Document) -> list[str]:
    """The operators for what the CPU's libraries do, in whose place a device has none."""
    return sorted({it.name for it in document.operators if _is_of_cpu_alone(it)})


def _is_of_cpu_alone(row: Calls) -> bool:
    return row.operator not in _IN_PLACE_OF and bool(_OF_THE_CPU.match(row.operator))
