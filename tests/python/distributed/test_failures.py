"""Every operation of the process group ends with an error if the other rank is late, or dies."""

import re

import pytest

pytestmark = pytest.mark.turns_on_memory

# What errors call the operations of operations.py, where that is not their name there.
CALLED = {
    **dict.fromkeys(["all_reduce_SUM", "all_reduce_later", "all_reduce_functional"], "all_reduce"),
    **dict.fromkeys(["broadcast_a_transposed_tensor", "broadcast_functional"], "broadcast"),
    **dict.fromkeys(["all_to_all_uneven", "all_to_all_of_other_rows"], "all_to_all_single"),
    "all_to_all_functional": "all_to_all_single",
    "reduce_SUM": "reduce",
    "gather_single": "gather",
    "reduce_scatter_together": "reduce_scatter_tensor_coalesced",
    "reduce_scatter_functional": "reduce_scatter_tensor_coalesced",
    "all_gather_stacked": "all_gather_into_tensor",
    "all_gather_together": "all_gather_into_tensor_coalesced",
    "all_gather_functional": "all_gather_into_tensor_coalesced",
    "all_reduce_sparse": "all_reduce of sparse tensors",
    "send_and_receive": "recv",
    "receive_from_anyone": "recv from any rank",
    "exchange": "(send|recv)",
    "exchange_together": "(send|recv)",
}


def test_every_operation_fails_with_its_peer(run_quietly, tmp_path, folder):
    """In its own words, in time, and so that the process can go on and end."""
    done = run_quietly(
        f"""
        import sys
        sys.path.insert(0, {folder!r})
        import torch, torch_acme
        import failing
        failing.run_all({str(tmp_path)!r})
        """
    )
    lines = [line.split("\t") for line in done.output.splitlines()]
    assert len(lines) > 25
    for name, code, seconds_to_end, *errors in lines:
        assert code == "17" and len(errors) == 2, (name, code, errors)
        assert float(seconds_to_end) < 30, (name, seconds_to_end)
        called = CALLED.get(name, name)
        for error, why in zip(
            errors, ["Timed out waiting 200ms|timeout", "closed|reset by peer"], strict=False
        ):
            words = rf"DistBackendError: acme: {called} of group default_pg \(rank [01] of 2\) "
            assert re.match(rf"{words}failed after \d+\.\d+ s: .*({why})", error), (name, error)


@pytest.mark.parametrize(
    "call",
    [
        "dist.new_group(backend='cpu:outback,acme:outback', timeout=second)",
        "dist.split_group(split_ranks=[[0, 1]], timeout=second)",
    ],
)
def test_a_rank_that_does_not_make_the_group_is_an_error(run_ranks, call):
    run_ranks(
        f"""
        second = datetime.timedelta(seconds=1)
        store = dist.distributed_c10d._get_default_store()
        if "split" in {call!r} and torch.__version__ < "2.13":
            return  # for CUDA alone
        if rank == 0:
            try:
                {call}
            except dist.DistBackendError as error:
                assert "acme: rank 0 of 2 could not connect to the others of group" in str(error)
                assert "within 1 s" in str(error), error
            else:
                raise AssertionError
            store.set("noticed", "")
        else:
            store.wait(["noticed"])
        x = torch.ones(3, device="acme")
        dist.all_reduce(x)
        assert x.tolist() == [2, 2, 2]
        """,
        group="backend='cpu:outback,acme:outback', device_id=torch.device('acme:0')",
    )


def test_a_peer_may_die_while_data_are_under_way(run_ranks):
    done = run_ranks(
        """
        import os, signal, threading
        x = torch.ones(4_000_000, device="acme")
        dist.all_reduce(x)
        if rank == 1:
            threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGKILL]).start()
        try:
            while True:
                dist.all_reduce(x)
        except dist.DistBackendError as error:
            assert "all_reduce of group default_pg (rank 0 of 2) failed after" in str(error), error
        print("noticed")
        """,
        check=False,
    )
    assert done.output == "noticed", done
