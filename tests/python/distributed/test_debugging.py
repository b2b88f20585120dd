"""torch.distributed's own means against processes that call different operations: the level of
debugging, which TORCH_DISTRIBUTED_DEBUG sets too, the monitored barrier, and the timeout."""

import ast

import pytest

pytestmark = pytest.mark.turns_on_memory

# As the variable does, whose value has been read in the tests' processes.
DETAIL = "dist.set_debug_level(dist.DebugLevel.DETAIL) or 'cpu:gloo,acme:outback'"

EXPECT = """
def expect(call, *words):
    try:
        call()
    except (RuntimeError, ValueError) as error:
        for word in words:
            assert word in str(error), (word, str(error))
    else:
        raise AssertionError(words)

"""


def test_every_operation_runs_at_the_level_detail(run_ranks):
    done = run_ranks(
        """
        import warnings
        import comparing
        warnings.simplefilter("ignore", FutureWarning)  # newer torch has new names
        comparing.operations.MOVING.pop("gather_single", None)  # torch's class passes it to nobody
        group = dist.group.WORLD._get_backend(torch.device("acme"))
        assert type(group) is dist.distributed_c10d._ProcessGroupWrapper
        comparing.compare_all(rank, [torch.float32])
        """,
        group=f"backend={DETAIL}",
    )
    counts = ast.literal_eval(done.output)
    assert set(counts) == {"equal", "refused"} and counts["equal"] > 25, done


def test_the_level_detail_names_what_the_ranks_call(run_ranks):
    run_ranks(
        EXPECT
        + """
        def of(*shape, **how):
            return torch.ones(*shape, device="acme", **how)

        calls = {
            "TensorShape=[3]": lambda: dist.all_reduce(of(3)),
            "TensorShape=[2, 2]": lambda: dist.all_reduce(of(2, 2)),
            "TensorDtypes=Double": lambda: dist.all_reduce(of(3, dtype=torch.float64)),
            "OpType=BROADCAST": lambda: dist.broadcast(of(3), 0),
            "OpType=BARRIER": lambda: dist.barrier(device_ids=[0]),
            "OpType=ALLTOALL": lambda: dist.all_to_all([of(2), of(2)], [of(2), of(2)]),
        }
        first, *others = calls
        for other in others:
            mine, its = (first, other) if rank == 0 else (other, first)
            expect(
                calls[mine],
                f"Rank {rank} is running collective",
                f"but Rank {1 - rank} is running collective",
                mine,
                its,
            )
        x = of(3)  # the group is as good as before
        dist.all_reduce(x)
        assert x.tolist() == [2, 2, 2]
        """,
        group=f"backend={DETAIL}",
    )


@pytest.mark.usefixtures("real_streams")
def test_the_level_detail_knows_that_a_rank_is_busy(run_ranks):
    """The number of an operation counts from its call, and not from when its device has time."""
    run_ranks(
        """
        x, y = torch.ones(3, device="acme"), torch.ones(3, device="acme")
        dist.all_reduce(x)
        if rank == 1:
            torch.acme._sleep(300_000_000)
        works = [dist.all_reduce(each, async_op=True) for each in (x, y)]
        for work in works:
            work.wait()
        assert x.tolist() == [4, 4, 4] and y.tolist() == [2, 2, 2]
        """,
        group=f"backend={DETAIL}",
    )


@pytest.mark.parametrize("level", ["INFO", "DETAIL"])
def test_data_parallel_runs_at_every_level(request, run_ranks, level):
    if level == "INFO":  # PyTorch's reducer wants it for parameters that are not used
        request.getfixturevalue("pinned_memory")
    run_ranks(
        """
        from torch import nn
        torch.manual_seed(rank)  # the first process has the say
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to("acme")
        model = nn.parallel.DistributedDataParallel(model, find_unused_parameters=%s)
        for step in range(3):
            model.zero_grad()
            torch.manual_seed(10 * step + rank)
            model(torch.randn(5, 4).to("acme")).square().mean().backward()
        ours = torch.cat([each.grad.flatten() for each in model.parameters()])
        both = [torch.empty_like(ours) for _ in range(2)]
        dist.all_gather(both, ours)
        assert both[0].tolist() == both[1].tolist() and ours.abs().sum() > 0
        """
        % (level == "INFO"),
        group=f"backend=dist.set_debug_level(dist.DebugLevel.{level}) or 'outback'",
    )


def test_the_monitored_barrier_names_who_is_late(run_ranks):
    run_ranks(
        EXPECT
        + """
        store = dist.distributed_c10d._get_default_store()
        late = datetime.timedelta(milliseconds=200)
        dist.monitored_barrier()
        whole = dist.new_group(backend="cpu:outback,acme:outback")
        dist.monitored_barrier(whole, wait_all_ranks=True)
        if rank == 0:
            words = ["Rank 1 failed to pass monitoredBarrier in 200 ms"]
            expect(lambda: dist.monitored_barrier(timeout=late), *words)
            ours = f"acme: monitored_barrier of group {whole.group_name} (rank 0 of 2) failed after"
            expect(lambda: dist.monitored_barrier(whole, late), ours, *words)
            store.set("noticed", "")
        else:
            store.wait(["noticed"])
        x = torch.ones(3, device="acme")  # which other connections are for
        dist.all_reduce(x)
        assert x.tolist() == [2, 2, 2]
        """
    )


def test_different_calls_end_with_the_timeout(run_ranks):
    """Nothing compares them, and some fit one another. They may not outlast the timeout."""
    run_ranks(
        """
        import time
        x, outs = torch.ones(4, device="acme"), [torch.ones(4, device="acme") for _ in range(2)]
        for calls in (
            (lambda g: dist.all_reduce(x, group=g), lambda g: dist.broadcast(x, 0, group=g)),
            (lambda g: dist.all_reduce(x, group=g), lambda g: dist.barrier(g, device_ids=[0])),
            (lambda g: dist.all_gather(outs, x, group=g), lambda g: dist.reduce(x, 1, group=g)),
            (lambda g: dist.all_to_all(outs, outs, group=g), lambda g: dist.recv(x, 0, g)),
        ):
            group = dist.new_group()
            group.set_timeout(datetime.timedelta(milliseconds=300))
            begun = time.monotonic()
            try:
                calls[rank](group)
            except dist.DistBackendError as error:
                assert f"(rank {rank} of 2) failed after" in str(error), error
            assert time.monotonic() - begun < 10
            dist.barrier()
        """
    )


@pytest.mark.parametrize("device", ["cpu", "acme"])
def test_a_message_that_is_too_long_ends_the_process_with_gloos_words(run_ranks, device):
    """Gloo throws in a thread of its own, where nobody can catch it."""
    done = run_ranks(
        f"""
        x = torch.ones(3 if rank == 0 else 1000, device="{device}")
        dist.barrier()
        dist.all_reduce(x)
        """,
        check=False,
    )
    assert done.code < 0 and "Received data size doesn't match expected size" in done.errors, done
