"""aten::mul as a native kernel: the CPU's values, dtypes, strides and errors."""

import pytest
import torch

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.int64,
    torch.bool,
    torch.complex64,
]
CALLS = {
    "x * x": lambda x: x * x,
    "x * 2": lambda x: x * 2,
    "2 * x": lambda x: 2 * x,
    "x * 0.1": lambda x: x * 0.1,
    "x * 300": lambda x: x * 300,
    "x * True": lambda x: x * True,
    "x * 2j": lambda x: x * 2j,
    "x * a scalar tensor": lambda x: x * torch.tensor(2.5),
    "a scalar tensor * x": lambda x: torch.tensor(2.5, dtype=torch.float64) * x,
    "x * one row": lambda x: x * x[:1] if x.dim() else x * x,
    "one column * x": lambda x: x[..., :1] * x if x.dim() else x * x,
    "x.t() * x": lambda x: x[..., :2].t() * x[..., :2] if x.dim() == 2 else x * x,
    "every second of x": lambda x: x[..., ::2] * x[..., ::2] if x.dim() else x * x,
    "x.t() * 2": lambda x: x.t() * 2 if x.dim() < 3 else x * 2,
    "channels last": lambda x: x.expand(2, 3, 4, 3).contiguous(memory_format=torch.channels_last)
    * 2
    if x.shape == (4, 3)
    else x * x,
    "x * another dtype": lambda x: x * torch.ones_like(x, dtype=torch.float32),
    "x * integers": lambda x: x * torch.full_like(x, 3, dtype=torch.int32),
    "x.mul_(x)": lambda x: x.clone().mul_(x),
    "x.mul_(one row)": lambda x: x.clone().mul_(x[:1]) if x.dim() else x.clone().mul_(x),
    "x.mul_(2)": lambda x: x.clone().mul_(2),
    "x.mul_(another dtype)": lambda x: x.clone().mul_(torch.full_like(x, 3, dtype=torch.int32)),
    "a slice of x.mul_(2)": lambda x: x.clone()[..., ::2].mul_(2) if x.dim() else x.clone().mul_(2),
    "x.mul_(0.5)": lambda x: x.clone().mul_(0.5),
    "out=": lambda x: torch.mul(x, x, out=x.new_empty(0)),
    "out= of that size": lambda x: torch.mul(x, x, out=x.t().clone().t() if x.dim() < 3 else x),
    "out=double": lambda x: torch.mul(x, x, out=torch.empty_like(x, dtype=torch.float64)),
    "out=int": lambda x: torch.mul(x, x, out=torch.empty_like(x, dtype=torch.int32)),
    "x.conj()": lambda x: x.conj() * x,
    "-x.imag": lambda x: (x.conj() if x.is_complex() else x.to(torch.complex64).conj()).imag * 2,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (5,), (4, 3), (0, 3), (2, 1, 3)])
@pytest.mark.filterwarnings("ignore:B?Complex(Half|32) support is experimental")
def test_equals_the_cpu(call, dtype, shape, runs):
    on_cpu = (torch.randn(shape) * 3).to(dtype)
    x = on_cpu.acme()
    try:
        expected = call(on_cpu)
    except NotImplementedError:  # a dtype: only the loop knows, and an empty tensor has none
        if on_cpu.numel():
            with pytest.raises(NotImplementedError):
                call(x)
        return
    except RuntimeError as refused:
        with runs("mul", 0), pytest.raises(type(refused)) as caught:
            call(x)
        assert str(caught.value).splitlines()[0] == str(refused).splitlines()[0]
        return
    if expected.dtype == torch.complex32:
        pytest.skip("the example has no complex half")
    with runs("mul", 1 if expected.numel() else 0):
        result = call(x)
    assert result.device == x.device
    assert (result.dtype, result.stride()) == (expected.dtype, expected.stride())
    # Complex multiplication: the CPU's vector units fuse it.
    tolerance = {} if expected.is_complex() else {"rtol": 0, "atol": 0}
    torch.testing.assert_close(result.cpu(), expected, equal_nan=True, **tolerance)


REFUSED = {
    "overlap within itself": lambda x: x[:1].expand(4, 3).mul_(x),
    "partial overlap": lambda x: x[1:].mul_(x[:-1]),
    "in place cannot grow": lambda x: x[:1].mul_(x),
    "in place cannot widen": lambda x: x.int().mul_(x),
    "out= cannot narrow": lambda x: torch.mul(x, x, out=x.int()),
    "sizes that do not broadcast": lambda x: x * x[:, :2],
    "out= that overlaps in part": lambda x: torch.mul(x[:-1], 2, out=x[1:]),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_refuses_what_the_cpu_refuses(call, runs):
    x = torch.randn(4, 3)
    with pytest.raises(RuntimeError) as expected:
        call(x)
    with runs("mul", 0), pytest.raises(RuntimeError) as caught:
        call(x.acme())
    first_line = str(expected.value).splitlines()[0]
    assert str(caught.value).splitlines()[0] == first_line


def test_tensors_of_two_devices_are_refused():
    x = torch.ones(3)
    for first, second in [(x.acme(), x), (x, x.acme()), (x.acme(0), x.acme(1))]:
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            first * second


def test_the_current_device_does_not_matter():
    x = torch.randn(3).acme(1)
    assert torch.acme.current_device() == 0
    assert (x * 2).device == x.device and torch.acme.current_device() == 0
    torch.testing.assert_close((x * x.double()).cpu(), x.cpu() * x.cpu().double())


def test_waits_for_the_stream():
    """The kernel reads on the calling thread what streams are still to write."""
    x = torch.zeros(1 << 20, device="acme")
    ones = torch.ones(1 << 20, device="acme")
    for _ in range(5):
        x.copy_(ones)
        assert (x[-2:] * 3)[-1].item() == 3
        x.zero_()
        assert (x[-2:] * 3)[-1].item() == 0


def test_has_pytorchs_derivative(runs):
    x = torch.randn(3).acme().requires_grad_()
    y = torch.randn(3).acme()
    with runs("mul", 2):
        (x * y).backward(torch.ones(3, device="acme"))
    assert torch.equal(x.grad, y)
