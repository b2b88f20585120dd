"""Modules on the device: made there, moved there, loaded, and trained as on the CPU."""

from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ..apart import need_device
from ..backend import Backend
from ..check import Skipped, Unsupported, check, variants


def small_net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))


def tensors_of(module: nn.Module) -> dict[str, torch.Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def is_on(module: nn.Module, device: torch.device) -> None:
    elsewhere = {n: str(t.device) for n, t in tensors_of(module).items() if t.device != device}
    assert not elsewhere, f"expected {device}: {elsewhere}"


@check(called_by="torch/nn/modules/module.py: to", without="models cannot be put on the device")
def modules_are_moved(backend: Backend) -> None:
    """Module.to moves parameters, buffers and gradients to the device and back, in each of its
    forms, and keeps parameters the objects that an optimizer has."""
    net = small_net()
    expected = {name: tensor.clone() for name, tensor in tensors_of(net).items()}
    net(torch.ones(3, 4)).sum().backward()
    parameters = list(net.parameters())
    for target in (backend.device, backend.name, str(backend.device)):
        assert net.to(target) is net
        is_on(net, backend.device)
        assert all(a is b for a, b in zip(net.parameters(), parameters, strict=True))
        assert all(p.grad.device == backend.device for p in net.parameters())
        net.cpu()
        is_on(net, torch.device("cpu"))
    other = backend.other_float
    for name, tensor in tensors_of(small_net().to(backend.device, other)).items():
        assert tensor.device == backend.device
        assert tensor.dtype == (torch.int64 if "num_batches" in name else other), name
    for name, tensor in tensors_of(net).items():
        if "running" not in name and "num_batches" not in name:
            assert torch.equal(tensor, expected[name]), f"{name} has other numbers"
    if backend.count > 1:
        is_on(net.to(backend.device).to(backend.other_device), backend.other_device)


@check(
    called_by="torch/nn/modules/linear.py: Linear",
    without="large models have to be made on the CPU first",
)
def modules_are_made_there(backend: Backend) -> None:
    """Modules take device= and make their parameters and buffers there, initialized as their kind
    is."""
    made = [
        nn.Linear(4, 3, device=backend.device),
        nn.Conv2d(2, 4, 3, device=backend.device),
        nn.BatchNorm2d(4, device=backend.device),
        nn.LSTM(3, 4, 2, device=backend.device),
        nn.Embedding(5, 3, device=backend.device),
        nn.LayerNorm(4, device=backend.device),
        nn.MultiheadAttention(4, 2, device=backend.device),
        nn.TransformerEncoderLayer(4, 2, 8, device=backend.device),
    ]
    for module in made:
        is_on(module, backend.device)
        for name, parameter in module.named_parameters():
            assert parameter.isfinite().all(), f"{type(module).__name__}.{name} is not initialized"
    weight = made[0].weight
    assert weight.abs().max().item() <= 0.5 and weight.unique().numel() > 6
    assert made[2].running_var.eq(1).all() and made[2].weight.eq(1).all()


@check(
    called_by="torch/nn/modules/module.py: to_empty",
    without="models cannot be made without memory and filled later",
)
def modules_of_meta_become_real(backend: Backend) -> None:
    """A module of the meta device gets its memory on the device by to_empty, and its numbers by
    load_state_dict, also with assign=True."""
    source = small_net()
    x = torch.ones(3, 4)
    expected = source.eval()(x)
    with torch.device("meta"):
        first, second = small_net(), small_net()
    first.to_empty(device=backend.device)
    is_on(first, backend.device)
    first.load_state_dict(source.state_dict())
    torch.testing.assert_close(first.eval()(x.to(backend.device)).cpu(), expected)
    there = copy.deepcopy(source).to(backend.device).state_dict()
    second.load_state_dict(there, assign=True)
    is_on(second, backend.device)
    torch.testing.assert_close(second.eval()(x.to(backend.device)).cpu(), expected)


@check(
    called_by="torch/nn/modules/module.py: load_state_dict",
    without="checkpoints cannot be loaded into models on the device",
)
def states_are_saved_and_loaded(backend: Backend) -> None:
    """The state of a module on the device is saved, and loaded into modules on the device and on
    the CPU; that of the CPU goes into a module on the device."""
    x = torch.ones(3, 4)
    source = small_net().eval()
    expected = source(x)
    for origin in (torch.device("cpu"), backend.device):
        file = io.BytesIO()
        torch.save(source.to(origin).state_dict(), file)
        for target in (torch.device("cpu"), backend.device):
            for location in (None, target):
                file.seek(0)
                state = torch.load(file, map_location=location)
                net = small_net().eval().to(target)
                net.load_state_dict(state)
                is_on(net, target)
                torch.testing.assert_close(net(x.to(target)).cpu(), expected)


@check(
    called_by="torch/nn/parallel/data_parallel.py: DataParallel",
    without="programs written with DataParallel fail without saying why",
)
def data_parallel_works_with_one_device_or_refuses(backend: Backend) -> None:
    """DataParallel with one device gives what the module gives, or refuses with an error that says
    why."""
    need_device(backend)  # DataParallel takes the accelerator's devices, whatever the module's are
    net = small_net().eval().to(backend.device)
    x = torch.ones(3, 4, device=backend.device)
    try:
        result = nn.DataParallel(net, device_ids=[backend.device.index])(x)
    except (AttributeError, NotImplementedError, RuntimeError, TypeError) as error:
        assert str(error), "refused without a word"
        assert torch.equal(net(x), net(x)), "the module does not work after the refusal"
    else:
        assert result.device == backend.device
        torch.testing.assert_close(result, net(x))


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 4, 3, groups=2),
            nn.GroupNorm(2, 4),
            nn.ConvTranspose2d(4, 2, 2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(2, 3),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x.reshape(-1, 1, 6, 8))


