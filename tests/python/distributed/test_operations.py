"""Every operation of the process group with every dtype, against Gloo on tensors of the CPU."""

import ast

import pytest

pytestmark = pytest.mark.turns_on_memory


def test_every_operation_does_what_gloo_does_on_the_cpu(run_ranks):
    done = run_ranks(
        """
        import warnings
        import comparing
        warnings.simplefilter("ignore", FutureWarning)  # newer torch has new names
        comparing.compare_all(rank)
        """
    )
    counts = ast.literal_eval(done.output)
    assert set(counts) == {"equal", "refused"}, done
    assert counts["equal"] > 2 * counts["refused"]
