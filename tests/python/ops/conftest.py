"""How tests make a call on the device and the same call on the CPU, and compare both."""

import pytest
import torch


def rand(*size, seed=0):
    return torch.randn(size, generator=torch.Generator().manual_seed(sum(size) + seed))


def wide(*size, dtype, seed=0):
    """Numbers that differ as integers too."""
    return (rand(*size, seed=seed) * 3).to(dtype)


def outcome(call, put):
    try:
        return call(put)
    except Exception as refused:
        return f"{type(refused).__name__}: {str(refused).splitlines()[0]}"


def assert_equals_the_cpu(call, put=torch.Tensor.acme):
    """`call` takes the function that puts its tensors where they are to be."""
    expected, result = outcome(call, torch.Tensor.clone), outcome(call, put)
    if isinstance(expected, str) or isinstance(result, str):
        assert str(result).replace("acme:0", "cpu") == expected
        return
    assert result.is_acme
    assert (result.dtype, result.stride()) == (expected.dtype, expected.stride())
    torch.testing.assert_close(result.cpu(), expected, rtol=0, atol=0, equal_nan=True)


def put_later(tensor):
    """Returns a copy on the device, whose bytes arrive there a millisecond from now."""
    torch.acme._sleep(1_000_000)
    return torch.empty_like(tensor, device="acme").copy_(tensor.pin_memory(), non_blocking=True)


@pytest.fixture(params=["now", "later"])
def put(request):
    """How a tensor gets to the device."""
    if request.param == "now":
        return torch.Tensor.acme
    request.getfixturevalue("callbacks")
    return put_later
