"""torch.distributed on the device over NCCL's stand-in (tests/fakes/nccl)."""

import signal

import pytest


def test_operations_give_what_one_process_computes(on_ranks):
    runs = on_ranks("operations.py", size=3)
    assert [each.output for each in runs] == ["all are right\n"] * 3


def test_work_futures_streams_and_groups(on_ranks):
    for each in on_ranks("work.py"):
        assert each.output.split()[-1] == "captured"


def test_training_is_that_of_one_process(on_ranks):
    for each in on_ranks("training.py"):
        assert [line.split()[0] for line in each.output.splitlines()] == ["distributed", "sharded"]


# "nccl" is ProcessGroupNCCL, as the device's group has it, and not the new class of torch 2.15.
SAME_CLASS = {"TORCH_DIST_USE_NCCL2": "0"}


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_training_asks_what_torch_cuda_asks(on_ranks, kind):
    here = on_ranks("asked.py", arguments=(kind,))
    of_cuda = {"DEVICE": "cuda", "BACKEND": "nccl", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    there = on_ranks("asked.py", arguments=(kind,), **of_cuda, **SAME_CLASS)
    for ours, theirs in zip(here, there, strict=True):
        calls = [each.name for each in ours.work if each.name.startswith("nccl")]
        assert len(calls) >= 6
        # But for addresses: PyTorch's watchdog gives memory back when it comes to it.
        assert ours.work == theirs.work


def test_refusals(on_ranks):
    on_ranks("refusals.py", size=1)


def test_an_aborted_group_ends_its_operations(on_ranks):
    assert on_ranks("aborted.py")[0].output == "refused\n"


# So that PyTorch's watchdog does not wait for a minute before it ends the process.
QUICKLY = {"TORCH_NCCL_DUMP_ON_TIMEOUT": "0", "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "100"}


def test_a_process_that_waits_for_a_dead_one_raises(on_ranks):
    runs = on_ranks(
        "killed.py", codes={0: 3, 1: -signal.SIGKILL}, TORCH_NCCL_BLOCKING_WAIT="1", **QUICKLY
    )
    assert runs[0].output.startswith("acme: all_reduce of group default_pg (rank 0 of 2) failed")
    assert "remote process exited" in runs[0].output


def test_the_watchdog_ends_a_process_that_does_not_wait_on_the_host(on_ranks):
    runs = on_ranks("killed.py", codes={0: -signal.SIGABRT, 1: -signal.SIGKILL}, **QUICKLY)
    assert "remote process exited" in runs[0].errors


def test_ranks_that_call_different_operations_raise(on_ranks):
    runs = on_ranks(
        """
        init(device_id=device)
        try:
            dist.all_reduce(put(*range(rank + 1)), async_op=True).wait()
        except dist.DistBackendError as error:
            print(error)
        sys.stdout.flush()
        os._exit(3)
        """,
        codes={0: 3, 1: 3},
        TORCH_NCCL_BLOCKING_WAIT="1",
        **QUICKLY,
    )
    assert "invalid usage" in runs[0].output
    told = (
        "expects ncclAllReduce(1 float32 sum) of 4 bytes, and rank 1 sends ncclAllReduce(2 float32"
    )
    assert told in runs[0].errors


def test_a_timeout_ends_an_operation(on_ranks):
    runs = on_ranks("killed.py", codes={0: 3}, SECONDS="3", TORCH_NCCL_BLOCKING_WAIT="1", **QUICKLY)
    assert runs[0].output.startswith("acme: all_reduce of group default_pg (rank 0 of 2) failed")


def test_a_variable_chooses_gloo(on_ranks):
    runs = on_ranks(
        """
        group = init()
        x = put(rank, 1)
        dist.all_reduce(x)
        print(type(group).__name__, type(group.transport).__name__, get(x))
        """,
        OUTBACK_TRANSPORT="gloo",
    )
    assert [each.output for each in runs] == ["ProcessGroup ProcessGroupGloo [1.0, 2.0]\n"] * 2


def test_another_value_of_the_variable_is_refused(on_ranks):
    runs = on_ranks(
        """
        try:
            init()
        except ValueError as error:
            print(error)
        """,
        size=1,
        OUTBACK_TRANSPORT="mpi",
    )
    assert runs[0].output == "OUTBACK_TRANSPORT=mpi: expected gloo or nccl\n"


def test_nccl_of_torch_cuda_is_as_it_was(on_ranks):
    runs = on_ranks(
        """
        import torch_acme

        init("nccl")
        group = dist.group.WORLD._get_backend(device)
        assert type(group) is dist.ProcessGroupNCCL
        x = put(rank, 1)
        dist.all_reduce(x)
        work = dist.all_reduce(x, async_op=True)
        assert type(work).__name__ == "Work"
        work.wait()
        try:
            dist.all_reduce(x.cpu())
        except RuntimeError as error:
            assert "No backend type associated with device type cpu" in str(error)
            print(get(x))
        """,
        DEVICE="cuda",
        **SAME_CLASS,
    )
    assert [each.output for each in runs] == ["[2.0, 4.0]\n"] * 2


def test_a_program_may_end_without_destroying_its_group(on_ranks):
    on_ranks(
        """
        init(device_id=device)
        x = put(rank, 1)
        dist.all_reduce(x)
        assert get(x) == [1.0, 2.0]
        sys.exit(0)
        """
    )
