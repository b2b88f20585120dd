"""A move keeps parameters the objects they are, unless torch.__future__ is told otherwise."""

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.any_runtime


def with_weight() -> nn.Module:
    module = nn.Module()
    module.weight = nn.Parameter(torch.arange(3.0))
    return module


@pytest.fixture
def conversion():
    """The switches of torch.__future__, which are as they were afterwards."""
    swap = torch.__future__.get_swap_module_params_on_conversion()
    overwrite = torch.__future__.get_overwrite_module_params_on_conversion()
    yield torch.__future__
    torch.__future__.set_swap_module_params_on_conversion(swap)
    torch.__future__.set_overwrite_module_params_on_conversion(overwrite)


# ---- in place


def test_an_optimizer_made_before_the_move_trains_too():
    module = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    module(torch.ones(1, 2)).sum().backward()  # what collects gradients is made for the CPU
    module.acme()
    before = module.weight.detach().clone()
    optimizer.zero_grad()
    module(torch.ones(1, 2, device="acme")).sum().backward()
    optimizer.step()
    torch.testing.assert_close(module.weight.detach().cpu(), before.cpu() - 0.5)


def test_data_may_be_set_from_another_device():
    parameter = nn.Parameter(torch.zeros(2))
    parameter.sum().backward()
    parameter.grad = None
    parameter.data = torch.ones(3, device="acme")
    assert parameter.is_acme and parameter.tolist() == [1, 1, 1]
    (parameter * 2).sum().backward()
    assert parameter.grad.is_acme and parameter.grad.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        parameter.data = torch.eye(2).to_sparse().acme()


def test_parameters_of_a_class_of_their_own_stay():
    class Weight(nn.Parameter):
        pass

    module = nn.Linear(2, 2, bias=False)
    module.weight = weight = Weight(torch.ones(2, 2))
    module.acme()
    assert module.weight is weight and type(weight) is Weight and weight.is_acme


def test_a_view_of_a_parameter_stays_where_it_is():
    module = nn.Linear(2, 1)
    view = module.weight.detach()
    module.acme()
    assert view.device.type == "cpu" and torch.equal(module.weight.detach().cpu(), view)


# ---- torch.__future__


@pytest.mark.parametrize("swap", [False, True])
def test_parameters_may_be_swapped(conversion, swap):
    conversion.set_swap_module_params_on_conversion(swap)
    module = with_weight()
    weight = module.weight
    module.acme()
    assert module.weight is weight and weight.is_acme and weight.requires_grad
    assert module.weight.tolist() == [0, 1, 2]


@pytest.mark.parametrize("overwrite", [False, True])
def test_parameters_may_be_overwritten(conversion, overwrite):
    conversion.set_overwrite_module_params_on_conversion(overwrite)
    module = with_weight()
    weight = module.weight
    module.acme()
    assert module.weight.is_acme and module.weight.requires_grad and module.weight.is_leaf
    assert (module.weight is not weight) is overwrite
    assert weight.is_acme is not overwrite


def test_a_swapped_parameter_keeps_its_optimizer(conversion):
    conversion.set_swap_module_params_on_conversion(True)
    module = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    module.acme()
    before = module.weight.detach().clone()
    module(torch.ones(1, 2, device="acme")).sum().backward()
    optimizer.step()
    torch.testing.assert_close(module.weight.detach().cpu(), before.cpu() - 0.5)


@pytest.mark.parametrize("swap", [False, True])
def test_swapped_gradients_and_ties_are_kept(conversion, swap):
    conversion.set_swap_module_params_on_conversion(swap)
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].weight = module[0].weight
    module(torch.ones(1, 2)).sum().backward()
    gradient = module[0].weight.grad.clone()
    module.acme()
    assert module[0].weight is module[1].weight
    assert module[0].weight.grad.is_acme
    assert torch.equal(module[0].weight.grad.cpu(), gradient)


def test_a_lazy_module_cannot_be_swapped(conversion):
    conversion.set_swap_module_params_on_conversion(True)
    for move in (nn.Module.acme, nn.Module.cpu):  # torch's own cannot either
        with pytest.raises(RuntimeError, match=r"Couldn't swap LazyLinear\.weight"):
            move(nn.LazyLinear(2))
