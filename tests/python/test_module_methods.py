"""Module.acme()."""

import inspect

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.any_runtime


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))


def test_everything_moves_in_place():
    module = network()
    assert module.acme() is module
    assert all(tensor.is_acme for tensor in module.state_dict().values())
    assert module(torch.ones(5, 3, device="acme")).is_acme


@pytest.mark.parametrize("device", [1, "acme:1", torch.device("acme", 1)])
def test_it_takes_a_device(two_devices, device):
    assert network().acme(device)[0].weight.device.index == 1
    assert network().acme(device=device)[0].weight.device.index == 1


def test_without_an_index_it_is_the_current_device(two_devices):
    with torch.acme.device(1):
        assert network().acme()[0].weight.device.index == 1
        assert network().acme("acme")[0].weight.device.index == 1


def test_values_and_gradients_move_too():
    module = nn.Linear(2, 1)
    module(torch.ones(1, 2)).sum().backward()
    weight, gradient = module.weight.detach().clone(), module.weight.grad.clone()
    module.acme()
    assert torch.equal(module.weight.cpu(), weight)
    assert module.weight.grad.is_acme and torch.equal(module.weight.grad.cpu(), gradient)


def test_tied_parameters_stay_tied():
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].weight = module[0].weight
    module.acme()
    assert module[0].weight is module[1].weight
    assert module[0].weight.is_acme


def test_hooks_stay():
    module = nn.Linear(2, 2)
    seen = []
    module.register_forward_hook(lambda *_: seen.append(1))
    module.acme()(torch.ones(1, 2, device="acme"))
    assert seen


def test_training_works_after_it():
    torch.manual_seed(0)
    module = network().acme()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    x, y = torch.rand(8, 3, device="acme"), torch.rand(8, 2, device="acme")
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(module(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_modules_that_bring_their_own_apply_are_asked():
    class Careful(nn.Linear):
        def _apply(self, function, recurse=True):
            self.asked = True
            return super()._apply(function, recurse)

    module = Careful(1, 1).acme()
    assert module.asked and module.weight.is_acme


def test_lazy_modules_move_before_they_know_their_shape():
    module = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d()).acme()
    assert isinstance(module[0].weight, nn.UninitializedParameter)
    assert module(torch.ones(2, 3, device="acme")).is_acme
    assert all(tensor.is_acme for tensor in module.state_dict().values())
    assert module[0].weight.shape == (4, 3)


@pytest.mark.parametrize("module", [nn.ReLU(), nn.Linear(1, 1)], ids=["empty", "full"])
@pytest.mark.parametrize(
    ("device", "error"),
    [
        (True, TypeError),
        ("cuda", ValueError),
        (99, torch.AcceleratorError),
        (-1, torch.AcceleratorError),
    ],
)
def test_a_wrong_device_is_refused_even_without_parameters(module, device, error):
    with pytest.raises(error, match="acme"):
        module.acme(device)
    assert not any(parameter.is_acme for parameter in module.parameters())


@pytest.mark.parametrize(
    ("arguments", "keywords", "words"),
    [
        ((0, 1), {}, "takes from 1 to 2 positional arguments but 3 were given"),
        ((0,), {"device": 0}, "multiple values for argument 'device'"),
        ((), {"non_blocking": True}, "unexpected keyword argument 'non_blocking'"),
    ],
)
def test_wrong_arguments_are_type_errors(arguments, keywords, words):
    with pytest.raises(TypeError, match=words):
        nn.ReLU().acme(*arguments, **keywords)


def test_it_reads_as_a_method():
    assert str(inspect.signature(nn.ReLU().acme)) == "(device=None)"
    assert "parameters" in nn.Module.acme.__doc__


def test_all_its_tensors_are_told_of_one_device(two_devices):
    told = []

    class Moving(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
            if function == torch.Tensor.acme:
                told.append(arguments[1:])
                torch.acme.set_device(1)
            return super().__torch_function__(function, kinds, arguments, keywords or {})

    module = nn.Module()
    for name in ("first", "second"):
        module.register_buffer(name, torch.ones(1).as_subclass(Moving))
    module.acme("acme")
    assert told == [(torch.device("acme", 0),)] * 2


def test_an_error_in_a_tensor_comes_through():
    class Raising(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
            if function == torch.Tensor.acme:
                raise LookupError("mine")
            return super().__torch_function__(function, kinds, arguments, keywords or {})

    module = nn.Module()
    module.register_buffer("buffer", torch.ones(1).as_subclass(Raising))
    with pytest.raises(LookupError, match="mine"):
        module.acme()
