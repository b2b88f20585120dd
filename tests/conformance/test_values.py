"""The suite of values has every binary operator that PyTorch describes."""

from __future__ import annotations

from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo

from conformance.suites.values import BINARY, MIXED


def test_every_binary_operator_is_given_two_dtypes():
    described = {info.name for info in op_db if isinstance(info, BinaryUfuncInfo)}
    of_cuda = {name for name in described if name.startswith("jiterator_")}
    reversed_ones = {name for name in described if name.startswith("__r")}  # of the others
    assert "div, truncated" in BINARY and "div, rounded down" in BINARY
    assert described - of_cuda - reversed_ones - {"div"} - BINARY.keys() == set()
    assert len(MIXED) ** 2 == 36