class Recurrent(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.layer = getattr(nn, kind)(8, 5, num_layers=2, batch_first=True, bidirectional=True)
        self.last = nn.Linear(10, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.layer(x)[0][:, -1])


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.embedding = nn.Embedding(6, 8)
        self.last = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + self.embedding(torch.arange(6, device=x.device))
        return self.last(self.encoder(y).mean(1))


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(48, 16),
            nn.LayerNorm(16),
            nn.GELU(),
            nn.Linear(16, 8),
            nn.BatchNorm1d(8),
            nn.SiLU(),
            nn.Linear(8, 3),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


NETS: dict[str, Callable[[], nn.Module]] = {
    "MLP": Layers,
    "CNN": Convolutions,
    "LSTM": lambda: Recurrent("LSTM"),
    "GRU": lambda: Recurrent("GRU"),
    "RNN": lambda: Recurrent("RNN"),
    "Transformer": Transformer,
}
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
    # With an eps that leaves gradients which are only rounding what they are, nearly nothing.
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01, eps=1e-3),
}


def trains_as_on_the_cpu(backend: Backend, make: Callable[[], nn.Module], optimizer: str) -> None:
    """Steps of training on the device have the losses, gradients, parameters and buffers of the
    CPU, and evaluation afterwards its results."""
    torch.manual_seed(0)
    ours = make()
    theirs = copy.deepcopy(ours)
    ours = ours.to(backend.device)
    data = [(torch.randn(5, 6, 8), torch.randint(0, 3, (5,))) for _ in range(2)]
    steps = {}
    for net, device in ((ours, backend.device), (theirs, torch.device("cpu"))):
        optimize = OPTIMIZERS[optimizer](net.parameters())
        losses = []
        for x, y in data:
            optimize.zero_grad()
            loss = F.cross_entropy(net(x.to(device)), y.to(device))
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            losses.append(loss.item())
            for name, parameter in net.named_parameters():
                assert parameter.grad is not None, f"{name} has no gradient"
                assert parameter.grad.device == device, f"{name}.grad on {parameter.grad.device}"
            optimize.step()
        steps[device.type] = losses
    close: dict[str, Any] = {"rtol": 1e-3, "atol": 1e-4}
    for ours_now, theirs_now in zip(steps[backend.name], steps["cpu"], strict=True):
        assert abs(ours_now - theirs_now) < 1e-3, f"losses {steps}"
    for name, tensor in tensors_of(theirs).items():
        mine = tensors_of(ours)[name]
        assert mine.device == backend.device, f"{name} went to {mine.device}"
        torch.testing.assert_close(mine.cpu(), tensor, msg=lambda m, n=name: f"{n}: {m}", **close)
    with torch.no_grad():
        x = data[0][0]
        torch.testing.assert_close(
            ours.eval()(x.to(backend.device)).cpu(), theirs.eval()(x), **close
        )


