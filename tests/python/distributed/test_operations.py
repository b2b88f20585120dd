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


def test_what_is_divided_has_any_shape_with_these_elements(run_ranks):
    """Gloo by itself ends the process at a part without dimensions, and refuses the others."""
    run_ranks(
        """
        import warnings
        warnings.simplefilter("ignore", FutureWarning)  # newer torch has new names
        whole = torch.arange(12.0, device="acme")
        part = torch.zeros(2, 3, device="acme")
        dist.reduce_scatter_tensor(part, whole)
        assert part.tolist() == (2 * whole.view(2, 2, 3)[rank]).tolist()
        dist.all_gather_into_tensor(whole.view(4, 3), part.view(6))
        assert whole.tolist() == [2.0 * i for i in range(12)]
        one = torch.zeros((), device="acme")
        dist.reduce_scatter_tensor(one, whole[1:3])
        assert one.item() == (4, 8)[rank]
        with dist._coalescing_manager():
            dist.reduce_scatter_tensor(one, whole[1:3])
            dist.reduce_scatter_tensor(part, whole)
        assert one.item() == (4, 8)[rank] and part[0, 0].item() == (0, 24)[rank]
        """
    )
