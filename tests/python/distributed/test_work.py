"""What an asynchronous operation returns: waits, futures, errors."""

import pytest

pytestmark = pytest.mark.turns_on_memory


def test_futures_have_the_devices_tensors(run_ranks):
    run_ranks(
        """
        x = torch.full((3,), rank + 1.0, device="acme")
        seen = []
        work = dist.all_reduce(x, async_op=True)
        future = work.get_future().then(lambda done: (done.value()[0] * 2).tolist())
        assert future.wait() == [6, 6, 6]
        assert work.wait() and work.is_completed() and work.is_success()
        assert work.result()[0] is x and work.get_future().value()[0] is x
        # A list of lists, and an operation that Gloo ends only if somebody waits for it.
        outs = [torch.zeros(1, device="acme") for _ in range(2)]
        value = dist.all_gather(outs, x[:1], async_op=True).get_future().wait()
        assert [each.item() for each in value] == [3, 3]
        out = torch.zeros(1, device="acme")
        work = dist.reduce_scatter(out, [x[:1].clone(), x[:1].clone()], async_op=True)
        assert work.get_future().wait()[0].item() == 6
        if rank == 0:
            dist.send(x, 1)
        else:
            assert dist.irecv(x, 0).get_future().wait()[0] is x
        """
    )


def test_a_receive_knows_its_source(run_ranks):
    run_ranks(
        """
        x = torch.ones(2, device="acme")
        if rank == 0:
            dist.send(x, 1)
            dist.send(x, 1)
        else:
            for source in (0, None):
                work = dist.irecv(x, source)
                work.wait()
                assert work._source_rank() == 0, source
        """
    )


@pytest.mark.usefixtures("real_streams")
def test_callbacks_may_wait_for_later_operations(run_ranks):
    """Also those of an operation that fails when it is begun, behind the work of the device."""
    run_ranks(
        """
        def again(done):
            return dist.all_reduce(y, async_op=True).get_future().wait()[0]

        x, y = (torch.ones(3, device="acme") for _ in range(2))
        group = dist.group.WORLD._get_backend(torch.device("acme"))
        dist.all_reduce(x)
        for operation in (
            lambda: dist.all_reduce(x, async_op=True),
            lambda: group.allgather([[torch.zeros(4, device="acme")] * 2], [x]),  # another size
        ):
            y.fill_(1)
            torch.acme._sleep(100_000_000)
            assert operation().get_future().then(again).wait().tolist() == [2, 2, 2]
        """
    )


def test_a_wait_may_have_a_timeout(run_ranks):
    run_ranks(
        """
        from datetime import timedelta
        store = dist.distributed_c10d._get_default_store()
        x = torch.full((3,), rank + 1.0, device="acme")
        if rank == 0:
            work = dist.all_reduce(x, async_op=True)
            try:
                work.wait(timedelta(milliseconds=50))
            except dist.DistBackendError as error:
                assert "all_reduce of group default_pg (rank 0 of 2)" in str(error)
                assert "wait(timeout) had 50 ms" in str(error)
            else:
                raise AssertionError
            store.set("go", "on")
        else:
            store.wait(["go"])
            work = dist.all_reduce(x, async_op=True)
        work.wait()
        assert x.tolist() == [3, 3, 3]
        """
    )


def test_coalesced_operations_are_one_work(run_ranks):
    run_ranks(
        """
        from torch.distributed.distributed_c10d import _coalescing_manager
        x, y = (torch.full((2,), rank + 1.0, device="acme") for _ in range(2))
        with _coalescing_manager(device=x.device, async_ops=True) as together:
            dist.broadcast(x, 1)
            dist.broadcast(y, 0)
        together.wait()
        assert x.tolist() == [2, 2] and y.tolist() == [1, 1]
        with _coalescing_manager():
            dist.all_reduce(x)
            dist.all_reduce(y)
        assert x.tolist() == [4, 4] and y.tolist() == [2, 2]
        # What comes after is not kept back for a manager that is over.
        dist.all_reduce(x)
        assert x.tolist() == [8, 8]
        """
    )


def test_sparse_tensors_are_reduced(run_ranks):
    run_ranks(
        """
        with torch.sparse.check_sparse_tensor_invariants(enable=False):
            x = torch.sparse_coo_tensor([[0, rank + 1]], [1.0, 2.0], (4,)).to("acme")
        dist.all_reduce(x)
        assert x.is_sparse and x.device.type == "acme"
        assert x.to_dense().tolist() == [2, 2, 2, 0]
        """
    )


def test_inference_tensors_are_taken(run_ranks):
    run_ranks(
        """
        with torch.inference_mode():
            x = torch.ones(3, device="acme")
            outs = [torch.zeros(3, device="acme") for _ in range(2)]
            dist.all_reduce(x)
            dist.all_gather(outs, x)
            out = torch.zeros(1, device="acme")
            dist.reduce_scatter(out, [x[:1].clone(), x[:1].clone()])
        assert x.tolist() == outs[1].tolist() == [2, 2, 2] and out.item() == 4
        plain = torch.ones(3, device="acme")
        before = plain._version
        dist.all_reduce(plain)
        assert plain._version == before  # as with Gloo on the CPU
        """
    )


def test_an_error_of_the_runtime_is_the_works(run_ranks):
    """In a thread of the group's or of Gloo's it would end the process."""
    run_ranks(
        """
        if torch.acme.get_device_properties(0).is_host_addressable:
            return  # nothing is copied
        x = torch.ones(3, device="acme")
        dist.all_reduce(x)  # two copies
        work = dist.all_reduce(x, async_op=True)
        try:
            work.wait()
        except dist.DistBackendError as error:
            assert f"acme: all_reduce of group default_pg (rank {rank} of 2)" in str(error), error
            assert "mem_copy(device 0, 12 bytes): internal error: injected fault" in str(error)
        else:
            raise AssertionError
        assert not work.is_success()
        # Before, torch's own Work cannot give Python its exception.
        assert torch.__version__ < (2, 13) or work.exception() is not None
        x = torch.ones(3, device="acme")
        dist.all_reduce(x)
        assert x.tolist() == [2, 2, 2]
        """,
        OUTBACK_FAULTS="mem_copy:4=internal",
    )


