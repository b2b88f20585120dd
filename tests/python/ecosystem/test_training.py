"""What training programs use around a network: optimizers, checkpoints, clipping, hooks."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune
from torch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.turns_on_memory

LAST = torch.acme.device_count() - 1


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


@pytest.mark.parametrize("name", ["Adagrad", "Adam", "AdamW", "SGD"])
def test_a_fused_optimizer_steps_as_on_the_cpu(name):
    same_as_on_the_cpu(lambda p: getattr(torch.optim, name)(p, lr=0.01, fused=True))


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


def test_muon_and_lbfgs():
    module = nn.Linear(4, 4, bias=False).acme()
    x = torch.randn(8, 4, device="acme")
    optimizer = torch.optim.LBFGS(module.parameters())

    def closure():
        optimizer.zero_grad()
        loss = (module(x) - x).square().sum()
        loss.backward()
        return loss

    before = closure().item()
    optimizer.step(closure)
    assert closure().item() < before
    if hasattr(torch.optim, "Muon"):
        muon = torch.optim.Muon(module.parameters(), lr=0.01)
        closure()
        muon.step()
        assert torch.isfinite(module.weight.cpu()).all()


def test_sparse_adam():
    table = nn.Embedding(10, 3, sparse=True).acme()
    optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    before = table.weight.detach().cpu().clone()
    table(torch.tensor([1, 3], device="acme")).sum().backward()
    optimizer.step()
    moved = (table.weight.detach().cpu() != before).any(1)
    assert moved.nonzero().flatten().tolist() == [1, 3]


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


def test_gradients_of_two_devices_are_clipped_together(two_devices):
    parameters = [nn.Parameter(torch.ones(2, device=f"acme:{i}")) for i in (0, 1)]
    for p in parameters:
        p.grad = torch.full_like(p, 2.0)
    torch.testing.assert_close(nn.utils.clip_grad_norm_(parameters, 1.0).item(), 4.0)


@pytest.mark.parametrize("use_reentrant", [True, False])
@pytest.mark.parametrize("preserve", [True, False])
def test_checkpointing_repeats_what_was_drawn(use_reentrant, preserve):
    dropout = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 8)).acme()
    x = torch.randn(4, 8, device="acme", requires_grad=True)

    def gradients(run):
        dropout.zero_grad()
        x.grad = None
        torch.manual_seed(7)
        run(x).sum().backward()
        return [x.grad.clone()] + [p.grad.clone() for p in dropout.parameters()]

    once = gradients(dropout)
    again = gradients(
        lambda t: checkpoint(dropout, t, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    )
    assert torch.equal(once[0], again[0]) == preserve
    if preserve:
        assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))


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


def test_hooks_see_the_device():
    module = net().acme()
    seen = []
    module[0].weight.register_hook(lambda g: seen.append(g.device))
    module[0].weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.device))
    module[2].register_full_backward_hook(lambda m, i, o: seen.append(o[0].device))
    module[2].register_forward_hook(lambda m, i, o: seen.append(o.device))
    module(torch.ones(1, 4, device="acme", requires_grad=True)).sum().backward()
    assert seen == [torch.device("acme:0")] * 4


def test_saved_tensors_are_kept_on_the_host():
    x = torch.randn(64, 64, device="acme", requires_grad=True)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        y = (x * x).sin()
    y.sum().backward()
    torch.testing.assert_close(x.grad, (2 * x * (x * x).cos()).detach())


def test_gradcheck():
    x = torch.randn(3, dtype=torch.float64, device="acme", requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: (t.sin() * t).sum(), x)
    assert torch.autograd.gradgradcheck(lambda t: (t**3).sum(), x)


@pytest.mark.filterwarnings("ignore:.*nomaly Detection", "ignore:Error detected")
def test_anomalies_are_found():
    x = torch.tensor([-1.0], device="acme", requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=True), pytest.raises(RuntimeError, match="nan"):
        x.sqrt().sum().backward()


def test_a_function_of_ones_own():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(context, gradient):
            (x,) = context.saved_tensors
            return 3 * x**2 * gradient

    x = torch.arange(3.0, device="acme", requires_grad=True)
    Cube.apply(x).sum().backward()
    assert x.grad.tolist() == [0, 3, 12]


# ---- Modules


@pytest.mark.turns_on_driver
def test_a_module_over_two_devices(two_devices):
    class Split(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 8).acme(0), nn.Linear(8, 2).acme(1)

        def forward(self, x):
            return self.second(torch.relu(self.first(x.acme(0))).acme(1))

    module = Split()
    reference = copy.deepcopy(module).cpu()
    x = torch.randn(5, 4)
    module(x).sum().backward()
    reference.second(torch.relu(reference.first(x))).sum().backward()
    for a, b in zip(module.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(a.grad.cpu(), b.grad)
    optimizer = torch.optim.Adam(module.parameters())
    optimizer.step()
    assert [p.device.index for p in module.parameters()] == [0, 0, 1, 1]


@pytest.mark.turns_on_driver
def test_replicas_on_two_devices(two_devices):
    replicas = [net().acme(i) for i in (0, 1)]
    for i, one in enumerate(replicas):
        one(torch.full((2, 4), float(i), device=f"acme:{i}")).sum().backward()
    for a, b in zip(*(r.parameters() for r in replicas), strict=True):
        mean = (a.grad + b.grad.acme(0)) / 2
        a.grad.copy_(mean)
        b.grad.copy_(mean)
        assert torch.equal(a.grad.cpu(), b.grad.cpu())


@pytest.mark.parametrize(
    "wrap",
    [
        parametrizations.weight_norm,
        parametrizations.spectral_norm,
        parametrizations.orthogonal,
    ],
    ids=["weight_norm", "spectral_norm", "orthogonal"],
)
def test_parametrizations(wrap):
    module = wrap(nn.Linear(4, 4)).acme()
    x = torch.randn(2, 4, device="acme")
    module(x).sum().backward()
    assert all(p.grad.is_acme for p in module.parameters())
    assert wrap(nn.Linear(4, 4, device="acme"))(x).is_acme


def test_pruning_and_vectors():
    module = nn.Linear(4, 4).acme()
    prune.l1_unstructured(module, "weight", amount=0.5)
    assert module.weight_mask.is_acme and (module.weight == 0).sum().item() == 8
    vector = nn.utils.parameters_to_vector([module.bias, module.weight_orig])
    nn.utils.vector_to_parameters(vector * 0, [module.bias, module.weight_orig])
    assert vector.is_acme and module.weight_orig.abs().sum().item() == 0


@pytest.mark.parametrize("device", ["acme", f"acme:{LAST}", torch.device("acme")])
def test_modules_move_with_a_dtype(device):
    module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).to(device, torch.bfloat16)
    expected = torch.empty(0, device=device).device
    for tensor in module.state_dict().values():
        assert tensor.device == expected
        assert tensor.dtype in (torch.bfloat16, torch.int64)
    assert module.to(torch.zeros(1)).state_dict()["0.weight"].device.type == "cpu"


# ---- Defaults


def test_the_default_device():
    try:
        torch.set_default_device("acme")
        assert torch.get_default_device().type == "acme"
        assert torch.ones(2).is_acme and nn.Linear(2, 2).weight.is_acme
        assert torch.tensor([1]).is_acme and torch.randperm(3).is_acme
        assert torch.ones(2, device="cpu").device.type == "cpu"
    finally:
        torch.set_default_device(None)
    assert torch.ones(2).device.type == "cpu"


def test_a_device_as_a_context(two_devices):
    with torch.device("acme:1"):
        assert torch.ones(2).device == torch.device("acme:1")
        with torch.device("cpu"):
            assert torch.ones(2).device.type == "cpu"
        assert torch.empty_like(torch.ones(2)).device == torch.device("acme:1")
    assert torch.ones(2).device.type == "cpu"


# ---- Uninitialized memory


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def test_memory_is_filled_when_asked(deterministic):
    for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.complex64):
        assert torch.empty(3, dtype=dtype, device="acme").isnan().all().item()
    for dtype in (torch.int64, torch.int32, torch.uint8):
        filled = torch.empty(3, dtype=dtype, device="acme")
        assert (filled == torch.iinfo(dtype).max).all().item()
    assert torch.empty(3, dtype=torch.bool, device="acme").all().item()
    x = torch.ones(2, device="acme")
    assert x.new_empty(3).isnan().all().item()
    assert torch.empty_like(x).isnan().all().item()
    assert torch.empty_strided((2, 2), (1, 2), device="acme").isnan().all().item()
    grown = x.resize_(4).cpu()
    assert grown[:2].tolist() == [1, 1] and grown[2:].isnan().all()


def test_memory_is_left_alone_when_asked(deterministic):
    before = torch.utils.deterministic.fill_uninitialized_memory
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        x = torch.full((1000,), 5.0, device="acme")
        del x
        assert not torch.empty(1000, device="acme").isnan().any().item()
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = before
