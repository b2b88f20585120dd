"""Arithmetic into a tensor that is there: out=, and what torch composes of it, beside the CPU's."""

import pytest
import torch

from .conftest import assert_equals_the_cpu, rand

pytestmark = pytest.mark.turns_on_memory

OPERATORS = [torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum]


def into_an_input(op, on):
    x = on(rand(3, 4))
    return op(x, on(rand(4)), out=x)


def into_a_part(op, on):
    x = on(rand(6, 4))
    op(x[:3], x[3:], out=x[1:4])
    return x


def into_itself_shifted(op, on):
    x = on(rand(8))
    return op(x[:-1], x[1:], out=x[1:])


# Each takes the operator, and the function that puts tensors where they are to be.
CALLS = {
    "plain": lambda op, on: op(on(rand(3, 4)), on(rand(3, 4)), out=on(torch.zeros(3, 4))),
    "an input": into_an_input,
    "a part": into_a_part,
    "shifted": into_itself_shifted,
    "broadcast": lambda op, on: op(on(rand(3, 4)), on(rand(3, 1)), out=on(torch.zeros(3, 4))),
    "both broadcast": lambda op, on: op(on(rand(4)), on(rand(3, 1)), out=on(torch.zeros(3, 4))),
    "transposed": lambda op, on: op(on(rand(3, 4)), on(rand(3, 4)), out=on(torch.zeros(4, 3)).t()),
    "channels_last": lambda op, on: op(
        on(rand(2, 3, 4, 5)), on(rand(2, 3, 4, 5)),
        out=on(torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)),
    ),
    "expanded": lambda op, on: op(on(rand(3)), on(rand(3)), out=on(torch.zeros(1)).expand(3)),
    "resized": lambda op, on: op(on(rand(3, 4)), on(rand(3, 4)), out=on(torch.zeros(0))),
    "larger": lambda op, on: op(on(rand(1)[0]), on(rand(1)[0]), out=on(torch.zeros(3))),
    "to double": lambda op, on: op(on(rand(3)), on(rand(3)), out=on(torch.zeros(3).double())),
    "to integers": lambda op, on: op(on(rand(3)), on(rand(3)), out=on(torch.zeros(3).int())),
    "of double": lambda op, on: op(on(rand(3).double()), on(rand(3)), out=on(torch.zeros(3))),
    "integers": lambda op, on: op(
        on(rand(3).int()), on(rand(3).int()), out=on(torch.zeros(3).int())
    ),
    "half": lambda op, on: op(
        on(rand(3).half()), on(rand(3).half()), out=on(torch.zeros(3).half())
    ),
    "complex": lambda op, on: op(
        on(rand(3).cfloat()).conj(), on(rand(3).cfloat()), out=on(torch.zeros(3).cfloat())
    ),
    "a negative view": lambda op, on: op(
        on(rand(3).cfloat()).conj().imag, on(rand(3)), out=on(torch.zeros(3))
    ),
    "into a negative view": lambda op, on: op(
        on(rand(3)), on(rand(3)), out=on(torch.zeros(3).cfloat()).conj().imag
    ),
    "a number of the CPU": lambda op, on: op(on(rand(3)), rand(1)[0], out=on(torch.zeros(3))),
    "a double of the CPU": lambda op, on: op(
        on(rand(3)), rand(1)[0].double(), out=on(torch.zeros(3))
    ),
    "nothing": lambda op, on: op(on(rand(0, 4)), on(rand(4)), out=on(torch.zeros(0, 4))),
    "with a gradient": lambda op, on: op(
        on(rand(3)).requires_grad_(), on(rand(3)), out=on(torch.zeros(3))
    ),
}  # fmt: skip


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_equals_the_cpus(call, op):
    assert_equals_the_cpu(lambda on: call(op, on))


@pytest.mark.parametrize("number", [3, 0.1, True, 2j, float("nan")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32])
def test_a_number_in_place(number, dtype):
    def changed(x):
        x *= number
        return x

    x = (rand(3, 4) * 5).to(dtype)
    assert_equals_the_cpu(lambda on: changed(on(x)))


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_nothing_of_the_device_but_the_result_is_refused(op):
    with pytest.raises(RuntimeError, match="acme"):
        op(torch.ones(3), torch.ones(3), out=torch.zeros(3, device="acme"))


def test_it_waits_for_the_stream():
    x, ones = (torch.zeros(1 << 20, device="acme") for _ in range(2))
    ones.fill_(1)
    for _ in range(20):
        x.copy_(ones)
        x *= 2
        assert torch.mul(x, ones, out=x)[-1].item() == 2
