"""What is checked of a sample in each phase: results, gradients, tangents, in place, out=."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

from . import known_errors
from .calls import CPU, Arguments, NothingToCompare, SameRefusal, run
from .comparing import BY_FLOAT64, Comparison, Mismatch, aliases, same_strides
from .described import Described
from .gradients import cotangents_of, requiring_grad
from .sampling import Call, copy_to

# What an entry says of out= in which the CPU leaves what it should not.
FUNCTIONAL = "functional_form"
_FUNCTIONAL = (
    "the CPU does not write into out= what it returns without: compared with what it returns"
)


def check_forward(
    op: Described, arguments: Arguments, comparison: Comparison, entry: dict[str, Any]
) -> None:
    """Results, arguments after the call, and which of them share memory."""
    expected, actual = _check_call(op, op.info, arguments, comparison)
    if not same_strides(actual, expected):
        entry["other_strides"] = True


def check_inplace(
    op: Described, arguments: Arguments, comparison: Comparison, _entry: dict[str, Any]
) -> None:
    """Tensor.op_(): the first argument changes as on the CPU, and is what is returned."""
    _check_call(op, op.info.get_inplace(), arguments, comparison, returns_input=True)


def check_backward(
    op: Described, arguments: Arguments, comparison: Comparison, _entry: dict[str, Any]
) -> None:
    """Gradients of all inputs that require one."""
    expected, actual = arguments.sides.both(
        lambda: gradients(op, arguments.on_cpu()), lambda: gradients(op, arguments.on_device())
    )
    in_float64 = arguments.in_float64(op.dtype, lambda call: gradients(op, call))
    comparison.check("gradient", actual, expected, in_float64)


def check_forward_ad(
    op: Described, arguments: Arguments, comparison: Comparison, _entry: dict[str, Any]
) -> None:
    """Results and their tangents, for fixed tangents of all inputs that can have one."""
    expected, actual = arguments.sides.both(
        lambda: tangents(op, arguments.on_cpu()), lambda: tangents(op, arguments.on_device())
    )
    in_float64 = arguments.in_float64(op.dtype, lambda call: tangents(op, call))
    comparison.check("tangent", actual, expected, in_float64)


def check_out(
    op: Described, arguments: Arguments, comparison: Comparison, _entry: dict[str, Any]
) -> None:
    """out= an empty tensor, which has to grow, and a transposed one, which has to stay so."""
    try:
        template = arguments.sides.ask_cpu(lambda: _plain_result(op, arguments.on_cpu()))
    except NothingToCompare:
        raise
    except Exception as error:
        raise arguments.sides.refusal(error, lambda: run(op.info, arguments.on_device())) from None
    refusals = []
    for what, form in (("empty", _empty), ("transposed", _transposed)):
        try:
            _check_out_form(op, arguments, comparison, what, template, form)
        except SameRefusal as same:
            refusals.append(same)
    if len(refusals) == 2:
        raise refusals[0]


def _check_out_form(
    op: Described,
    arguments: Arguments,
    comparison: Comparison,
    what: str,
    template: Any,
    form: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    """`template` is what the CPU returns without out=."""
    out = pytree.tree_map(form, template)
    outs = [out, pytree.tree_map(lambda t: copy_to(t, arguments.device), out)]
    calls = (arguments.on_cpu(), arguments.on_device())
    expected, actual = arguments.sides.both(
        lambda: run(op.info, calls[0], out=outs[0]),
        lambda: run(op.info, calls[1], out=outs[1]),
    )
    in_float64 = arguments.in_float64(op.dtype, lambda call: call.process(_plain_result(op, call)))

    def compare(name: str, mine: Any, cpus: Any, judge: Callable[[], Any] | None) -> None:
        dataclasses.replace(comparison, values=False).check(f"{name} {what}", mine, cpus)
        mine, cpus = calls[1].process(mine), calls[0].process(cpus)
        comparison.check(f"{name} {what}", mine, cpus, judge)

    layout = outs[0]
    try:
        compare("result", actual, expected, None)
        compare("out=", outs[1], outs[0], None)
    except Mismatch:
        if not comparison.values or _is_what_it_returns(calls[0], outs[0], template, comparison):
            compare("result", actual, expected, in_float64)
            compare("out=", outs[1], outs[0], in_float64)
        else:
            compare("out=", outs[1], template, in_float64)
            layout = template if form is _empty else pytree.tree_map(form, template)
            comparison.entry[FUNCTIONAL] = _FUNCTIONAL
    if _identities(actual, outs[1]) != _identities(expected, outs[0]):
        raise Mismatch(f"out= {what}: what is returned is not what was passed")
    if not same_strides(outs[1], layout):
        raise Mismatch(f"out= {what}: other strides than on the CPU")


def _is_what_it_returns(call: Call, out: Any, returned: Any, comparison: Comparison) -> bool:
    """Whether the CPU has written into out= what it returns without: some kernels write nothing."""
    on_cpu = dataclasses.replace(comparison, device=CPU, wider=None, entry={})
    try:
        on_cpu.check("out=", call.process(out), call.process(returned))
    except Mismatch:
        return False
    return True


def check_variant(
    op: Described, arguments: Arguments, comparison: Comparison, entry: dict[str, Any]
) -> None:
    """Results and gradients of a sample in another form."""
    check_forward(op, arguments, comparison, entry)
    if op.differentiable:
        try:
            check_backward(op, arguments, comparison, entry)
        except (NothingToCompare, SameRefusal):  # the results were an answer all the same
            entry["without_gradients"] = entry.get("without_gradients", 0) + 1


CHECKS: dict[str, Callable[[Described, Arguments, Comparison, dict[str, Any]], None]] = {
    "forward": check_forward,
    "backward": check_backward,
    "inplace": check_inplace,
    "out": check_out,
    "noncontiguous": check_variant,
    "empty": check_variant,
    "zero_dim": check_variant,
    "forward_ad": check_forward_ad,
    "conj_neg": check_variant,
}


def _check_call(
    op: Described,
    function: Callable,
    arguments: Arguments,
    comparison: Comparison,
    *,
    returns_input: bool = False,
) -> tuple[Any, Any]:
    cpu, device = arguments.on_cpu(), arguments.on_device()
    devices = [tensor.device for tensor in device.tensors()]
    expected, actual = arguments.sides.both(
        lambda: run(function, cpu), lambda: run(function, device)
    )
    dataclasses.replace(comparison, values=False).check("result", actual, expected)
    in_float64 = arguments.in_float64(
        op.dtype, lambda call: (call.process(run(function, call)), call.tensors())
    )
    mine = device.process(actual)
    try:
        comparison.check("result", mine, cpu.process(expected), lambda: in_float64()[0])
    except Mismatch:
        call = arguments.on_cpu()
        known = known_errors.reference(op.name, (call.input, *call.args), call.kwargs)
        if known is None:
            raise
        comparison.check("result", mine, call.process(known))
        comparison.entry[BY_FLOAT64] = known_errors.REMARK
    pairs = zip(devices, device.tensors(), cpu.tensors(), strict=True)
    for i, (where, mine, cpus) in enumerate(pairs):
        dataclasses.replace(comparison, device=where).check(
            *("argument after the call", mine, cpus), lambda i=i: in_float64()[1][i]
        )
    shared = aliases(actual, device.tensors())
    on_cpu = aliases(expected, cpu.tensors())
    if shared != on_cpu:
        raise Mismatch(
            f"aliasing: results share the memory of arguments {shared}, on the CPU {on_cpu}"
        )
    if returns_input and expected is cpu.input and actual is not device.input:
        raise Mismatch("what is returned is not the argument")
    return expected, actual


def gradients(op: Described, call: Call) -> list[torch.Tensor | None]:
    """Of the results as PyTorch's gradcheck would take them, for fixed cotangents."""
    results = run(lambda *a, **k: op.info.gradcheck_wrapper(op.info.get_op(), *a, **k), call)
    outputs = requiring_grad(call.process(results))
    inputs = requiring_grad(call.tensors())
    if not outputs or not inputs:
        raise NothingToCompare("no result that requires a gradient")
    return list(torch.autograd.grad(outputs, inputs, cotangents_of(outputs), allow_unused=True))


