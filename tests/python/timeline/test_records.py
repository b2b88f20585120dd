"""Where the times come from: the driver's records or, where it has none, events."""

import pytest

from .recorded import HAS_RECORDS
from .test_endings import run_profiled  # noqa: F401  (a fixture)

pytestmark = [pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]

WITHOUT = "activity.start:*=unsupported"

BOTH_WAYS = """
from itertools import pairwise

torch.acme.synchronize()
side = torch.acme.Stream()
pinned = torch.ones(1 << 19).pin_memory()  # more than what goes past the streams
with profile(activities=BOTH) as profiled:
    with torch.acme.stream(side):
        x = pinned.to("acme", non_blocking=True)
        y = torch.empty_like(x)
        y.copy_(x)
    side.synchronize()
there = on_device(profiled)
assert pieces(profiled) == ["Memcpy HtoD", "Memcpy DtoD"], pieces(profiled)
assert all(each.row == side.stream_id for each in there), there
assert all(from_where(profiled, each).name == "aten::copy_" for each in there), there
assert all(before.end <= after.start + 1 for before, after in pairwise(there)), there
"""


@pytest.mark.parametrize("faults", ["", WITHOUT], ids=["records", "events"])
def test_the_same_pieces_are_there_both_ways(run_profiled, faults):  # noqa: F811
    run_profiled(BOTH_WAYS, OUTBACK_FAULTS=faults)


def test_a_driver_that_may_not_push_a_number_leaves_the_call(run_profiled):  # noqa: F811
    """The work has a record of nobody's, and its call has no work."""
    done = run_profiled(
        """
with profile(activities=BOTH) as profiled:
    copy()
assert "acme::mem_copy" in [each.name for each in everything(profiled)]
check()
""",
        check=False,
        OUTBACK_FAULTS="activity.push:*=internal",
    )
    assert done.code == 0, done
    if HAS_RECORDS:
        assert "of 1 pieces of work the profile has no time on the device" in done.errors


def test_validation_finds_nothing_wrong(run_profiled):  # noqa: F811
    done = run_profiled(BOTH_WAYS + BOTH_WAYS, OUTBACK_VALIDATE="1")
    assert done.errors == ""
