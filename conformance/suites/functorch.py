"""torch.func: transforms of functions on the device's tensors."""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd import forward_ad
from torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)

from ..backend import Backend
from ..check import check


def same(actual: torch.Tensor, expected: torch.Tensor, device: torch.device) -> None:
    assert actual.device == device, f"the result is on {actual.device}"
    torch.testing.assert_close(actual.cpu(), expected)


def matrix() -> torch.Tensor:
    return torch.arange(1.0, 13.0).reshape(3, 4) / 6


@check(
    called_by="torch/_functorch/apis.py: vmap",
    without="functions cannot be mapped over a batch",
)
def vmap_maps_over_any_dimension(backend: Backend) -> None:
    """vmap over each in_dims and out_dims, nested and in chunks, gives what the CPU gives."""
    x, y = matrix(), matrix().t().contiguous()
    a, b = x.to(backend.device), y.to(backend.device)

    def function(row: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
        return (row * column).cumsum(0) + row.max()

    for in_dims, out_dims in (((0, 1), 0), ((1, 0), 1), ((0, 1), 1)):
        same(
            vmap(function, in_dims, out_dims)(a, b),
            vmap(function, in_dims, out_dims)(x, y),
            backend.device,
        )
    same(vmap(torch.dot, (0, None))(a, a[0]), vmap(torch.dot, (0, None))(x, x[0]), backend.device)
    nested = vmap(vmap(lambda u, v: u * v, (None, 0)), (0, None))
    same(nested(a[0], a[1]), nested(x[0], x[1]), backend.device)
    same(
        vmap(lambda r: r.softmax(0), chunk_size=2)(a),
        vmap(lambda r: r.softmax(0), chunk_size=2)(x),
        backend.device,
    )


@check(
    called_by="torch/_functorch/apis.py: vmap",
    without="mapped dropout drops the same, or fails",
)
def vmap_knows_of_random_numbers(backend: Backend) -> None:
    """vmap draws other numbers for each with randomness="different", the same with "same", and
    refuses them otherwise."""
    x = torch.zeros(5, 16, device=backend.device)

    def draw(row: torch.Tensor) -> torch.Tensor:
        return row + torch.rand(16, device=row.device)

    different = vmap(draw, randomness="different")(x)
    assert different.device == backend.device
    assert not different[0].eq(different[1]).all(), "all the same"
    equal = vmap(draw, randomness="same")(x)
    assert equal[0].eq(equal[1]).all(), "not the same"
    assert (different >= 0).all() and (different < 1).all()
    try:
        vmap(draw)(x)
    except RuntimeError as error:
        assert "random" in str(error), error
    else:
        raise AssertionError("random numbers were drawn without being asked for")


@check(
    called_by="torch/_functorch/apis.py: grad",
    without="gradients cannot be taken of functions",
)
def gradients_nest(backend: Backend) -> None:
    """grad, grad of grad, grad_and_value, vjp and gradients for each sample are the CPU's."""
    x = matrix()
    a = x.to(backend.device)

    def loss(v: torch.Tensor) -> torch.Tensor:
        return (v.sin() * v).sum()

    same(grad(loss)(a), grad(loss)(x), backend.device)
    second = grad(lambda v: grad(loss)(v).pow(2).sum())
    same(second(a), second(x), backend.device)
    gradient, value = grad_and_value(loss)(a)
    same(gradient, grad(loss)(x), backend.device)
    same(value, loss(x), backend.device)
    per_sample = vmap(grad(loss))
    same(per_sample(a), per_sample(x), backend.device)
    _, pull = vjp(lambda v: v @ v.t(), a)
    _, expected = vjp(lambda v: v @ v.t(), x)
    same(pull(torch.ones(3, 3, device=backend.device))[0], expected(torch.ones(3, 3))[0], a.device)


@check(
    called_by="torch/_functorch/eager_transforms.py: jvp",
    without="forward-mode derivatives fail",
)
def forward_mode_is_the_cpus(backend: Backend) -> None:
    """jvp and linearize give the values and the tangents of the CPU."""
    x = matrix()
    a = x.to(backend.device)

    def function(v: torch.Tensor) -> torch.Tensor:
        return (v @ v.t()).tanh()

    value, tangent = jvp(function, (a,), (torch.ones_like(a),))
    expected = jvp(function, (x,), (torch.ones_like(x),))
    same(value, expected[0], backend.device)
    same(tangent, expected[1], backend.device)
    value, linear = linearize(function, a)
    same(value, expected[0], backend.device)
    same(linear(torch.ones_like(a)), expected[1], backend.device)


@check(
    called_by="torch/_functorch/eager_transforms.py: jacrev",
    without="matrices of derivatives are wrong",
)
def jacobians_and_hessians_are_the_cpus(backend: Backend) -> None:
    """jacrev, jacfwd and hessian agree with each other and with the CPU."""
    x = matrix()[0]
    a = x.to(backend.device)

    def function(v: torch.Tensor) -> torch.Tensor:
        return v.softmax(0) * v.square().sum()

    expected = jacrev(function)(x)
    same(jacrev(function)(a), expected, backend.device)
    same(jacfwd(function)(a), expected, backend.device)
    same(jacrev(function, chunk_size=2)(a), expected, backend.device)
    scalar = lambda v: function(v).pow(3).sum()  # noqa: E731
    same(hessian(scalar)(a), hessian(scalar)(x), backend.device)


@check(
    called_by="torch/_functorch/functional_call.py: functional_call",
    without="modules cannot be called with other parameters",
)
def modules_are_called_with_other_parameters(backend: Backend) -> None:
    """functional_call takes the device's parameters, an ensemble of modules is mapped, and each
    sample has its own gradient of the parameters."""
    torch.manual_seed(0)
    nets = [nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)) for _ in range(3)]
    expected = torch.stack([net(matrix()) for net in nets]).detach()
    x = matrix().to(backend.device)
    nets = [net.to(backend.device) for net in nets]
    parameters, buffers = stack_module_state(nets)

    def call(parameters: dict, buffers: dict, x: torch.Tensor) -> torch.Tensor:
        return functional_call(nets[0], (parameters, buffers), (x,))

    same(vmap(call, (0, 0, None))(parameters, buffers, x).detach(), expected, backend.device)

    def loss(parameters: dict, row: torch.Tensor) -> torch.Tensor:
        return functional_call(nets[0], parameters, (row[None],)).square().sum()

    own = {name: p.detach() for name, p in nets[0].named_parameters()}
    samples = vmap(grad(loss), (None, 0))(own, x)
    whole = grad(lambda p: functional_call(nets[0], p, (x,)).square().sum())(own)
    for name, gradient in samples.items():
        assert gradient.device == backend.device
        torch.testing.assert_close(gradient.sum(0), whole[name])


