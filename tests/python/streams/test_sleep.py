"""torch.acme._sleep: a stream that is busy for a while, as torch's tests of streams want it."""

import time

import pytest
import torch

pytestmark = [pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]

MILLISECOND = 10**6  # in cycles


def test_without_callbacks_the_group_is_named(real_streams_absent):
    with pytest.raises(NotImplementedError, match=r"_sleep.*group callbacks"):
        torch.acme._sleep(1)


def test_the_stream_is_busy_and_the_caller_is_not(callbacks):
    stream = torch.acme.Stream()
    torch.acme.synchronize()
    begin = time.monotonic()
    with torch.acme.stream(stream):
        torch.acme._sleep(300 * MILLISECOND)
    event = stream.record_event()
    assert not stream.query() and not event.query()
    assert torch.acme.current_stream().query()  # the other one is idle
    stream.synchronize()
    assert time.monotonic() - begin >= 0.3
    assert event.query()


def test_what_comes_after_it_in_the_stream_waits(callbacks):
    stream, other = torch.acme.Stream(), torch.acme.Stream()
    x = torch.zeros(4, device="acme")
    torch.acme.synchronize()
    with torch.acme.stream(stream):
        torch.acme._sleep(100 * MILLISECOND)
        x.fill_(1)
    other.wait_stream(stream)
    with torch.acme.stream(other):
        y = x + 1
    other.synchronize()
    assert y.tolist() == [2.0] * 4


@pytest.mark.parametrize(("cycles", "error"), [(-1, ValueError), (1.5, TypeError)])
def test_cycles_are_a_count(cycles, error):
    with pytest.raises(error):
        torch.acme._sleep(cycles)
