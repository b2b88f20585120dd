"""set_sync_debug_mode: calls that make the host wait for the device are found."""

import warnings

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory

WORDS = "called a synchronizing acme operation"
NONE, WARN, ERROR = 0, 1, 2


@pytest.fixture(autouse=True)
def default_mode():
    yield
    torch.acme.set_sync_debug_mode("default")


@pytest.mark.parametrize(
    ("mode", "number"), [("default", 0), ("warn", 1), ("error", 2), (0, 0), (1, 1), (2, 2)]
)
def test_modes(mode, number):
    torch.acme.set_sync_debug_mode(mode)
    assert torch.acme.get_sync_debug_mode() == number


@pytest.mark.parametrize("mode", ["loud", 3, -1])
def test_there_are_no_others(mode):
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        torch.acme.set_sync_debug_mode(mode)
    with pytest.raises(TypeError):
        torch.acme.set_sync_debug_mode(None)
    assert torch.acme.get_sync_debug_mode() == 0


# As in torch's own test of CUDA: what has to wait for the device that has `x`.
SYNCHRONIZING = {
    "item": lambda x: x[0].item(),
    "cpu": lambda x: x.cpu(),
    "to the device": lambda x: torch.ones(3).to(x.device),
    "copy_ from the host": lambda x: x.copy_(torch.ones(4)),
    "nonzero": lambda x: x.nonzero(),
    "masked_select": lambda x: x.masked_select(x > 1),
    "unique": lambda x: torch.unique(x),
    "equal": lambda x: torch.equal(x, x),
    "Stream.synchronize": lambda x: torch.acme.current_stream().synchronize(),
    "torch.Stream.synchronize": lambda x: torch.accelerator.current_stream().synchronize(),
    "if": lambda x: bool(x[0] > 1),
}


@pytest.mark.parametrize("name", SYNCHRONIZING)
def test_a_synchronizing_call_warns_or_fails(name):
    x = torch.arange(4.0, device="acme")

    def call():
        SYNCHRONIZING[name](x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()
    torch.acme.set_sync_debug_mode("warn")
    with pytest.warns(UserWarning, match=WORDS):
        call()
    torch.acme.set_sync_debug_mode("error")
    with pytest.raises(RuntimeError, match=WORDS) as caught:
        call()
    assert "Exception raised from" not in str(caught.value)
    torch.acme.set_sync_debug_mode("default")
    call()


def test_what_does_not_wait_is_not_reported():
    x = torch.arange(4.0, device="acme")
    y = torch.empty(4, device="acme")
    event = torch.acme.Event()
    torch.acme.set_sync_debug_mode("error")
    torch.empty(3, device="acme").zero_()
    y.copy_(x)
    torch.ones(3).to("acme", non_blocking=True)
    event.record()
    torch.acme.current_stream().query()
    # Asked for by name: torch.cuda reports neither.
    event.synchronize()
    torch.acme.synchronize()


def test_operators_in_place_are_not_reported():
    x = torch.arange(4.0, device="acme")
    if not torch.acme.get_device_properties().is_host_addressable:
        torch.acme.set_sync_debug_mode("error")
        with pytest.raises(RuntimeError, match=WORDS):  # a copy to the CPU and back
            torch.cumsum(x, 0)
        return
    torch.acme.set_sync_debug_mode("error")
    _ = (x + x) @ x
    torch.cumsum(x, 0)
    x.normal_()
