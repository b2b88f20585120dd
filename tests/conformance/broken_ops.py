"""Operators that are each wrong in one way, for the harness's own tests.

With the CPU as the device, an operator is called twice for each sample: for the reference first,
then for the device. The second call is the broken one.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

Fault = Callable[[torch.Tensor, torch.Tensor], Any]


def samples(
    _op: OpInfo, device: str, dtype: torch.dtype, requires_grad: bool, **_: Any
) -> Iterator:
    for size in (2, 3, 4):
        values = torch.arange(1, size * size + 1, dtype=dtype, device=device).reshape(size, size)
        yield SampleInput(values.requires_grad_(requires_grad))


def broken(
    name: str, fault: Fault, *, dtypes: tuple = (torch.float32,), grad: bool = False
) -> OpInfo:
    """Doubles its argument; on the device `fault(argument, right result)` is what comes back."""
    calls = itertools.count()

    def op(x: torch.Tensor) -> Any:
        return fault(x, x * 2) if next(calls) % 2 else x * 2

    return OpInfo(
        name,
        op=op,
        dtypes=dtypes,
        sample_inputs_func=samples,
        supports_autograd=grad,
        supports_out=False,
    )


class WrongGradient(torch.autograd.Function):
    @staticmethod
    def forward(_ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(_ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 3


class AbortInBackward(torch.autograd.Function):
    @staticmethod
    def forward(_ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(_ctx: Any, _gradient: torch.Tensor) -> torch.Tensor:
        os.abort()


def raises(_x: torch.Tensor, _right: torch.Tensor) -> Any:
    raise NotImplementedError("no kernel\nand a second line")


def prints(_x: torch.Tensor, right: torch.Tensor) -> Any:
    os.write(1, b'{"event": "finish", "op": "forged"}\n')
    sys.stdout.write('{"event": "bye"}\n')
    return right


def only_off_by_one(x: torch.Tensor, right: torch.Tensor) -> Any:
    right[-1, -1] += 1
    return right


def bystander(name: str) -> OpInfo:
    return broken(name, lambda _, right: right, grad=True)


def cpu_raises(_x: torch.Tensor) -> Any:
    raise RuntimeError("not on the CPU either")


op_db = [
    bystander("a_right_one"),
    broken("wrong_value", only_off_by_one),
    broken("wrong_device", lambda _, right: right.to("meta")),
    broken("wrong_dtype", lambda _, right: right.double()),
    broken("wrong_shape", lambda _, right: right.flatten()),
    broken("wrong_layout", lambda _, right: right.to_sparse()),
    broken("wrong_structure", lambda _, right: (right, right)),
    broken("wrong_aliasing", lambda x, _: x.mul_(2)),
    broken("other_strides", lambda _, right: right.t().contiguous().t()),
    broken("changes_argument", lambda x, right: (x.zero_(), right)[1]),
    broken("wrong_exception", raises),
    broken("wrong_gradient", lambda x, _: WrongGradient.apply(x), grad=True),
    broken("no_gradient", lambda _, right: right.detach(), grad=True),
    broken("aborts", lambda *_: os.abort()),
    broken("aborts_in_backward", lambda x, _: AbortInBackward.apply(x), grad=True),
    broken("segfaults", lambda *_: ctypes.string_at(0), grad=True),
    broken("exits", lambda *_: os._exit(3)),
    broken("hangs", lambda *_: time.sleep(3600)),
    broken("prints", prints),
    broken("integers_only", only_off_by_one, dtypes=(torch.int64,)),
    broken("no_dtype", only_off_by_one, dtypes=()),
    OpInfo("cpu_raises", op=cpu_raises, dtypes=(torch.float32,), sample_inputs_func=samples),
    bystander("z_right_one"),
]
