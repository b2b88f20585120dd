"""Operators that are each wrong in one way, for the harness's own tests.

With the CPU as the device, every form of an operator is called twice for each sample: for the
reference first, then for the device. The second call is the broken one.
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

Function = Callable[[torch.Tensor], Any]
Fault = Callable[[torch.Tensor, Any], Any]


def samples(_: OpInfo, device: str, dtype: torch.dtype, requires_grad: bool, **__: Any) -> Iterator:
    for size in (2, 3, 4):
        values = torch.arange(1, size * size + 1, dtype=dtype, device=device).reshape(size, size)
        yield SampleInput(values.requires_grad_(requires_grad))


def scalars_first(*arguments: Any, **options: Any) -> Iterator:
    """Three samples without dimensions, then `samples`."""
    for sample in samples(*arguments, **options):
        scalar = sample.input.detach().sum().requires_grad_(sample.input.requires_grad)
        yield SampleInput(scalar)
    yield from samples(*arguments, **options)


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def every_second_time(right: Callable, wrong: Callable) -> Callable:
    calls = itertools.count()
    return lambda *a, **k: (wrong if next(calls) % 2 else right)(*a, **k)


def op_info(name: str, op: Callable, **more: Any) -> OpInfo:
    about = {"dtypes": (torch.float32,), "supports_out": False, "supports_autograd": False}
    return OpInfo(name, op=op, **({"sample_inputs_func": samples} | about | more))


def is_plain(x: torch.Tensor) -> bool:
    """Whether it is of the samples as they are, rather than in another form."""
    return x.is_contiguous() and x.dim() == 2 and x.numel() > 0 and not x.is_neg()


def ends(name: str, how: Callable[[], Any]) -> OpInfo:
    """On the device it does not come back, once for each operator: crashes take seconds."""
    return broken(name, lambda x, right: how() if is_plain(x) else right)


def broken_if(name: str, condition: Callable[[torch.Tensor], bool], **more: Any) -> OpInfo:
    return broken(name, lambda x, right: right + 1 if condition(x) else right, **more)


def broken(name: str, fault: Fault, *, right: Function = doubled, **more: Any) -> OpInfo:
    """On the device, `fault(argument, right result)` is what comes back."""
    return op_info(name, every_second_time(right, lambda x: fault(x, right(x))), **more)


def broken_inplace(name: str, fault: Function) -> OpInfo:
    inplace = every_second_time(lambda x: x.mul_(2), fault)
    return op_info(name, doubled, inplace_variant=inplace)


def broken_out(name: str, fault: Callable[[torch.Tensor, torch.Tensor], Any]) -> OpInfo:
    with_out = every_second_time(lambda x, out: torch.mul(x, 2, out=out), fault)

    def op(x: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
        return doubled(x) if out is None else with_out(x, out)

    return op_info(name, op, supports_out=True)


def bystander(name: str) -> OpInfo:
    return op_info(
        name,
        lambda x, **k: torch.mul(x, 2, **k),
        inplace_variant=lambda x: x.mul_(2),
        supports_autograd=True,
        supports_forward_ad=True,
        supports_out=True,
    )


class WrongGradient(torch.autograd.Function):
    @staticmethod
    def forward(_ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(_ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 3


class WrongTangent(torch.autograd.Function):
    @staticmethod
    def forward(_ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def jvp(_ctx: Any, tangent: torch.Tensor) -> torch.Tensor:
        return tangent * 3


class AbortInBackward(WrongGradient):
    @staticmethod
    def backward(_ctx: Any, _gradient: torch.Tensor) -> torch.Tensor:
        os.abort()


def abort_in_backward(x: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return AbortInBackward.apply(x) if is_plain(x) else right


class WrongGradientWithGaps(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.factor = 2 if x.is_contiguous() else 3
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * ctx.factor


def raises(_x: torch.Tensor, _right: torch.Tensor) -> Any:
    raise NotImplementedError("no kernel\nand a second line")


def cpu_raises(_x: torch.Tensor) -> Any:
    raise RuntimeError("not on the CPU either")


def cpu_raises_on_nothing(x: torch.Tensor) -> torch.Tensor:
    if x.numel() == 0:
        raise RuntimeError("nothing to double")
    return doubled(x)


def raises_another_type(_x: torch.Tensor) -> Any:
    raise ValueError("not here")


def cpu_aborts(x: torch.Tensor) -> torch.Tensor:
    return os.abort() if is_plain(x) else doubled(x)


def prints(_x: torch.Tensor, right: torch.Tensor) -> Any:
    os.write(1, b'{"event": "result", "op": "forged", "phase": "forward", "entry": {}}\n')
    sys.stdout.write('{"event": "bye"}\n')
    return right


def off_by_one(_x: torch.Tensor, right: torch.Tensor) -> Any:
    right[-1, -1] += 1
    return right


def writes_but_returns_another(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    return torch.mul(x, 2, out=out).clone()


def replaces_the_memory(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    out.data = doubled(x)
    return out


class Scaled(torch.autograd.Function):
    """Twice the argument; the gradient has another factor."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.factor = factor
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple:
        return gradient * ctx.factor, None


def by_side(cpu: Function, device: Function) -> Function:
    """As every_second_time; what is asked in float64, to judge by, is right and does not count."""
    sides = every_second_time(cpu, device)
    return lambda x: doubled(x) if x.dtype == torch.float64 else sides(x)


def off_by(factor: float) -> Function:
    """The result is off by so much of it, everywhere."""
    return lambda x: doubled(x) * (1 + factor)


