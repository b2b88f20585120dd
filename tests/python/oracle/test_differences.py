"""Each difference in the list is one: an entry that nothing needs any more has to go."""

import pytest

from oracle.comparing import differing
from oracle.differences import DIFFERENCES

pytestmark = pytest.mark.any_runtime


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.name)
def test_a_difference_is_one(theirs, difference):
    call = difference.example
    outcome = theirs.execute(call)
    assert difference.applies(call, outcome)
    assert difference.expect(call, outcome, theirs.execute) != outcome
    found = differing(call, theirs)
    assert not found
