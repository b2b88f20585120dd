"""The same operators under fake, vmap and grad as eager, and what watches or wraps the tensors."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from ..backend import Backend
from ..check import check, variants

# Each takes a matrix of 4 x 6 numbers between 0.5 and 1.5, and gives a tensor of real numbers.
OPERATORS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "add": lambda x: x + 1,
    "sub": lambda x: 1 - x,
    "mul": lambda x: x * x,
    "div": lambda x: 1 / x,
    "pow": lambda x: x**2.5,
    "neg": lambda x: -x,
    "abs": lambda x: (x - 1).abs(),
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "sqrt": lambda x: x.sqrt(),
    "rsqrt": lambda x: x.rsqrt(),
    "sin": lambda x: x.sin(),
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    "relu": lambda x: (x - 1).relu(),
    "gelu": F.gelu,
    "silu": F.silu,
    "softplus": F.softplus,
    "leaky_relu": lambda x: F.leaky_relu(x - 1),
    "hardtanh": lambda x: F.hardtanh(x * 2 - 2),
    "clamp": lambda x: x.clamp(0.7, 1.2),
    "maximum": lambda x: torch.maximum(x, 2 - x),
    "where": lambda x: torch.where(x > 1, x, x * x),
    "addcmul": lambda x: torch.addcmul(x, x, x, value=0.5),
    "lerp": lambda x: torch.lerp(x, x * x, 0.3),
    "atan2": lambda x: torch.atan2(x, x + 1),
    "erf": torch.erf,
    "sum": lambda x: x.sum(),
    "sum of a dimension": lambda x: x.sum(-1, keepdim=True),
    "mean": lambda x: x.mean(-1),
    "prod": lambda x: x.prod(-1),
    "var": lambda x: x.var(-1),
    "norm": lambda x: x.norm(dim=-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "amax": lambda x: x.amax(-1),
    "max": lambda x: x.max(-1)[0],
    "cumsum": lambda x: x.cumsum(-1),
    "cumprod": lambda x: x.cumprod(-1),
    "sort": lambda x: x.sort(-1)[0],
    "topk": lambda x: x.topk(2, -1)[0],
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "matmul": lambda x: x @ x.mT,
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "linear": lambda x: F.linear(x, torch.ones(3, 6, device=x.device)),
    "bmm": lambda x: torch.bmm(x.reshape(2, 2, 6), x.reshape(2, 6, 2)),
    "outer": lambda x: torch.outer(x[0], x[1]),
    "conv1d": lambda x: F.conv1d(x[None], torch.ones(2, 4, 3, device=x.device)),
    "avg_pool1d": lambda x: F.avg_pool1d(x, 2),
    "max_pool1d": lambda x: F.max_pool1d(x, 2),
    "layer_norm": lambda x: F.layer_norm(x, (6,)),
    "group_norm": lambda x: F.group_norm(x[None], 2),
    "mse_loss": lambda x: F.mse_loss(x, torch.ones_like(x)),
    "cross_entropy": lambda x: F.cross_entropy(
        x, torch.tensor([0, 1, 2, 3], device=x.device), reduction="none"
    ),
    "attention": lambda x: F.scaled_dot_product_attention(
        x.reshape(1, 2, 2, 6), x.reshape(1, 2, 2, 6), x.reshape(1, 2, 2, 6)
    ),
    "transpose": lambda x: x.mT.contiguous(),
    "slice": lambda x: x[1:, ::2],
    "select": lambda x: x[2],
    "diagonal": lambda x: x.diagonal(),
    "unfold": lambda x: x.unfold(-1, 2, 2),
    "expand": lambda x: x[:1].expand(3, 6) * 1,
    "reshape": lambda x: x.mT.reshape(-1),
    "cat": lambda x: torch.cat([x, x * 2], -1),
    "stack": lambda x: torch.stack([x, x * 2]),
    "flip": lambda x: x.flip(-1),
    "roll": lambda x: x.roll(1, -1),
    "tril": lambda x: x.tril(),
    "pad": lambda x: F.pad(x, (1, 2), value=0.5),
    "index_select": lambda x: x.index_select(0, torch.tensor([2, 0], device=x.device)),
    "gather": lambda x: x.gather(1, torch.tensor([[1], [0], [3], [2]], device=x.device)),
    "indices": lambda x: x[torch.tensor([0, 2], device=x.device)],
    "masked_fill": lambda x: x.masked_fill(x > 1, 0.0),
    "embedding": lambda x: F.embedding(torch.tensor([1, 2], device=x.device), x),
    "conversion": lambda x: x.half().float(),
    "in place": lambda x: (x * 1).mul_(2).add_(x),
    "a scalar of the CPU's": lambda x: x * torch.tensor(3.0),
    "inverse": lambda x: torch.linalg.inv(x[:, :4] + 4 * torch.eye(4, device=x.device)),
    "fft": lambda x: torch.fft.rfft(x).abs(),
}
QUICK = frozenset(list(OPERATORS)[::4])


def numbers() -> torch.Tensor:
    """Distinct numbers, so that an order of them is one order."""
    order = torch.randperm(24, generator=torch.Generator().manual_seed(0))
    return 0.5 + order.reshape(4, 6) / 24


def close(what: str, actual: object, expected: object, device: torch.device) -> None:
    for ours, oracle in zip(tree_flatten(actual)[0], tree_flatten(expected)[0], strict=True):
        assert ours.device == device, f"{what}: the result is on {ours.device}"
        try:
            torch.testing.assert_close(ours.cpu(), oracle, rtol=1e-4, atol=1e-4)
        except AssertionError as error:
            raise AssertionError(f"{what}: {error}") from None


def gives_the_same_in_each_mode(
    backend: Backend, operator: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """An operator gives on the device what it gives on the CPU: eager, under vmap and under grad;
    and a fake tensor has its shape, dtype and strides."""
    x = numbers()
    there = x.to(backend.device)
    expected = operator(x)
    actual = operator(there)
    close("eager", actual, expected, backend.device)

    with FakeTensorMode() as mode:
        fake = operator(mode.from_tensor(there))
    assert fake.device == actual.device, f"fake: on {fake.device}"
    facts = [(t.shape, t.dtype, t.stride()) for t in (fake, actual)]
    assert facts[0] == facts[1], f"fake: {facts[0]} instead of {facts[1]}"

    batch = torch.stack([x, x.flip(1), 2 - x])
    close(
        "vmap",
        torch.func.vmap(operator)(batch.to(backend.device)),
        torch.stack([operator(part) for part in batch]),
        backend.device,
    )

    def loss(x: torch.Tensor) -> torch.Tensor:
        y = operator(x)
        return (y * torch.arange(1.0, y.numel() + 1, device=y.device).reshape(y.shape)).sum()

    gradient = torch.func.grad(loss)(x)
    close("grad", torch.func.grad(loss)(there), gradient, backend.device)
    leaf = there.clone().requires_grad_()
    loss(leaf).backward()
    close("backward", leaf.grad, gradient, backend.device)


def of_level(level: str, names: list[str]) -> list:
    return variants(
        check(
            called_by="torch/include/ATen/functorch/BatchedTensorImpl.h: kKeysToPropagateToWrapper",
            without="an operator is right when it is tried out, and wrong in a program",
            level=level,
        )(gives_the_same_in_each_mode),
        gives_the_same_in_each_mode,
        {name: (OPERATORS[name],) for name in names},
    )


some_operators = of_level("quick", [name for name in OPERATORS if name in QUICK])
more_operators = of_level("standard", [name for name in OPERATORS if name not in QUICK])


class Watching(TorchDispatchMode):
    """Notes the operators and the devices of what they return."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[torch.device]]] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        devices = [t.device for t in tree_flatten(result)[0] if isinstance(t, torch.Tensor)]
        self.seen.append((function.overloadpacket.__name__, devices))
        return result