def off_once(x: torch.Tensor) -> torch.Tensor:
    """By a whole number, in one element, as where a number is rounded to the next one."""
    result = doubled(x)
    if result.numel():
        result.flatten()[0] += 1
    return result


def infinite_once(x: torch.Tensor) -> torch.Tensor:
    result = doubled(x)
    if result.numel():
        result.view(-1)[0] = torch.inf
    return result


def gradient_by_side(cpu: float, device: float) -> Function:
    """The gradient's factor on each side, which is 2 where it is right."""
    factors = by_side(lambda _: cpu, lambda _: device)
    return lambda x: Scaled.apply(x, 2.0 if x.dtype == torch.float64 else factors(x))


def unwritten_by_the_cpu(name: str, device: Callable[..., torch.Tensor]) -> OpInfo:
    """The CPU's writes nothing into out= that is not contiguous, `device` is the device's."""

    def cpu(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return torch.mul(x, 2, out=out) if out.is_contiguous() else out

    with_out = every_second_time(cpu, device)

    def op(x: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
        return doubled(x) if out is None else with_out(x, out)

    return op_info(name, op, supports_out=True)


TWO_DTYPES = (torch.float32, torch.bfloat16)
AUTOGRAD = {"supports_autograd": True}

op_db = [
    bystander("a_right_one"),
    broken("wrong_value", off_by_one),
    broken("wrong_device", lambda _, right: right.to("meta")),
    broken("wrong_dtype", lambda _, right: right.double()),
    broken("wrong_shape", lambda _, right: right.flatten()),
    broken("wrong_layout", lambda _, right: right.to_sparse()),
    broken("wrong_structure", lambda _, right: (right, right)),
    broken("a_view_made_a_copy", lambda _, view: view.clone(), right=lambda x: x.view(-1)),
    broken("a_copy_made_a_view", lambda x, _: x.view(-1), right=lambda x: x.flatten().clone()),
    broken("other_strides", lambda _, right: right.t().contiguous().t()),
    broken("changes_its_argument", lambda x, right: (x.zero_(), right)[1]),
    broken("wrong_exception", raises),
    broken("wrong_gradient", lambda x, _: WrongGradient.apply(x), **AUTOGRAD),
    broken("no_gradient", lambda _, right: right.detach(), **AUTOGRAD),
    broken(
        "wrong_tangent", lambda x, _: WrongTangent.apply(x), supports_forward_ad=True, **AUTOGRAD
    ),
    broken_inplace("inplace_does_nothing", lambda x: x),
    broken_inplace("inplace_returns_a_copy", lambda x: x.mul_(2).clone()),
    broken_out("out_is_ignored", lambda x, _: doubled(x)),
    broken_out("out_is_not_returned", writes_but_returns_another),
    broken_out("out_gets_other_memory", replaces_the_memory),
    ends("aborts", os.abort),
    broken("aborts_in_backward", abort_in_backward, **AUTOGRAD),
    ends("segfaults", lambda: ctypes.string_at(0)),
    ends("exits", lambda: os._exit(3)),
    ends("hangs", lambda: time.sleep(3600)),
    op_info("cpu_aborts", every_second_time(cpu_aborts, doubled)),
    broken("prints", prints),
    broken("halves_only", off_by_one, dtypes=(torch.float16,)),
    broken("no_dtype", off_by_one, dtypes=()),
    broken_if("wrong_with_gaps", lambda x: not x.is_contiguous()),
    broken_if("wrong_with_nothing", lambda x: x.numel() == 0, right=lambda x: x.sum()),
    broken_if("wrong_without_dimensions", lambda x: x.dim() == 0),
    broken_if("wrong_with_negated", lambda x: x.is_neg()),
    broken("wrong_gradient_with_gaps", lambda x, _: WrongGradientWithGaps.apply(x), **AUTOGRAD),
    broken_if("wrong_with_bfloat16", lambda x: x.dtype == torch.bfloat16, dtypes=TWO_DTYPES),
    broken_if(
        "wrong_with_nothing_later",
        lambda x: x.numel() == 0,
        sample_inputs_func=scalars_first,
        right=lambda x: x.sum(),
    ),
    op_info("cpu_raises", cpu_raises),
    op_info("cpu_raises_on_nothing", cpu_raises_on_nothing),
    op_info("only_cpu_raises", every_second_time(cpu_raises, doubled)),
    op_info("raises_another_type", every_second_time(cpu_raises, raises_another_type)),
    op_info("cpu_rounds", by_side(off_by(1e-3), doubled)),
    op_info("rounds_less_than_the_cpu", by_side(off_by(1e-3), off_by(-9e-4))),
    op_info("rounds_more_than_the_cpu", by_side(off_by(1e-3), off_by(-2e-3))),
    op_info("rounds_where_the_cpu_is_exact", by_side(doubled, off_by(1e-3))),
    op_info("off_where_the_cpu_is_off_once", by_side(off_once, off_by(1e-3))),
    op_info("off_where_the_cpu_is_infinite", by_side(infinite_once, off_by(1e-3))),
    op_info("right_where_the_cpu_is_infinite", by_side(infinite_once, doubled)),
    op_info("cpu_rounds_gradients", gradient_by_side(2.002, 2.0), **AUTOGRAD),
    op_info("rounds_gradients_more", gradient_by_side(2.002, 1.99), **AUTOGRAD),
    unwritten_by_the_cpu("written_where_the_cpu_does_not", lambda x, out: torch.mul(x, 2, out=out)),
    unwritten_by_the_cpu(
        "wrong_where_the_cpu_does_not_write", lambda x, out: torch.mul(x, 3, out=out)
    ),
    bystander("z_right_one"),
]
