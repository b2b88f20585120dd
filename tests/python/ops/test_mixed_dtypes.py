"""Operators of two and three tensors whose dtypes differ. PyTorch's samples have one dtype for all
arguments, and some operators take another way where the dtypes differ: ldexp of integers calls one
of torch's dispatch stubs, which until torch 2.12 a device without an entry for it may not call."""

import itertools

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory

# What they return is random or uninitialised.
LEFT_OUT = ("empty", "rand", "bernoulli", "binomial", "dropout", "normal")
PAIRS = [
    *((torch.float32, other) for other in (torch.int64, torch.int8, torch.bool, torch.float64)),
    *((torch.float16, other) for other in (torch.int32, torch.float32)),
    *((torch.int64, other) for other in (torch.float32, torch.uint8)),
    *((torch.bfloat16, torch.int64), (torch.int16, torch.int32), (torch.complex64, torch.int64)),
]


def tensors_of(schema) -> int | None:
    """How many tensors a call begins with, if it needs nothing else; the last may be out=."""
    needed = [it for it in schema.arguments if not it.has_default_value()]
    if any(str(it.type) != "Tensor" for it in needed) or (schema.is_mutable and len(needed) < 2):
        return None
    return len(needed) if len(needed) in (2, 3) else None


def operators() -> dict[str, object]:
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        kind, _, name = schema.name.partition("::")
        if kind != "aten" or any(part in name for part in LEFT_OUT):
            continue
        overload = schema.overload_name or "default"
        packet = getattr(torch.ops.aten, name, None)
        if packet is None or overload not in packet.overloads() or tensors_of(schema) is None:
            continue
        call = getattr(packet, overload)
        # Others read what is not theirs if their arguments do not belong together.
        if torch.Tag.pointwise in call.tags:
            found[f"{name}.{overload}"] = call
    return found


OPERATORS = operators()


def outcome(call, device: str, dtypes) -> object:
    """The results and the tensors that a call has changed, or the error."""
    arguments = [
        torch.tensor(values).to(dtype).to(device)
        for values, dtype in zip(([1, 2, 3, 1], [2, 1, 3, 2], [1, 1, 2, 0]), dtypes, strict=False)
    ]
    schema = call._schema
    named = [it.name for it in schema.arguments if it.kwarg_only and not it.has_default_value()]
    positional = arguments[: len(arguments) - len(named)]
    try:
        result = call(*positional, **dict(zip(named, arguments[len(positional) :], strict=True)))
    except (RuntimeError, IndexError, TypeError, NotImplementedError) as error:
        return error
    results = result if isinstance(result, (tuple, list)) else (result,)
    return [it.cpu() for it in (*results, *arguments) if isinstance(it, torch.Tensor)]


def differences(dtypes_of_call) -> list[str]:
    found = []
    for (name, call), dtypes in itertools.product(OPERATORS.items(), dtypes_of_call):
        count = tensors_of(call._schema)
        on_cpu = outcome(call, "cpu", (*dtypes, dtypes[0])[:count])
        if isinstance(on_cpu, Exception):
            continue
        here = outcome(call, "acme", (*dtypes, dtypes[0])[:count])
        what = f"{name} of {', '.join(map(str, dtypes))}"
        if isinstance(here, Exception):
            found.append(f"{what}: {str(here).splitlines()[0]}")
            continue
        try:
            torch.testing.assert_close(here, on_cpu, equal_nan=True)
        except AssertionError as error:
            found.append(f"{what}: {error}")
    return found


def test_there_are_operators_to_compare():
    assert len(OPERATORS) > 200 and "ldexp.Tensor" in OPERATORS and "ldexp_.default" in OPERATORS


@pytest.mark.parametrize("dtypes", PAIRS, ids=lambda it: "_".join(map(str, it)))
def test_operators_of_mixed_dtypes_are_the_cpus(dtypes):
    assert differences([dtypes]) == []


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_ldexp_overflows_no_earlier_than_the_cpus(dtype):
    x = torch.tensor([2.0**-14, 1.5, 3.0], dtype=dtype)
    exponents = torch.tensor([140, -4, -149])
    got = torch.ldexp(x.to("acme"), exponents.to("acme"))
    torch.testing.assert_close(got.cpu(), torch.ldexp(x, exponents), rtol=0, atol=0)
    out = torch.empty_like(x, device="acme")
    torch.ldexp(x.to("acme"), exponents.to("acme"), out=out)
    torch.testing.assert_close(out.cpu(), torch.ldexp(x, exponents), rtol=0, atol=0)


def test_the_gradient_of_ldexp():
    def gradient(device: str) -> torch.Tensor:
        x = torch.tensor([1.0, -1.5, 0.75], device=device, requires_grad=True)
        torch.ldexp(x, torch.tensor([1, 2, 3], device=device)).sum().backward()
        return x.grad

    torch.testing.assert_close(gradient("acme").cpu(), gradient("cpu"))
