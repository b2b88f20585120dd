"""cat: the CPU's values, dtypes, strides and errors."""

import pytest
import torch

from .conftest import assert_equals_the_cpu, rand

pytestmark = pytest.mark.turns_on_memory

CALLS = {
    "cat": lambda on: torch.cat([on(rand(3, 4)), on(rand(2, 4))]),
    "cat, columns": lambda on: torch.cat([on(rand(3, 4)), on(rand(3, 2)).expand(3, 2)], 1),
    "cat, transposed": lambda on: torch.cat([on(rand(4, 3)).t(), on(rand(2, 4))]),
    "cat, two dtypes": lambda on: torch.cat([on(rand(3, 4)), on(rand(2, 4).double())]),
    "cat, an empty one": lambda on: torch.cat([on(rand(3, 4)), on(torch.empty(0))]),
    "cat, channels last": lambda on: torch.cat(
        [on(rand(1, 2, 3, 4)).to(memory_format=torch.channels_last)] * 2, 1
    ),
    "cat, sizes": lambda on: torch.cat([on(rand(3, 4)), on(rand(2, 5))]),
    "cat, numbers": lambda on: torch.cat([on(rand(1)[0]), on(rand(1)[0])]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_equals_the_cpu(call, put):
    assert_equals_the_cpu(call, put)
