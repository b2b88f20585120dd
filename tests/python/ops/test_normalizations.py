"""softmax, layer and group normalization: the CPU's values, dtypes, strides and errors."""

import pytest
import torch
import torch.nn.functional as F

from .conftest import assert_equals_the_cpu, rand

pytestmark = pytest.mark.turns_on_memory


def layer_norm_backward(on, *shape, normalized=(4,), weight=True, bias=True, wanted=(1, 1, 1)):
    x, gradient, rows = rand(*shape), rand(*shape) + 1, rand(*shape[:-1], 1)
    made = torch.ops.aten.native_layer_norm_backward(
        on(gradient), on(x), normalized, on(rows), on(rows.abs()),
        on(rand(*normalized)) if weight else None, on(rand(*normalized)) if bias else None, wanted,
    )  # fmt: skip
    return torch.cat([tensor.flatten() for tensor in made if tensor is not None])


CALLS = {
    "softmax": lambda on: torch.softmax(on(rand(3, 4)), 1),
    "softmax of columns": lambda on: torch.softmax(on(rand(3, 4, 5)), 1),
    "softmax of a number": lambda on: torch.softmax(on(rand(1)[0]), 0),
    "softmax to double": lambda on: torch.softmax(on(rand(3, 4)), 1, dtype=torch.float64),
    "softmax, half": lambda on: torch.softmax(on(rand(3, 4).half()), 1),
    "softmax, nothing": lambda on: torch.softmax(on(rand(0, 4)), 1),
    "softmax, integers": lambda on: torch.softmax(on(rand(3).int()), 0),
    "softmax, transposed": lambda on: torch.softmax(on(rand(3, 4)).t(), 1),
    "log_softmax": lambda on: torch.log_softmax(on(rand(3, 4)), 0),
    "layer_norm": lambda on: F.layer_norm(on(rand(3, 4)), (4,), on(rand(4)), on(rand(4))),
    "layer_norm, alone": lambda on: F.layer_norm(on(rand(3, 4)).t(), (3,)),
    "layer_norm, two dtypes": lambda on: F.layer_norm(
        on(rand(3, 4).bfloat16()), (4,), on(rand(4)), on(rand(4))
    ),
    "layer_norm backward": lambda on: layer_norm_backward(on, 3, 4),
    "layer_norm backward, alone": lambda on: layer_norm_backward(
        on, 2, 3, 4, weight=False, bias=False, wanted=(1, 0, 0)
    ),
    "layer_norm backward, weight": lambda on: layer_norm_backward(on, 3, 4, wanted=(0, 1, 0)),
    "layer_norm backward, bias": lambda on: layer_norm_backward(on, 3, 4, wanted=(0, 0, 1)),
    "layer_norm backward, two": lambda on: layer_norm_backward(on, 2, 3, 4, normalized=(3, 4)),
    "layer_norm backward, nothing": lambda on: layer_norm_backward(on, 0, 4),
    "layer_norm backward, sizes": lambda on: layer_norm_backward(on, 3, 4, normalized=(5,)),
    "layer_norm backward of no weight": lambda on: layer_norm_backward(on, 3, 4, weight=False),
    "layer_norm, sizes": lambda on: F.layer_norm(on(rand(3, 4)), (5,)),
    "layer_norm, nothing": lambda on: F.layer_norm(on(rand(0, 4)), (4,)),
    "group_norm": lambda on: F.group_norm(on(rand(2, 4, 3)), 2, on(rand(4)), on(rand(4))),
    "group_norm, channels last": lambda on: F.group_norm(
        on(rand(2, 4, 3, 3)).to(memory_format=torch.channels_last), 2
    ),
    "group_norm of one channel": lambda on: F.group_norm(
        on(rand(2, 1, 3, 3)).to(memory_format=torch.channels_last), 1
    ),
    "group_norm, two dtypes": lambda on: F.group_norm(
        on(rand(2, 4, 3).bfloat16()), 2, on(rand(4)), on(rand(4))
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_equals_the_cpu(call, put):
    assert_equals_the_cpu(call, put)