def of_level(level: str, optimizer: str) -> list:
    return variants(
        check(
            called_by="torch/optim/optimizer.py: Optimizer",
            without="models do not learn, or learn something else",
            level=level,
        )(trains_as_on_the_cpu),
        trains_as_on_the_cpu,
        {f"{name}, {optimizer}": (make, optimizer) for name, make in NETS.items()},
    )


trained = of_level("quick", "SGD")
trained_with_adam = of_level("standard", "AdamW")


FUSED: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": lambda p, **how: torch.optim.SGD(p, lr=0.25, momentum=0.5, **how),
    "Adam": lambda p, **how: torch.optim.Adam(p, lr=0.25, **how),
    "AdamW": lambda p, **how: torch.optim.AdamW(p, lr=0.25, **how),
    "Adagrad": lambda p, **how: torch.optim.Adagrad(p, lr=0.25, **how),
}


def fused_steps_are_those_of_float32(backend: Backend, optimizer: str, dtype: torch.dtype) -> None:
    """A fused optimizer updates all elements of a parameter in reduced precision, to roundings of
    what a loop in float32 makes of the same numbers."""
    if backend.name == "cpu" and optimizer == "SGD":
        raise Skipped("the CPU's own kernel leaves most elements as they were")
    start = torch.linspace(0.5, 2, 40).to(dtype)
    there = start.to(backend.device, copy=True).requires_grad_()
    exact = start.float().requires_grad_()
    try:
        fused = FUSED[optimizer]([there], fused=True)
    except RuntimeError as refusal:
        raise Unsupported(f"{optimizer} with fused=True: {refusal}") from None
    loop = FUSED[optimizer]([exact], fused=False, foreach=False)
    for number in (1.0, 0.5):
        gradient = torch.linspace(1, 2, 40).mul(number).to(dtype)
        there.grad, exact.grad = gradient.to(backend.device), gradient.float()
        fused.step()
        loop.step()
    step = 4 * torch.finfo(dtype).eps
    assert there.dtype == dtype and there.device == backend.device
    torch.testing.assert_close(
        *(there.detach().cpu().float(), exact.detach()), rtol=step, atol=step
    )


fused_in_reduced_precision = variants(
    check(
        called_by="torch/optim/sgd.py: _fused_sgd",
        without="models in half or bfloat16 do not learn, in silence",
    )(fused_steps_are_those_of_float32),
    fused_steps_are_those_of_float32,
    {
        f"{name}, {dtype}".replace("torch.", ""): (name, dtype)
        for name in FUSED
        for dtype in (torch.float16, torch.bfloat16)
    },
)