@check(
    called_by="torch/_functorch/autograd_function.py: CustomFunctionHigherOrderOperator",
    without="functions with a backward of their own cannot be transformed",
)
def custom_functions_are_transformed(backend: Backend) -> None:
    """An autograd.Function with setup_context works under grad and vmap."""

    class Cube(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(context, inputs, output):
            context.save_for_backward(*inputs)

        @staticmethod
        def backward(context, gradient):
            (x,) = context.saved_tensors
            return gradient * 3 * x**2

    x = matrix()
    gradient = vmap(vmap(grad(Cube.apply)))(x.to(backend.device))
    same(gradient, 3 * x**2, backend.device)


@check(
    called_by="torch/nn/modules/rnn.py: RNNBase.forward",
    without="sensitivities of recurrent networks cannot be computed forwards",
)
def recurrent_layers_have_forward_derivatives(backend: Backend) -> None:
    """jvp, jacfwd and dual numbers of recurrent layers and cells give what the CPU gives."""
    for kind in (nn.GRU, nn.RNN, nn.GRUCell, nn.LSTMCell, nn.RNNCell):
        torch.manual_seed(0)
        layer, x = kind(3, 4), torch.randn(2, 3)
        there = kind(3, 4).to(backend.device)
        there.load_state_dict(layer.state_dict())

        def output(x: torch.Tensor, layer: nn.Module) -> torch.Tensor:
            result = layer(x)
            return result[0] if isinstance(result, tuple) else result

        expected: list = []
        found: list = []
        for results, layer_of_device, place in (
            (expected, layer, x),
            (found, there, x.to(backend.device)),
        ):

            def call(x: torch.Tensor, layer: nn.Module = layer_of_device) -> torch.Tensor:
                return output(x, layer)

            results += jvp(call, (place,), (torch.ones_like(place),))
            results.append(jacfwd(call)(place))
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(place, torch.ones_like(place))
                results.append(forward_ad.unpack_dual(call(dual)).tangent.clone())
        for ours, theirs in zip(found, expected, strict=True):
            same(ours, theirs, backend.device)