def test_the_result_can_be_had_after_wait(run_ranks):
    """Whose copies are enqueued then, and need not be done."""
    run_ranks(
        """
        for size in (3, 2 << 20):  # the second goes in two pieces
            x = torch.ones(size, device="acme")
            work = dist.all_reduce(x, async_op=True)
            work.wait()
            assert work.result()[0] is x
            assert x.cpu().eq(2).all()
        """,
        OUTBACK_FAULTS="mem_copy:2=delay(200ms);mem_copy:7=delay(200ms)",
    )


def test_a_sparse_reduction_keeps_no_memory(run_ranks):
    run_ranks(
        """
        import time
        before = torch.acme.memory_allocated()
        x = torch.ones(100_000, device="acme").to_sparse()
        dist.all_reduce(x)
        del x
        until = time.monotonic() + 20  # a thread of Gloo's has it for a moment longer
        while torch.acme.memory_allocated() > before and time.monotonic() < until:
            time.sleep(0.01)
        assert torch.acme.memory_allocated() == before
        """
    )


def test_large_tensors_go_in_pieces(run_ranks):
    """Which nobody sees: one Work, with the tensor as its result."""
    run_ranks(
        """
        # Four equal pieces, and what is left.
        numbers = torch.arange((16 << 20) + 3, dtype=torch.float32) * (rank + 1)
        x = numbers.to("acme")
        work = dist.all_reduce(x, async_op=True)
        twice = work.get_future().then(lambda done: done.value()[0] * 2)
        assert work.wait() and work.is_success() and work.result()[0] is x
        assert work.get_future().value()[0] is x
        dist.all_reduce(numbers)  # the CPU's, by Gloo
        assert x.cpu().equal(numbers) and twice.wait().cpu().equal(numbers * 2)
        # A part of a storage, in the order of its memory, and elements that Gloo does not have.
        whole = torch.arange(9 << 20, dtype=torch.int64).to("acme")
        part = whole[3 << 20 : 6 << 20].view(3, 1 << 20).t()
        expected = part.cpu() * 2
        dist.all_reduce(part)
        assert part.cpu().equal(expected)
        assert whole[(3 << 20) - 1] == (3 << 20) - 1 and whole[6 << 20] == 6 << 20
        y = torch.full((2 << 20,), 1 + 2j, device="acme")
        dist.all_reduce(y)
        assert y.cpu().equal(torch.full((2 << 20,), 2 + 4j))
        leaf = torch.ones(3 << 20, device="acme", requires_grad=True)
        with torch.no_grad():
            dist.all_reduce(leaf)
        assert leaf.is_leaf and leaf._version == 0 and leaf.detach().cpu().eq(2).all()
        """
    )


def test_pieces_take_no_more_pinned_memory_than_the_tensor(run_ranks):
    """To a power of two, as the allocator rounds what the last piece gets."""
    run_ranks(
        """
        if torch.acme.get_device_properties(0).is_host_addressable:
            return  # nothing is copied
        x = torch.ones(9 << 18, device="acme")  # 9 MiB
        dist.all_reduce(x)
        assert torch.acme.host_memory_stats()["allocated_bytes.peak"] <= (9 << 20) + 4096
        """
    )


def test_an_error_of_one_piece_is_the_works(run_ranks):
    run_ranks(
        """
        if torch.acme.get_device_properties(0).is_host_addressable:
            return  # nothing is copied
        x = torch.ones(2 << 20, device="acme")  # two pieces, with two copies each
        work = dist.all_reduce(x, async_op=True)
        try:
            work.get_future().wait()
        except dist.DistBackendError as error:
            assert "mem_copy(device 0, 4194304 bytes): internal error: injected" in str(error)
        else:
            raise AssertionError
        try:
            work.wait()
        except dist.DistBackendError as error:
            assert f"acme: all_reduce of group default_pg (rank {rank} of 2)" in str(error), error
        else:
            raise AssertionError
        assert not work.is_success()
        # Before, torch's own Work cannot give Python its exception.
        assert torch.__version__ < (2, 13) or work.exception() is not None
        dist.barrier()
        """,
        OUTBACK_FAULTS="mem_copy:4=internal",
    )


def test_where_a_piece_gets_no_memory_none_is_sent(run_ranks):
    run_ranks(
        """
        if torch.acme.get_device_properties(0).is_host_addressable:
            return  # nothing is copied
        x = torch.ones(2 << 20, device="acme")  # two pieces
        try:
            dist.all_reduce(x)
        except torch.OutOfMemoryError:
            pass
        else:
            raise AssertionError
        dist.all_reduce(x)
        assert x.cpu().eq(2).all()
        """,
        OUTBACK_FAULTS="host_memory.alloc:2=out_of_memory",
    )


def test_gradients_of_a_gather_may_be_expanded(run_ranks):
    """Torch's own derivative scatters them as they are."""
    run_ranks(
        """
        import torch.distributed.nn.functional as differentiable
        x = torch.ones(3, 2, device="acme", requires_grad=True)
        parts = differentiable.gather(x, dst=0)
        sum((2 + part).sum() * (at + 1) for at, part in enumerate(parts)).backward()
        assert x.grad.eq(rank + 1).all(), x.grad
        """
    )
