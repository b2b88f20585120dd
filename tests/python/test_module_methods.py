"""Module.acme()."""

import inspect

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.any_runtime


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
