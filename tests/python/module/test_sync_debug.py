"""set_sync_debug_mode: calls that make the host wait for the device are found."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory

WORDS = "called a synchronizing acme operation"


@pytest.fixture(autouse=True)
def default_mode():
    yield
    torch.acme.set_sync_debug_mode("default")


@pytest.mark.parametrize("mode", ["loud", 3, -1])
def test_there_are_no_others(mode):
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        torch.acme.set_sync_debug_mode(mode)
    with pytest.raises(TypeError):
        torch.acme.set_sync_debug_mode(None)
    assert torch.acme.get_sync_debug_mode() == 0


def test_it_says_what_waited():
    x = torch.arange(4.0, device="acme")
    torch.acme.set_sync_debug_mode("warn")
    with pytest.warns(UserWarning, match=WORDS):
        x.cpu()
    torch.acme.set_sync_debug_mode("error")
    with pytest.raises(RuntimeError, match=WORDS) as caught:
        torch.acme.current_stream().synchronize()
    assert "Exception raised from" not in str(caught.value)


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
