"""A test's name without the device, by which the test of a backend finds that of the CPU.

PyTorch calls them TestTorchDeviceTypePRIVATEUSE1.test_add_acme_float32, where the class may have
the device's name as well, and TestTorchDeviceTypeCPU.test_add_cpu_float32: here both are
TestTorchDeviceType.test_add with the dtype float32.
"""

from __future__ import annotations

import dataclasses
import re

_DTYPE = "|".join(
    (
        *("bfloat16", "bool", "complex(?:32|64|128)", "u?int(?:1|2|3|4|5|6|7|8|16|32|64)"),
        *("float8_e[0-9]m[0-9]+(?:fn)?(?:uz|u)?", "float4_e2m1fn_x2", "float(?:16|32|64)"),
        *("qu?int(?:4x2|2x4|8|32)", "bits(?:1x8|2x4|4x2|8|16)"),
    )
)
_DTYPES = re.compile(f"(?:{_DTYPE})(?:_(?:{_DTYPE}))*")
PRIVATEUSE1 = "PRIVATEUSE1"


@dataclasses.dataclass(frozen=True)
class Name:
    """`dtype` may be several, float32_int64, or none."""

    test: str
    dtype: str = ""

    @property
    def key(self) -> str:
        return f"{self.test}/{self.dtype}" if self.dtype else self.test


def name_of(class_name: str, method: str, device_type: str) -> Name:
    """Of a test that PyTorch has made for that device type."""
    for suffix in (device_type.upper(), PRIVATEUSE1):
        if class_name.endswith(suffix):
            class_name = class_name.removesuffix(suffix)
            break
    found = re.fullmatch(f"(.*)_{re.escape(device_type)}(?:_(.+))?", method)
    if found is None:
        return Name(f"{class_name}.{method}")
    test, dtype = found[1], found[2] or ""
    if dtype and not _DTYPES.fullmatch(dtype):
        test, dtype = f"{test}_{dtype}", ""
    return Name(f"{class_name}.{test}", dtype)


def has_only(dtype: str, dtypes: tuple[str, ...]) -> bool:
    """Whether `dtype`, as a Name has it, is of those and no other ones."""
    known = "|".join(map(re.escape, dtypes))
    return not dtype or re.fullmatch(f"(?:{known})(?:_(?:{known}))*", dtype) is not None
