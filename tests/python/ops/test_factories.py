"""New tensors."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory


def test_empty_tensors_are_on_the_device_that_was_asked_for(two_devices):
    assert torch.empty(2, 3, device="acme").device == torch.device("acme:0")
    assert torch.empty(2, 3, device="acme:1").device == torch.device("acme:1")
    assert torch.acme.current_device() == 0
    with torch.acme.device(1):
        assert torch.empty(2, device="acme").device == torch.device("acme:1")


@pytest.mark.parametrize("dtype", [torch.float16, torch.complex64, torch.bool, torch.float8_e5m2])
def test_empty_keeps_the_dtype(dtype):
    assert torch.empty(3, dtype=dtype, device="acme").dtype == dtype


def test_empty_keeps_the_memory_format():
    x = torch.empty(2, 3, 4, 5, device="acme", memory_format=torch.channels_last)
    assert x.stride() == (60, 1, 15, 3)
    assert torch.empty_like(x).stride() == x.stride()
    assert torch.empty_strided((2, 3), (1, 2), device="acme").stride() == (1, 2)


def test_a_device_that_does_not_exist_is_refused():
    with pytest.raises(torch.AcceleratorError, match="expected an index from 0 to"):
        torch.empty(2, device="acme:100")


@pytest.mark.parametrize(
    "make",
    [
        lambda d: torch.hann_window(5, device=d),
        lambda d: torch.kaiser_window(5, device=d),
        lambda d: torch.kaiser_window(6, False, 8.0, dtype=torch.float64, device=d),
    ],
)
def test_windows_equal_those_of_the_cpu(make):
    x = make("acme")
    assert x.device.type == "acme"
    torch.testing.assert_close(x.cpu(), make("cpu"), rtol=0, atol=0)


@pytest.mark.parametrize("size", [0, 1, 2])
def test_a_value_that_the_dtype_cannot_hold_is_refused_at_any_size(size):
    with pytest.raises(RuntimeError, match="cannot be converted to type int8_t without overflow"):
        torch.empty(size, dtype=torch.int8, device="acme").fill_(300)
