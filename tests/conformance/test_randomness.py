"""What is random is known by other seeds, and not taken for a result that has to be the same."""

from __future__ import annotations

import pytest
import torch

from conformance.opinfo import sampling
from conformance.opinfo.calls import depends_on_seed


@pytest.mark.parametrize("seed", range(20))
def test_a_single_random_bool_is_random(seed):
    def answer():
        sampling.seed_torch(seed)
        return torch.randint(2, ()).bool()

    assert depends_on_seed(answer)


def test_what_does_not_draw_is_not():
    def answer():
        sampling.seed_torch(0)
        return torch.nn.functional.dropout(torch.ones(3), p=0.0)

    assert not depends_on_seed(answer)
