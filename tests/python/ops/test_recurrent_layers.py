"""LSTM, GRU and RNN take the CPU's way: to the bit its results, gradients and second gradients."""

import copy

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

pytestmark = pytest.mark.turns_on_memory

KINDS = {
    "LSTM": nn.LSTM,
    "GRU": nn.GRU,
    "RNN": nn.RNN,
    "RNN of relu": lambda *sizes, **options: nn.RNN(*sizes, nonlinearity="relu", **options),
}
OPTIONS = {
    "plain": {},
    "batch first": {"batch_first": True},
    "no bias": {"bias": False},
    "two layers, both ways": {"num_layers": 2, "bidirectional": True},
}


def both(make, *size, dtype=torch.float32):
    """A layer and its input, on the CPU and on the device."""
    torch.manual_seed(0)
    on_cpu = make().to(dtype)
    x = torch.randn(size, dtype=dtype, requires_grad=True)
    return (on_cpu, x), (copy.deepcopy(on_cpu).acme(), x.detach().acme().requires_grad_())


def results_and_gradients(layer, x, *, twice=False):
    leaves = torch.utils._pytree.tree_leaves(layer(x))
    inputs = [x, *layer.parameters()]
    loss = sum(leaf.square().sum() for leaf in leaves)
    gradients = torch.autograd.grad(loss, inputs, create_graph=twice)
    if twice:
        loss = sum(gradient.square().sum() for gradient in gradients)
        gradients = (*gradients, *torch.autograd.grad(loss, inputs))
    return [*leaves, *gradients]


def assert_same(results, expected, **tolerance):
    for result, want in zip(results, expected, strict=True):
        assert result.is_acme
        assert result.stride() == want.stride()
        torch.testing.assert_close(result.cpu(), want, **tolerance)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_equals_the_cpu(kind, options, dtype):
    cpu, here = both(lambda: KINDS[kind](5, 6, **options), 7, 3, 5, dtype=dtype)
    assert_same(results_and_gradients(*here), results_and_gradients(*cpu), rtol=0, atol=0)


class OfPacked(nn.Module):
    """A layer over sequences of several lengths, sorted by them or not."""

    def __init__(self, layer, lengths):
        super().__init__()
        self.layer, self.lengths = layer, lengths

    def forward(self, x):
        pack = nn.utils.rnn.pack_padded_sequence
        output, last = self.layer(pack(x, self.lengths, enforce_sorted=False))
        return output.data, last


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [[7, 7, 4, 1], [2, 5, 5, 3]], ids=str)
def test_packed_sequences_equal_the_cpus(kind, options, lengths):
    options = options | {"batch_first": False}
    cpu, here = both(lambda: OfPacked(KINDS[kind](5, 6, **options), lengths), 7, 4, 5)
    assert_same(results_and_gradients(*here), results_and_gradients(*cpu), rtol=0, atol=0)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