@check(
    called_by="torch/utils/_python_dispatch.py: TorchDispatchMode",
    without="flop counters, debuggers and tracers see nothing of the device",
)
def a_dispatch_mode_sees_the_operators(backend: Backend) -> None:
    """A TorchDispatchMode sees each operator on the device once, with results that are there."""
    x = torch.ones(2, 3, device=backend.device)
    with Watching() as watching:
        y = torch.mm(x, x.t()).relu()
        z = y.cpu()
    names = [name for name, _ in watching.seen]
    assert names.count("mm") == 1 and names.count("relu") == 1, names
    on_device = [
        device for name, made in watching.seen for device in made if name in ("mm", "relu")
    ]
    assert on_device == [backend.device] * 2
    assert z.tolist() == [[3, 3], [3, 3]]


@check(
    called_by="torch/utils/flop_counter.py: FlopCounterMode",
    without="nobody can tell how much a model computes",
)
def flops_are_counted(backend: Backend) -> None:
    """FlopCounterMode counts the device's matrix products, forward and backward."""
    from torch.utils.flop_counter import FlopCounterMode

    x = torch.ones(4, 5, device=backend.device, requires_grad=True)
    w = torch.ones(5, 6, device=backend.device, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        (x @ w).sum().backward()
    assert counter.get_total_flops() == 3 * 2 * 4 * 5 * 6, counter.get_total_flops()


@check(
    called_by="torch/overrides.py: TorchFunctionMode",
    without="libraries that change torch's functions miss the device",
)
def a_function_mode_sees_the_calls(backend: Backend) -> None:
    """A TorchFunctionMode sees functions and methods that are called on the device's tensors."""

    class Noting(TorchFunctionMode):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.names.append(getattr(function, "__name__", str(function)))
            return function(*args, **(kwargs or {}))

    x = torch.ones(2, 3, device=backend.device)
    with Noting() as noting:
        y = torch.add(x, 1).sum()
        torch.zeros(3, device=backend.device)
    assert [n for n in noting.names if n in ("add", "sum", "zeros")] == ["add", "sum", "zeros"]
    assert y.item() == 12


class Wrapping(torch.Tensor):
    """A tensor that has another one inside and does all of its work with that."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Wrapping:
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device, strides=inner.stride()
        )

    def __init__(self, inner: torch.Tensor) -> None:
        self.wrapped = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        def opened(x: object) -> object:
            return x.wrapped if isinstance(x, Wrapping) else x

        result = function(*tree_map(opened, args), **tree_map(opened, kwargs or {}))
        return tree_map(lambda x: Wrapping(x) if isinstance(x, torch.Tensor) else x, result)


@check(
    called_by="torch/_C/__init__.pyi: _make_wrapper_subclass",
    without="DTensor, quantized and other wrapped tensors fail on the device",
)
def subclasses_wrap_the_tensors(backend: Backend) -> None:
    """A wrapper subclass of a tensor of the device says that it is there, computes with what it
    wraps, and moves, without a memory of its own."""
    inner = torch.arange(6.0, device=backend.device).reshape(2, 3)
    x = Wrapping(inner)
    assert x.device == backend.device and x.shape == (2, 3)
    y = (x * 2 + x).t()
    assert isinstance(y, Wrapping) and y.device == backend.device
    assert y.wrapped.tolist() == (inner * 3).t().tolist()
    moved = x.to("cpu")
    assert isinstance(moved, Wrapping) and moved.wrapped.device.type == "cpu"
    back = moved.to(backend.device)
    assert back.device == back.wrapped.device == backend.device
    assert torch.equal(back.wrapped, inner)
    if backend.count > 1:
        there = x.to(backend.other_device)
        assert there.device == there.wrapped.device == backend.other_device


@check(
    called_by="torch/_tensor.py: __torch_function__",
    without="tensors of a program's own class lose it on the device",
)
def plain_subclasses_are_kept(backend: Backend) -> None:
    """A subclass of torch.Tensor stays one through operators and moves, and has the device's
    numbers."""

    class Mine(torch.Tensor):
        pass

    x = torch.arange(3.0, device=backend.device).as_subclass(Mine)
    y = x + 1
    assert type(y) is Mine and y.device == backend.device and y.tolist() == [1, 2, 3]
    moved = y.cpu().to(backend.device)
    assert type(moved) is Mine and moved.device == backend.device
    assert type(torch.nn.Parameter(torch.ones(2, device=backend.device))) is torch.nn.Parameter


@check(
    called_by="torch/_subclasses/functional_tensor.py: FunctionalTensorMode",
    without="compiled programs that write in place are wrong",
)
def functionalization_keeps_the_meaning(backend: Backend) -> None:
    """A function that writes into views gives under functionalize what it gives without."""

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[0].add_(5)
        view = y.t()
        view[1].mul_(2)
        return y + view.sum()

    x = numbers().to(backend.device)
    made = torch.func.functionalize(function)(x)
    assert made.device == backend.device
    torch.testing.assert_close(made, function(x))


@check(
    called_by="torch/fx/experimental/proxy_tensor.py: make_fx",
    without="programs cannot be traced",
)
def a_program_is_traced(backend: Backend) -> None:
    """make_fx traces a function on the device into operators that give the same, in each of its
    modes."""
    from torch.fx.experimental.proxy_tensor import make_fx

    def function(x: torch.Tensor) -> torch.Tensor:
        return (x @ x.t()).softmax(1) + torch.ones(4, device=x.device)

    x = numbers().to(backend.device)
    for how in ("real", "fake", "symbolic"):
        graph = make_fx(function, tracing_mode=how)(x)
        torch.testing.assert_close(graph(x + 1), function(x + 1))
        devices = [node.kwargs.get("device") for node in graph.graph.nodes]
        assert backend.device in devices, f"{how}: the device is not in the program"
