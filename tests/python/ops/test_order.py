"""What is not put on a stream waits for it: nothing overtakes a copy that is still to come."""

import pytest
import torch

ELEMENTS = 1 << 12


@pytest.fixture
def busy(real_streams):
    """Makes a stream of a device current, which is to write ones into a tensor in a while.

    The stream before is current again after the test.
    """
    entered = []

    def make(x: torch.Tensor) -> None:
        stream = torch.acme.Stream(x.device)
        entered.append(torch.acme.stream(stream))
        entered[-1].__enter__()
        ones = torch.ones(x.shape).pin_memory()
        try:
            torch.acme._sleep(100_000_000)
        except NotImplementedError:
            pytest.skip("this runtime has no callbacks")
        x.copy_(ones, non_blocking=True)

    yield make
    while entered:
        entered.pop().__exit__(None, None, None)
    torch.acme.synchronize()


@pytest.mark.parametrize("count", [1, ELEMENTS])
@pytest.mark.parametrize("write", [torch.Tensor.zero_, lambda x: x.fill_(3)])
def test_filling_comes_after_what_the_stream_has_to_do(busy, write, count):
    x = torch.full((count,), 7.0, device="acme")
    expected = write(torch.empty(count))
    busy(x)
    write(x)
    assert torch.equal(x.cpu(), expected)


@pytest.mark.parametrize("count", [16, ELEMENTS])
def test_a_copy_waits_for_both_devices(busy, two_devices, count):
    """Of another dtype, so that no stream copies bytes."""
    target = torch.zeros(count, dtype=torch.float64, device="acme:0")
    source = torch.full((count,), 7.0, device="acme:1")
    busy(source)
    target.copy_(source)
    assert torch.equal(target.cpu(), torch.ones(count, dtype=torch.float64))
