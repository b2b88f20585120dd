"""Names of dimensions, where torch still has them."""

import pytest
import torch

pytestmark = [
    pytest.mark.turns_on_memory,
    pytest.mark.skipif(not hasattr(torch.Tensor, "refine_names"), reason="needs torch before 2.13"),
    pytest.mark.filterwarnings("ignore:Named tensors"),
]

CALLS = {
    "x + x": lambda x, y: x + x,
    "x * 2": lambda x, y: x * 2,
    "relu": lambda x, y: x.relu(),
    "exp": lambda x, y: x.exp(),
    "abs": lambda x, y: x.abs(),
    "sum": lambda x, y: x.sum("a"),
    "mean": lambda x, y: x.mean("b"),
    "softmax": lambda x, y: x.softmax("b"),
    "cat": lambda x, y: torch.cat([x, x]),
    "mm": lambda x, y: x @ y,
    "t": lambda x, y: x.t(),
    "clone": lambda x, y: x.clone(),
    "double": lambda x, y: x.double(),
    "copy_": lambda x, y: torch.empty(2, 3, device=x.device).copy_(x),
    "out=": lambda x, y: torch.neg(x, out=torch.empty(2, 3, device=x.device)),
    "in place": lambda x, y: x.add_(1),
    "rename": lambda x, y: x.rename("c", None),
    "to the CPU": lambda x, y: x.cpu(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_names_are_the_cpus(call):
    def tensors(device):
        return (
            torch.ones(2, 3, names=("a", "b"), device=device),
            torch.ones(3, 2, names=("c", "d"), device=device),
        )

    expected, result = call(*tensors("cpu")), call(*tensors("acme"))
    assert result.names == expected.names
    assert result.rename(None).tolist() == expected.rename(None).tolist()


def test_names_move_along():
    assert torch.ones(2, 3, names=("a", "b")).acme().names == ("a", "b")