def test_projections_equal_the_cpus(options, packed):
    options = options | ({"batch_first": False} if packed else {})

    def make():
        layer = nn.LSTM(5, 6, proj_size=4, **options)
        return OfPacked(layer, [7, 4, 4]) if packed else layer

    cpu, here = both(make, 7, 3, 5)
    assert_same(results_and_gradients(*here), results_and_gradients(*cpu), rtol=0, atol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_of_batches_that_do_not_fit_are_refused(kind):
    _, (layer, x) = both(lambda: KINDS[kind](5, 6), 6, 5)
    hidden = torch.zeros(1, 3, 6, device="acme")
    packed = nn.utils.rnn.PackedSequence(x, torch.tensor([4, 2]))
    with pytest.raises(RuntimeError):
        layer(packed, (hidden, hidden) if kind == "LSTM" else hidden)


@pytest.mark.parametrize("kind", KINDS)
def test_second_gradients(kind):
    cpu, here = both(lambda: KINDS[kind](3, 4), 4, 2, 3)
    results = results_and_gradients(*here, twice=True)
    assert_same(results, results_and_gradients(*cpu, twice=True), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients(kind, mode):
    cpu, here = both(lambda: KINDS[kind](5, 6, num_layers=2), 7, 3, 5)
    with mode():
        expected, results = (torch.utils._pytree.tree_leaves(f(x)) for f, x in (cpu, here))
    assert not any(result.requires_grad for result in results)
    assert_same(results, expected, rtol=0, atol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_between_the_layers(kind):
    _, (layer, x) = both(lambda: KINDS[kind](5, 6, num_layers=2, dropout=0.5), 7, 3, 5)
    torch.manual_seed(1)
    first = layer(x)[0]
    assert not torch.equal(first, layer(x)[0])
    torch.manual_seed(1)
    assert torch.equal(first, layer(x)[0])
    layer.eval()
    assert torch.equal(layer(x)[0], layer(x)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_transforms(kind):
    (_, _), (layer, x) = both(lambda: KINDS[kind](5, 6), 7, 3, 5)
    parameters = dict(layer.named_parameters())

    def loss(values):
        return torch.func.functional_call(layer, values, (x.detach(),))[0].square().sum()

    expected = torch.autograd.grad(loss(parameters), list(parameters.values()))
    detached = {name: value.detach() for name, value in parameters.items()}
    for transformed in (torch.func.grad(loss), torch.func.functionalize(torch.func.grad(loss))):
        results = transformed(detached)
        for name, want in zip(parameters, expected, strict=True):
            torch.testing.assert_close(results[name], want, rtol=1e-5, atol=1e-5)


CELLS = {
    "LSTM's": nn.LSTMCell,
    "GRU's": nn.GRUCell,
    "RNN's": nn.RNNCell,
}


def derivatives(function, x, along):
    """Of all kinds that forward-mode autograd has a part in."""
    _, tangent = torch.func.jvp(function, (x,), (along,))
    yield tangent
    with forward_ad.dual_level():
        yield forward_ad.unpack_dual(function(forward_ad.make_dual(x, along))).tangent.clone()
    yield torch.func.jacfwd(function)(x)
    yield torch.func.hessian(lambda x: function(x).square().sum())(x)
    with forward_ad.dual_level():
        leaf = x.clone().requires_grad_()
        loss = function(forward_ad.make_dual(leaf, along)).square().sum()
        yield forward_ad.unpack_dual(torch.autograd.grad(loss, leaf)[0]).tangent.clone()


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("kind", [*KINDS, *CELLS])
def test_forward_derivatives_equal_the_cpus(kind, bias):
    size = (4, 2, 3) if kind in KINDS else (2, 3)
    make = KINDS.get(kind) or CELLS[kind]
    cpu, here = both(lambda: make(3, 4, bias=bias), *size, dtype=torch.float64)
    along = torch.randn(size, dtype=torch.float64)
    results = []
    for layer, x in (cpu, here):
        first = lambda x, layer=layer: torch.utils._pytree.tree_leaves(layer(x))[0]  # noqa: E731
        results.append([*derivatives(first, x.detach(), along.to(x.device))])
    for result, want in zip(*reversed(results), strict=True):
        assert result.is_acme
        torch.testing.assert_close(result.cpu(), want)


@pytest.mark.parametrize("how", ["weights", "state"])
def test_forward_derivatives_of_an_lstm_that_the_cpu_has_none_of(how):
    """In float32 the CPU takes an operator of oneDNN's, which has no forward derivative."""
    (cpu, x), _ = both(lambda: nn.LSTM(3, 4, num_layers=2), 4, 2, 3)
    results = []
    for dtype, device in ((torch.float64, "cpu"), (torch.float32, "acme")):
        layer = copy.deepcopy(cpu).to(device, dtype)
        given = x.detach().to(device, dtype)
        state = torch.ones(2, 2, 4, device=device, dtype=dtype)
        weights = {name: value.detach() for name, value in layer.named_parameters()}
        with forward_ad.dual_level():
            if how == "state":
                state = forward_ad.make_dual(state, torch.ones_like(state))
            else:
                weights = {
                    name: forward_ad.make_dual(value, torch.ones_like(value))
                    for name, value in weights.items()
                }
            output, _ = torch.func.functional_call(layer, weights, (given, (state, state)))
            results.append(forward_ad.unpack_dual(output).tangent.clone())
    torch.testing.assert_close(results[1].cpu().double(), results[0], rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("error:There is a performance drop")
@pytest.mark.parametrize("kind", ["LSTM's", "GRU's"])
def test_gradients_of_each_sample(kind):
    """The CPU's cells cannot be mapped so, nor an RNN's on any device: they write to tensors that
    all samples share."""
    _, (cell, x) = both(lambda: CELLS[kind](3, 4), 2, 3)
    weights = {name: value.detach() for name, value in cell.named_parameters()}

    def loss(weights, x):
        results = torch.func.functional_call(cell, weights, (x,))
        return sum(each.square().sum() for each in torch.utils._pytree.tree_leaves(results))

    samples = torch.stack([x.detach(), 2 * x.detach()])
    mapped = torch.func.vmap(torch.func.grad(loss), (None, 0))(weights, samples)
    for i, sample in enumerate(samples):
        for name, want in torch.func.grad(loss)(weights, sample).items():
            torch.testing.assert_close(mapped[name][i], want)
    jacobian = torch.func.jacrev(loss, argnums=1)(weights, x.detach())
    torch.testing.assert_close(jacobian, torch.func.grad(loss, argnums=1)(weights, x.detach()))


@pytest.mark.parametrize("kind", KINDS)
def test_autocast_computes_in_the_lower_precision(kind):
    (_, _), (layer, x) = both(lambda: KINDS[kind](5, 6), 7, 3, 5)
    with torch.autocast("acme", dtype=torch.bfloat16):
        result = layer(x)[0]
    torch.testing.assert_close(result.float(), layer(x)[0], rtol=0.1, atol=0.1)
    result.sum().backward()
    assert x.grad.dtype == torch.float32


@pytest.mark.parametrize("kind", KINDS)
def test_a_traced_program_has_the_accelerators_operators(kind):
    """What is traced here may run on a device with kernels of its own."""
    from torch.fx.experimental.proxy_tensor import make_fx

    _, (layer, x) = both(lambda: KINDS[kind](5, 6), 3, 2, 5)
    parameters = {name: value.detach() for name, value in layer.named_parameters()}

    def run(parameters, x):
        return torch.func.functional_call(layer, parameters, (x,))[0]

    graph = make_fx(run, tracing_mode="fake")(parameters, x.detach())
    torch.testing.assert_close(graph(parameters, x.detach()), layer(x)[0])
    assert not any("mkldnn" in str(node.target) for node in graph.graph.nodes)


@pytest.mark.parametrize("kind", KINDS)
def test_an_exported_program_is_decomposed_as_the_cpus(kind):
    """Into core ATen, which the operator of a whole layer is not part of."""

    class Layer(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(x)[0]

    operators = []
    for layer, x in both(lambda: KINDS[kind](4, 5), 3, 2, 4):
        exported = torch.export.export(Layer(layer), (x.detach(),)).run_decompositions()
        operators.append([str(node.target) for node in exported.graph.nodes if node.op != "output"])
        torch.testing.assert_close(exported.module()(x.detach()), layer(x)[0])
    on_cpu, here = operators
    assert here == on_cpu
    assert "aten.addmm.default" in here


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


def test_an_lstm_is_one_operator_a_layer():
    _, (layer, x) = both(lambda: nn.LSTM(5, 6, num_layers=3), 7, 3, 5)
    with torch.no_grad(), Seen() as seen:
        layer(x)
    assert seen.names.count("aten::mkldnn_rnn_layer") == 3
    with torch.backends.mkldnn.flags(enabled=False), torch.no_grad(), Seen() as seen:
        layer(x)
    assert "aten::mkldnn_rnn_layer" not in seen.names


def test_a_gru_multiplies_its_input_once():
    _, (layer, x) = both(lambda: nn.GRU(5, 6), 7, 3, 5)
    with torch.no_grad(), Seen() as seen:
        layer(x)
    assert seen.names.count("aten::addmm") == 1 + len(x)


@pytest.mark.parametrize("wrong", ["input", "hidden", "weight", "bias"])
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_sizes_are_refused(kind, wrong):
    """The CPU's fused LSTM reads beyond them."""
    _, (layer, x) = both(lambda: KINDS[kind](5, 6), 7, 3, 5)
    weights = [getattr(layer, name) for name in layer._all_weights[0]]
    hidden = torch.zeros(1, 4 if wrong == "hidden" else 3, 6, device="acme")
    if wrong in ("weight", "bias"):
        which = 1 if wrong == "weight" else 3
        weights[which] = weights[which][:-1]
    operators = {"RNN": torch.rnn_tanh, "RNN of relu": torch.rnn_relu}
    operator = operators.get(kind) or getattr(torch, kind.lower())
    states = [hidden, hidden] if kind == "LSTM" else hidden
    with pytest.raises(RuntimeError):
        operator(
            x[..., :4] if wrong == "input" else x,
            states,
            weights,
            True,
            1,
            0.0,
            False,
            False,
            False,
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_cpu_tensor_among_them_is_refused(kind):
    _, (layer, x) = both(lambda: KINDS[kind](5, 6), 7, 3, 5)
    with pytest.raises(RuntimeError, match="same device"):
        layer(x.detach().cpu())
