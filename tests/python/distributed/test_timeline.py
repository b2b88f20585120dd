"""Collectives in torch's profiler."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.turns_on_memory


def test_a_collective_is_a_piece_of_its_operator(run_ranks):
    run_ranks(
        f"""
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        import warnings
        warnings.filterwarnings("ignore", message=".*Profiler clears events")  # torch 2.11
        from torch.profiler import ProfilerActivity, profile
        from timeline.recorded import from_where, on_device

        x = torch.full((1 << 16,), rank + 1.0, device="acme")
        dist.all_reduce(x)  # connects
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as profiled:
            dist.all_reduce(x)
            work = dist.broadcast(x, 0, async_op=True)
            work.wait()
            torch.acme.synchronize()
        pieces = {{
            each.name: each
            for each in on_device(profiled)
            if each.name in ("all_reduce", "broadcast")
        }}
        operators = {{name: from_where(profiled, each).name for name, each in pieces.items()}}
        assert operators == {{"all_reduce": "c10d::allreduce_", "broadcast": "c10d::broadcast_"}}
        assert pieces["all_reduce"].end <= pieces["broadcast"].end
        assert len({{each.row for each in pieces.values()}}) == 1
        """
    )
