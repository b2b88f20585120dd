"""How groups end: with a peer, by an abort, in a fork, with the process."""

import pytest

pytestmark = pytest.mark.turns_on_memory


def test_a_peer_that_died_is_an_error_with_the_operations_name(run_ranks):
    done = run_ranks(
        """
        import os, signal
        x = torch.ones(3, device="acme")
        dist.all_reduce(x)
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        for operation in (dist.all_reduce, lambda x: dist.recv(x, 1)):
            try:
                operation(x)
            except dist.DistBackendError as error:
                assert "of group default_pg (rank 0 of 2) failed after" in str(error), error
            else:
                raise AssertionError
        print("noticed")
        """,
        check=False,
    )
    assert done.output == "noticed", done


def test_a_late_peer_is_an_error_with_the_operations_name(run_ranks):
    run_ranks(
        """
        store = dist.distributed_c10d._get_default_store()
        if rank == 0:
            try:
                dist.all_reduce(torch.ones(3, device="acme"))
            except dist.DistBackendError as error:
                assert "acme: all_reduce of group default_pg (rank 0 of 2) failed" in str(error)
                assert "Timed out waiting 300ms" in str(error), error
            else:
                raise AssertionError
            store.set("noticed", "")
        else:
            store.wait(["noticed"])
        """,
        group="timeout=datetime.timedelta(milliseconds=300)",
    )


def test_a_callback_may_hold_the_last_reference_to_the_group(run_ranks):
    """Gloo's thread runs it, and is one of those for whose end the group waits."""
    done = run_ranks(
        """
        import gc, threading, time, weakref
        x = torch.ones(3, device="acme")
        dist.all_reduce(x)
        store = dist.distributed_c10d._get_default_store()
        if rank == 1:
            store.wait(["called"])  # so that the other's operation is not over at once
        work = dist.all_reduce(x, async_op=True)
        ended, threads = threading.Event(), []

        class Last:
            def __init__(self, group):
                self.group = group

            def __call__(self, future):
                threads.append(threading.get_ident())

        last = Last(dist.distributed_c10d._get_default_group())
        weakref.finalize(last.group, ended.set)
        work.get_future().then(last)
        if rank == 0:
            store.set("called", "")
        del last
        dist.destroy_process_group()
        del work
        gc.collect()
        assert ended.wait(20)
        time.sleep(0.2)  # of the thread, to let go
        if rank == 0:
            assert threads != [threading.get_ident()]
            print("goes on")
        """
    )
    assert done.output == "goes on"


@pytest.mark.parametrize(
    "operation",
    [
        "dist.all_reduce(x, async_op=True)",
        "dist.irecv(x, 1)",
        "dist.all_reduce(x.to_sparse(), async_op=True)",
    ],
)
def test_another_thread_may_abort(run_ranks, operation):
    run_ranks(
        f"""
        import threading
        store = dist.distributed_c10d._get_default_store()
        x = torch.ones(3, device="acme")
        dist.all_reduce(x)
        if rank == 0:
            work = {operation}
            aborting = threading.Timer(0.1, dist.distributed_c10d._abort_process_group)
            aborting.start()
            try:
                work.wait()
            except dist.DistBackendError as error:
                assert "it was aborted" in str(error)
            else:
                raise AssertionError
            aborting.join()
            store.set("noticed", "")
        else:
            store.wait(["noticed"])
        """
    )


def test_a_fork_has_no_part_in_the_group(run_ranks):
    run_ranks(
        """
        import os
        group = dist.group.WORLD._get_backend(torch.device("acme"))
        dist.barrier()
        child = os.fork()
        if child == 0:
            try:
                group.barrier()
            except dist.DistBackendError as error:
                os._exit(0 if "is a fork of the one that made the group" in str(error) else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        x = torch.ones(3, device="acme")
        dist.all_reduce(x)
        assert x.tolist() == [2, 2, 2]
        """
    )


def test_an_abort_while_an_operation_is_begun_ends_it_too(run_ranks):
    run_ranks(
        """
        if torch.acme.get_device_properties(0).is_host_addressable:
            return  # nothing is copied
        import threading
        store = dist.distributed_c10d._get_default_store()
        x = torch.ones(1 << 18, device="acme")
        if rank == 0:
            group = dist.group.WORLD._get_backend(torch.device("acme"))
            aborting = threading.Timer(0.2, group.abort)
            aborting.start()
            try:
                dist.all_reduce(x)  # gets memory for half a second before it begins
            except dist.DistBackendError as error:
                assert "it was aborted" in str(error), error
            else:
                raise AssertionError
            aborting.join()
            store.set("noticed", "")
        else:
            store.wait(["noticed"])
        """,
        OUTBACK_FAULTS="host_memory.alloc:1=delay(500ms)",
    )


ENDS_EARLY = """
import os, sys
sys.path.insert(0, {folder!r})
import torch, torch_acme
import torch.distributed as dist
import ranks

rank, others = ranks.fork(2)
ranks.start(rank, 2, {store!r})
x = torch.ones(3, device="acme")
dist.all_reduce(x)
store = dist.distributed_c10d._get_default_store()
if rank == 0:
    {pending}
    print("ends")
else:
    import time
    time.sleep({seconds})
    os._exit(0)
"""


@pytest.mark.parametrize(
    "pending, seconds",
    [
        ("pass", 0),
        ("work = dist.all_reduce(x, async_op=True)", 0.5),
        ("work = dist.irecv(x, 1)", 0.5),
        ("torch.acme._sleep(300_000_000); work = dist.all_reduce(x, async_op=True)", 0.5),
    ],
)
def test_a_process_may_end_without_destroying_its_groups(
    request, run_to_the_end, tmp_path, folder, pending, seconds
):
    if "_sleep" in pending:
        request.getfixturevalue("callbacks")
    source = ENDS_EARLY.format(
        folder=folder, store=str(tmp_path / "store"), pending=pending, seconds=seconds
    )
    assert run_to_the_end(source).output == "ends"


def test_a_fork_does_not_wait_for_its_parents_operations(run_to_the_end, tmp_path, folder):
    pending = """
    import time
    work = dist.all_reduce(x, async_op=True)
    child = os.fork()
    if child == 0:
        sys.exit(0)
    began = time.monotonic()
    os.waitpid(child, 0)
    assert time.monotonic() - began < 4  # five seconds are the parent's, at most
    """
    source = ENDS_EARLY.format(
        folder=folder, store=str(tmp_path / "store"), pending=pending.strip(), seconds=6
    )
    assert run_to_the_end(source).output == "ends"


DROPS_LATE = """
import threading, time, weakref
import torch, torch_acme
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
drops = threading.Event()

def busy():
    drops.set()
    until = time.perf_counter() + 0.3
    while time.perf_counter() < until:
        pass

x = torch.ones(3, device={device!r})
weakref.finalize(x, busy)
{before}
dist.all_reduce(x, async_op=True)
del x
assert drops.wait(20)
print("ends")
"""


# Whoever completes an operation may be the last that holds its tensor, and runs what Python has to
# do for it while the main thread ends the process.
@pytest.mark.parametrize("device", ["acme", "cpu"])
def test_a_process_ends_after_its_threads_have_dropped_their_tensors(
    request, run_to_the_end, device
):
    if device == "acme":
        request.getfixturevalue("callbacks")
    before = "torch.acme._sleep(100_000_000)" if device == "acme" else "dist.barrier(async_op=True)"
    source = DROPS_LATE.format(device=device, before=before)
    assert run_to_the_end(source).output == "ends"
