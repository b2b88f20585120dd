"""Module.acme() before a module knows the shape of its parameters."""

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.any_runtime

ACME = torch.device("acme", 0)


def test_a_lazy_module_gets_its_shape_on_the_device():
    module = nn.LazyLinear(2).acme()
    assert module.has_uninitialized_params()
    assert type(module) is nn.LazyLinear
    assert module.weight.device == ACME and module.bias.device == ACME
    out = module(torch.ones(3, 5, device="acme"))
    assert out.shape == (3, 2) and out.is_acme
    assert type(module) is nn.Linear and type(module.weight) is nn.Parameter
    assert module.weight.device == ACME and module.weight.shape == (2, 5)
    assert {name: tensor.shape for name, tensor in module.state_dict().items()} == {
        "weight": (2, 5),
        "bias": (2,),
    }


def test_lazy_buffers_move_too():
    module = nn.LazyBatchNorm1d().acme()
    assert module.running_mean.device == ACME
    module(torch.rand(4, 3).acme())
    assert type(module) is nn.BatchNorm1d
    assert all(tensor.is_acme for tensor in module.state_dict().values())
    assert module.running_mean.shape == (3,) and module.num_batches_tracked.item() == 1


def test_a_lazy_module_keeps_what_its_tensors_are():
    module = nn.LazyLinear(2, bias=False)
    module.weight = nn.UninitializedParameter(requires_grad=False, dtype=torch.float64)
    module.acme()
    assert module.weight.dtype == torch.float64 and module.weight.requires_grad is False
    assert isinstance(module.weight, nn.UninitializedParameter)


def test_a_lazy_module_goes_to_another_device(two_devices):
    module = nn.LazyLinear(2).acme(0).acme(1)
    module(torch.ones(1, 3, device="acme:1"))
    assert module.weight.device.index == 1


def test_a_lazy_module_loads_weights_on_the_device():
    full = nn.Linear(3, 2).acme()
    lazy = nn.LazyLinear(2).acme()
    lazy.load_state_dict(full.state_dict())
    assert lazy.weight.is_acme and not lazy.has_uninitialized_params()
    assert torch.equal(lazy.weight.cpu(), full.weight.cpu())


def test_a_tied_lazy_parameter_stays_tied():
    module = nn.ModuleList([nn.LazyLinear(2, bias=False), nn.LazyLinear(2, bias=False)])
    module[1].weight = module[0].weight
    module.acme()
    assert module[0].weight is module[1].weight and module[0].weight.device == ACME


def test_a_wrong_device_leaves_a_lazy_module_alone():
    module = nn.LazyLinear(2)
    weight = module.weight
    with pytest.raises(torch.AcceleratorError):
        module.acme(99)
    assert module.weight is weight and weight.device.type == "cpu"
    module(torch.ones(1, 3))
    assert module.weight.device.type == "cpu"
