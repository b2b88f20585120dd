"""Compiled training steps learn what the CPU learns without a compiler, on batches of any size."""

import copy

import pytest
import torch
from torch._dynamo.utils import counters

from . import models
from .conftest import needs_portable_kernels

pytestmark = [
    pytest.mark.turns_on_kernels,
    pytest.mark.usefixtures("compiler"),
    needs_portable_kernels,
]

WHOLE = {
    each.__name__: each
    for each in (models.Digits, models.Gpt, models.ResNet18, models.Bert, models.UNet)
}


def check_training(make, batches):
    torch.manual_seed(0)
    of_cpu = make()
    model = copy.deepcopy(of_cpu).acme()
    compiled = torch.compile(model, dynamic=True)
    mine, theirs = (torch.optim.AdamW(each.parameters(), 1e-3) for each in (model, of_cpu))
    step = torch.compile(mine.step)
    losses = []
    for count, n in enumerate(batches):
        data = of_cpu.batch(n)
        for call, optimizer, device, update in (
            (compiled, mine, "acme", step),
            (of_cpu, theirs, "cpu", theirs.step),
        ):
            loss = call(*(each.to(device) for each in data))
            loss.backward()
            update()
            optimizer.zero_grad()
            losses.append(loss.detach().cpu())
        if count == 0:
            graphs = counters["stats"]["unique_graphs"]
    torch.testing.assert_close(losses[::2], losses[1::2], rtol=2e-3, atol=2e-3)
    assert losses[-1].isfinite()
    assert counters["stats"]["unique_graphs"] == graphs, "compiled again for another batch size"


def test_a_small_one_trains_compiled():
    check_training(lambda: models.Gpt(50, 16, 1), (9, 10))


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_one_trains_compiled(name):
    check_training(WHOLE[name], (9, 10, 13))