def tangents(op: Described, call: Call) -> list[torch.Tensor | None]:
    """Of the results, as forward mode AD takes them along with the results."""
    inputs = requiring_grad(call.tensors())
    if not inputs or any(tensor.layout != torch.strided for tensor in inputs):
        raise NothingToCompare("no input that has a tangent")
    with forward_ad.dual_level():
        detached = [tensor.detach() for tensor in inputs]
        made = map(forward_ad.make_dual, detached, cotangents_of(detached))
        duals = dict(zip(map(id, inputs), made, strict=True))
        arguments: Any = pytree.tree_map(
            lambda leaf: duals.get(id(leaf), leaf), (call.input, call.args, call.kwargs)
        )
        results = run(
            lambda *a, **k: op.info.gradcheck_wrapper(op.info.get_op(), *a, **k),
            Call(*arguments, process=call.process),
        )
        found = [
            forward_ad.unpack_dual(result).tangent
            for result in pytree.tree_leaves(call.process(results))
            if isinstance(result, torch.Tensor)
        ]
    if all(tangent is None for tangent in found):
        raise NothingToCompare("no result that has a tangent")
    return found


def _plain_result(op: Described, call: Call) -> Any:
    result = run(op.info, call)
    leaves = pytree.tree_leaves(result)
    if not all(isinstance(x, torch.Tensor) and x.layout == torch.strided for x in leaves):
        raise NothingToCompare("the result is not made of tensors that out= could take")
    # out= takes plain tuples and lists, results have names.
    return result if isinstance(result, (torch.Tensor, list)) else tuple(leaves)


def _empty(like: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=like.dtype)


def _transposed(like: torch.Tensor) -> torch.Tensor:
    reversed_shape = tuple(reversed(like.shape))
    return torch.ones(reversed_shape, dtype=like.dtype).permute(tuple(reversed(range(like.dim()))))


def _identities(results: Any, outs: Any) -> list[bool]:
    """Which results are the tensors that were passed; some operators return nothing."""
    pairs = zip(pytree.tree_leaves(results), pytree.tree_leaves(outs), strict=False)
    return [result is out for result, out in pairs]
