"""Padding, pooling, pixels that change places, and losses: the CPU's results and errors."""

import pytest
import torch
import torch.nn.functional as F

from .conftest import assert_equals_the_cpu, rand

pytestmark = pytest.mark.turns_on_memory

CALLS = {
    "tril": lambda on: on(rand(3, 4)).tril(1),
    "triu, transposed": lambda on: on(rand(2, 3, 4)).mT.triu(-1),
    "triu of bools": lambda on: (on(rand(3, 4)) > 0).triu(),
    "triu of a vector": lambda on: on(rand(3)).triu(),
    "pad by reflection": lambda on: F.pad(on(rand(2, 3, 4, 5)), (1, 2, 2, 1), mode="reflect"),
    "pad by reflection, a row": lambda on: F.pad(on(rand(2, 3, 4)), (1, 2), mode="reflect"),
    "pad by too much": lambda on: F.pad(on(rand(2, 3, 4)), (4, 2), mode="reflect"),
    "pad by replication": lambda on: F.pad(on(rand(2, 3, 4, 5)), (1, 0, 2, -1), mode="replicate"),
    "pad by replication, channels last": lambda on: F.pad(
        on(rand(2, 3, 4, 5)).to(memory_format=torch.channels_last), (1, 0, 2, 1), mode="replicate"
    ),
    "pool to averages": lambda on: F.adaptive_avg_pool2d(on(rand(2, 3, 7, 5)), (3, 2)),
    "pool one channel": lambda on: F.adaptive_avg_pool2d(
        on(rand(2, 1, 7, 5)).to(memory_format=torch.channels_last), 3
    ),
    "pool of cubes": lambda on: F.avg_pool3d(on(rand(2, 3, 4, 4, 4)), 2),
    "pool, maxima": lambda on: F.max_pool2d(on(rand(2, 3, 7, 5)), 3, 2, 1, return_indices=True)[1],
    "pool, maxima, channels last": lambda on: F.max_pool2d(
        on(rand(2, 3, 7, 5)).to(memory_format=torch.channels_last), 2
    ),
    "pool, maxima of integers": lambda on: F.max_pool2d(on(rand(2, 3, 7, 5).long()), 2),
    "pool, a kernel that is too large": lambda on: F.max_pool2d(on(rand(2, 3, 2, 2)), 3),
    "pool, maxima of cubes": lambda on: F.max_pool3d(on(rand(2, 3, 4, 4, 4)), 2),
    "pool to maxima": lambda on: F.adaptive_max_pool2d(on(rand(2, 3, 7, 5)), 3),
    "grid_sample": lambda on: F.grid_sample(
        on(rand(1, 2, 4, 5)), on(rand(1, 3, 3, 2)), align_corners=False
    ),
    "grid_sample of cubes": lambda on: F.grid_sample(
        on(rand(1, 2, 3, 4, 5)), on(rand(1, 2, 3, 3, 3)), align_corners=True
    ),
    "pixel_shuffle": lambda on: F.pixel_shuffle(on(rand(2, 8, 3, 3)), 2),
    "pixel_shuffle of integers": lambda on: F.pixel_shuffle(on(rand(1, 4, 3, 3).int()), 2),
    "pixel_shuffle, sizes": lambda on: F.pixel_shuffle(on(rand(2, 6, 3, 3)), 2),
    "pixel_unshuffle, channels last": lambda on: F.pixel_unshuffle(
        on(rand(2, 2, 4, 4)).to(memory_format=torch.channels_last), 2
    ),
    "narrow_copy": lambda on: torch.narrow_copy(on(rand(3, 4)), 1, 1, 2),
    "narrow_copy, outside": lambda on: torch.narrow_copy(on(rand(3, 4)), 1, 3, 2),
    "flip": lambda on: on(rand(2, 3, 4)).flip(0, 2),
    "flip, transposed": lambda on: on(rand(3, 4)).t().flip(0),
    "flip of bools": lambda on: (on(rand(3, 4)) > 0).flip(1),
    "roll": lambda on: on(rand(3, 4)).roll((1, -2), (0, 1)),
    "roll of all": lambda on: on(rand(3, 4).int()).roll(5),
    "huber_loss": lambda on: F.huber_loss(on(rand(3, 4)), on(rand(3, 4)) * 2, delta=0.3),
    "logsigmoid": lambda on: F.logsigmoid(on(rand(3, 4))),
    "multi_margin_loss": lambda on: F.multi_margin_loss(
        on(rand(3, 4)), on(torch.tensor([0, 3, 1])), weight=on(rand(4).abs())
    ),
    "nll_loss": lambda on: F.nll_loss(
        on(rand(3, 4)), on(torch.tensor([0, 3, -100])), weight=on(rand(4).abs())
    ),
    "nll_loss of bytes": lambda on: F.nll_loss(on(rand(2, 4)), on(torch.tensor([0, 3]).byte())),
    "nll_loss, outside": lambda on: F.nll_loss(on(rand(2, 4)), on(torch.tensor([0, 4]))),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_equals_the_cpu(call, put):
    assert_equals_the_cpu(call, put)