@check(
    called_by="torch/nn/modules/rnn.py: flatten_parameters",
    without="recurrent layers fail when they are moved or copied",
)
def recurrent_layers_flatten_their_parameters(backend: Backend) -> None:
    """flatten_parameters, moving, copying and changing weights leave a recurrent layer with the
    results of the CPU's, and without a warning."""
    torch.manual_seed(0)
    x = torch.randn(4, 2, 3)
    for kind in (nn.LSTM, nn.GRU):
        layer = kind(3, 4, 2)
        expected = layer(x)[0]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            there = copy.deepcopy(layer).to(backend.device)
            there.flatten_parameters()
            for net in (there, copy.deepcopy(there)):
                torch.testing.assert_close(net(x.to(backend.device))[0].cpu(), expected)
        with torch.no_grad():
            there.weight_ih_l0.mul_(2)
            layer.weight_ih_l0.mul_(2)
        torch.testing.assert_close(there(x.to(backend.device))[0].cpu(), layer(x)[0])
        torch.testing.assert_close(there.cpu()(x)[0], layer(x)[0])


@check(
    called_by="torch/nn/utils/rnn.py: PackedSequence",
    without="sequences of different lengths cannot be computed",
)
def packed_sequences_are_computed(backend: Backend) -> None:
    """A packed sequence moves to the device and goes through an LSTM as on the CPU."""
    torch.manual_seed(0)
    x, lengths = torch.randn(3, 5, 4), torch.tensor([5, 2, 3])
    layer = nn.LSTM(4, 3, batch_first=True)
    packed: Any = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    expected, sizes = pad_packed_sequence(layer(packed)[0], batch_first=True)
    there = packed.to(backend.device)
    assert there.data.device == backend.device and there.batch_sizes.device.type == "cpu"
    actual, ours = pad_packed_sequence(layer.to(backend.device)(there)[0], batch_first=True)
    assert actual.device == backend.device and torch.equal(sizes, ours.cpu())
    torch.testing.assert_close(actual.cpu(), expected)


@check(
    called_by="torch/utils/checkpoint.py: checkpoint_sequential",
    without="large models do not fit",
)
def a_checkpointed_model_trains(backend: Backend) -> None:
    """A model whose activations are computed again in backward has the gradients of one whose are
    kept."""
    torch.manual_seed(0)
    net = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(4)])
    net = net.to(backend.device)
    x = torch.randn(3, 4, device=backend.device)
    expected = torch.autograd.grad(net(x).sum(), list(net.parameters()))
    y = torch.utils.checkpoint.checkpoint_sequential(net, 2, x, use_reentrant=False)
    y.sum().backward()
    torch.testing.assert_close([p.grad for p in net.parameters()], list(expected))


@check(
    called_by="torch/nn/modules/module.py: register_forward_hook",
    without="hooks see other tensors than the model's",
)
def hooks_see_the_devices_tensors(backend: Backend) -> None:
    """Forward hooks, backward hooks and hooks of parameters see tensors of the device and may
    change them."""
    net = nn.Linear(3, 2, device=backend.device)
    seen: list[torch.device] = []
    net.register_forward_pre_hook(lambda module, args: seen.append(args[0].device))

    def doubled(module: nn.Module, args: tuple, output: torch.Tensor) -> torch.Tensor:
        seen.append(output.device)
        return output * 2

    net.register_forward_hook(doubled)
    net.register_full_backward_hook(lambda module, before, after: seen.append(after[0].device))
    net.weight.register_hook(lambda gradient: seen.append(gradient.device))
    net.weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.device))
    x = torch.ones(4, 3, device=backend.device)
    net(x).sum().backward()
    assert seen == [backend.device] * 5, seen
    assert net.weight.grad.eq(8).all() and net.bias.grad.eq(8).all()


@check(
    called_by="torch/nn/utils/parametrize.py: register_parametrization",
    without="normalized and shared weights stay on the CPU",
)
def parametrized_and_shared_weights_are_moved(backend: Backend) -> None:
    """Shared weights stay shared when a module moves, and parametrized ones are computed on the
    device."""
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[1].weight = net[0].weight
    net.to(backend.device)
    assert net[1].weight is net[0].weight and net[0].weight.device == backend.device
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    x = torch.ones(2, 3)
    expected = layer(x)
    layer.to(backend.device)
    assert layer.weight.device == backend.device
    torch.testing.assert_close(layer(x.to(backend.device)).cpu(), expected)
