"""What training programs use around a network: optimizers, schedules, clipping, pruning."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.utils import prune
from torch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.turns_on_memory


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def trained(module, make, steps=3):
    device = next(module.parameters()).device
    optimizer = make(module.parameters())
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        x = torch.randn(6, 4, generator=generator).to(device)
        optimizer.zero_grad()
        module(x).square().mean().backward()
        optimizer.step()
    return [p.detach().cpu() for p in module.parameters()]


def same_as_on_the_cpu(make, **tolerance):
    on_cpu = net()
    on_device = copy.deepcopy(on_cpu).acme()
    for a, b in zip(trained(on_device, make), trained(on_cpu, make), strict=True):
        torch.testing.assert_close(a, b, **tolerance)


# ---- Optimizers

EVERY = [
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "ASGD",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
]


@pytest.mark.parametrize("foreach", [True, False, None], ids=["foreach", "for each", "default"])
@pytest.mark.parametrize("name", EVERY)
def test_an_optimizer_steps_as_on_the_cpu(name, foreach):
    same_as_on_the_cpu(lambda p: getattr(torch.optim, name)(p, lr=0.01, foreach=foreach))


@pytest.mark.parametrize(
    "name", ["Adadelta", "Adam", "AdamW", "Adamax", "ASGD", "NAdam", "RMSprop"]
)
def test_a_capturable_optimizer_keeps_its_step_on_the_device(name):
    module = net().acme()
    optimizer = getattr(torch.optim, name)(module.parameters(), lr=0.01, capturable=True)
    module(torch.ones(1, 4, device="acme")).sum().backward()
    optimizer.step()
    assert {s["step"].device.type for s in optimizer.state.values()} == {"acme"}


def test_the_device_is_in_torchs_lists():
    from torch.utils import _foreach_utils

    assert "acme" in _foreach_utils._get_foreach_kernels_supported_devices()
    assert "acme" in _foreach_utils._get_fused_kernels_supported_devices()
    from torch.optim.optimizer import _get_capturable_supported_devices

    assert "acme" in _get_capturable_supported_devices()


@pytest.mark.turns_on_driver
def test_schedules_and_averages():
    module = net().acme()
    averaged = torch.optim.swa_utils.AveragedModel(
        module, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5)
    )
    optimizer = torch.optim.SGD(module.parameters(), lr=torch.tensor(0.1, device="acme"))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=4)
    for _ in range(3):
        module(torch.ones(1, 4, device="acme")).sum().backward()
        optimizer.step()
        schedule.step()
        averaged.update_parameters(module)
    assert averaged(torch.ones(1, 4, device="acme")).is_acme


# ---- Gradients


@pytest.mark.parametrize("foreach", [True, False, None])
def test_gradients_are_clipped(foreach):
    parameters = [nn.Parameter(torch.ones(n, device="acme")) for n in (2, 3)]
    for p in parameters:
        p.grad = torch.full_like(p, 2.0)
    total = nn.utils.clip_grad_norm_(parameters, 1.0, foreach=foreach)
    assert total.is_acme
    torch.testing.assert_close(total.item(), 20**0.5)
    norm = nn.utils.get_total_norm([p.grad for p in parameters], foreach=foreach)
    torch.testing.assert_close(norm.item(), 1.0, rtol=1e-4, atol=1e-4)
    nn.utils.clip_grad_value_(parameters, 0.1, foreach=foreach)
    assert max(p.grad.max().item() for p in parameters) <= 0.1001


def test_checkpointing_across_devices(two_devices):
    first, second = nn.Linear(4, 4).acme(0), nn.Linear(4, 4).acme(1)
    x = torch.randn(2, 4, device="acme:0", requires_grad=True)

    there = torch.zeros(1, device="acme:1")  # torch keeps the numbers of its arguments' devices

    def forward(t, other):
        t = nn.functional.dropout(first(t), 0.5)
        return nn.functional.dropout(second(t.to("acme:1") + other), 0.5)

    torch.manual_seed(3)
    forward(x, there).sum().backward()
    expected, x.grad = x.grad, None
    torch.manual_seed(3)
    checkpoint(forward, x, there, use_reentrant=False).sum().backward()
    assert torch.equal(x.grad, expected)


# ---- Modules


def test_pruning_and_vectors():
    module = nn.Linear(4, 4).acme()
    prune.l1_unstructured(module, "weight", amount=0.5)
    assert module.weight_mask.is_acme and (module.weight == 0).sum().item() == 8
    vector = nn.utils.parameters_to_vector([module.bias, module.weight_orig])
    nn.utils.vector_to_parameters(vector * 0, [module.bias, module.weight_orig])
    assert vector.is_acme and module.weight_orig.abs().sum().item() == 0


# ---- Uninitialized memory


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def test_memory_is_left_alone_when_asked(deterministic):
    before = torch.utils.deterministic.fill_uninitialized_memory
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        x = torch.full((1000,), 5.0, device="acme")
        del x
        assert not torch.empty(1000, device="acme").isnan().any().item()
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = before
