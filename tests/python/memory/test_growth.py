"""What is done again and again keeps no memory of the process's own."""

import pytest

pytestmark = pytest.mark.turns_on_memory

WORK = {
    "a recurrent layer": (
        """
layer, sequence = torch.nn.LSTM(4, 4).acme(), torch.ones(1, 1, 4, device="acme")
def work(): layer(sequence)
""",
        400,
    ),
    "a backward pass": (
        """
x = torch.ones(8, device="acme", requires_grad=True)
def work(): (x * 2).exp().sum().backward()
""",
        2000,  # autograd's thread grows by some KB in its first hundreds of calls
    ),
    "an operator over copies": ("def work(): torch.linalg.eigh(torch.eye(3).acme())", 200),
    "a custom operator": (
        """
@torch.library.custom_op("outback_growth::twice", mutates_args=(), device_types="cpu")
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2
x = torch.ones(8, device="acme")
def work(): torch.ops.outback_growth.twice(x)
""",
        200,
    ),
    "streams and events": (
        """
x, side = torch.ones(8, device="acme"), acme.Stream()
def work():
    event = acme.Event()
    event.record()
    side.wait_event(event)
    with acme.stream(side):
        y = x + 1
    y.record_stream(acme.current_stream())
    event.synchronize()
""",
        200,
    ),
    "autocast": (
        """
x = torch.ones(2, 2, device="acme")
def work():
    with torch.autocast("acme", torch.bfloat16):
        x @ x
""",
        200,
    ),
    "a pinned copy": (
        "host = torch.ones(8).pin_memory()\ndef work(): host.to('acme', non_blocking=True).cpu()",
        200,
    ),
}


@pytest.mark.parametrize("name", WORK)
def test_what_is_done_again(grows_by, name):
    work, times = WORK[name]
    assert grows_by(work, times) < 16
