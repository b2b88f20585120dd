"""Operations between processes and work on the device's streams: neither overtakes the other."""

import pytest

pytestmark = [pytest.mark.turns_on_memory, pytest.mark.usefixtures("real_streams")]


def test_an_operation_waits_for_the_current_stream_and_not_for_the_host(run_ranks):
    run_ranks(
        """
        import time
        x = torch.zeros(1000, device="acme")
        y = torch.full((5,), float(rank), device="acme")
        numbers = torch.full((1000,), rank + 1.0).pin_memory()
        dist.all_reduce(x)
        torch.acme.synchronize()
        begun = time.monotonic()
        torch.acme._sleep(1_000_000_000)  # a second: the host is hardly held up so long
        x.copy_(numbers, non_blocking=True)
        works = [dist.all_reduce(x, async_op=True), dist.broadcast(y, 1, async_op=True)]
        assert not works[0].is_completed()
        for work in works:
            work.wait()
        assert x.tolist() == [3] * 1000 and y.tolist() == [1] * 5
        assert time.monotonic() - begun > 1
        """
    )


def test_other_streams_see_the_result_after_wait(run_ranks):
    run_ranks(
        """
        side, x = torch.acme.Stream(), torch.full((1000,), rank + 1.0, device="acme")
        side.wait_stream(torch.acme.current_stream())
        with torch.acme.stream(side):
            torch.acme._sleep(50_000_000)
            work = dist.all_reduce(x, async_op=True)
        work.wait()  # by the current stream, which is another one
        assert (x * 2).tolist() == [6] * 1000
        """
    )


def test_many_operations_keep_their_order(run_ranks):
    run_ranks(
        """
        numbers = [torch.full((i + 1,), float(rank + i)).pin_memory() for i in range(40)]
        tensors = [torch.zeros(i + 1, device="acme") for i in range(40)]
        works = []
        for i, x in enumerate(tensors):
            if i % 3 == 0:
                torch.acme._sleep(1_000_000)
            x.copy_(numbers[i], non_blocking=True)
            works.append(dist.all_reduce(x, async_op=True))
        for i, (x, work) in reversed(list(enumerate(zip(tensors, works)))):
            work.wait()
            assert x.tolist() == [2 * i + 1] * (i + 1)
        """
    )


def test_memory_that_is_given_up_is_not_used_again_too_early(run_ranks):
    run_ranks(
        """
        side = torch.acme.Stream()
        others = torch.full((50_000,), -1.0).pin_memory()
        for i in range(20):
            numbers = torch.full((50_000,), float(rank + i)).pin_memory()
            with torch.acme.stream(side):
                x = torch.empty(50_000, device="acme")
                torch.acme._sleep(2_000_000)
                x.copy_(numbers, non_blocking=True)
                work = dist.all_reduce(x, async_op=True)
                del x
                again = torch.empty(50_000, device="acme")  # of the same size and stream
                again.copy_(others, non_blocking=True)
            work.wait()
            assert work.result()[0].tolist() == [2 * i + 1] * 50_000
        """
    )


def test_pinned_memory_is_used_again(run_ranks):
    run_ranks(
        """
        x, made = torch.ones(100_000, device="acme"), []
        for _ in range(12):
            dist.all_reduce(x)
            torch.acme.synchronize()
            made.append(torch.acme.host_memory_stats()["num_host_alloc"])
        assert made[-1] <= 3, made  # Gloo's threads may keep the last one for a moment
        """
    )


def test_streams_wait_for_the_future_of_a_tensor_in_pieces(run_ranks):
    run_ranks(
        """
        x = torch.full((3 << 20,), rank + 1.0, device="acme")
        dist.all_reduce(torch.zeros(1, device="acme"))
        torch.acme.synchronize()
        store = dist.distributed_c10d._get_default_store()
        if rank == 1:
            store.wait(["go"])
        work = dist.all_reduce(x, async_op=True)
        if rank == 0:
            torch.acme.synchronize()  # the pieces have left
            # One of the pool's streams is that of the copies back.
            for _ in range(32):
                with torch.acme.stream(torch.acme.Stream(priority=-1)):
                    torch.acme._sleep(500_000_000)
            store.set("go", "on")
        future = work.get_future()
        twice = future.then(lambda done: done.value()[0] * 2)
        future.wait()
        assert (x * 2).cpu().eq(6).all() and twice.wait().cpu().eq(6).all()
        """
    )
