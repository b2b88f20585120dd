"""Collectives under torch.acme._sanitizer."""

import pytest

pytestmark = pytest.mark.turns_on_memory


@pytest.mark.parametrize("is_waited_for", [True, False])
def test_a_collective_orders_the_stream_that_waits_for_it(real_streams, run_ranks, is_waited_for):
    run_ranks(
        f"""
        side = torch.acme.Stream()
        torch.acme._sanitizer.enable()
        x = torch.ones(100, device="acme")
        work = dist.all_reduce(x, async_op=True)
        found = ""
        with torch.acme.stream(side):
            if {is_waited_for}:
                work.wait()
            try:
                x + 1
            except torch.acme._sanitizer.RaceError as error:
                found = error.kind
        assert found == ("" if {is_waited_for} else "streams"), found
        work.wait()
        """
    )


def test_what_a_future_calls_is_behind_the_collective(run_ranks):
    """On a stream of its own, as the hooks of DistributedDataParallel write their buckets."""
    run_ranks(
        """
        torch.acme._sanitizer.enable()
        x = torch.ones(100, device="acme")
        future = dist.all_reduce(x, async_op=True).get_future()
        while not future.done():  # so that it calls in this thread
            pass
        future.then(lambda done: done.value()[0].div_(2)).wait()
        assert x.tolist() == [1.0] * 100
        """
    )
