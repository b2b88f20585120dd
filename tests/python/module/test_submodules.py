"""torch.acme.streams, random and amp."""

import importlib
import pickle
import sys
import types

import pytest
import torch

pytestmark = pytest.mark.any_runtime


@pytest.mark.parametrize("part", ["streams", "random", "amp"])
def test_the_part_is_a_module_that_can_be_imported(part):
    module = importlib.import_module(f"torch.acme.{part}")
    assert module is getattr(torch.acme, part) is sys.modules[f"torch.acme.{part}"]
    assert module.__name__ == f"torch.acme.{part}"
    assert part in torch.acme.__all__
    cuda = importlib.import_module(f"torch.cuda.{part}")
    pending = {"ExternalStream"} - set(torch.acme.__all__)
    assert set(getattr(cuda, "__all__", [])) - pending <= set(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_the_functions_and_classes_are_those_of_the_module():
    for part in (torch.acme.streams, torch.acme.random):
        for name in part.__all__:
            assert getattr(part, name) is getattr(torch.acme, name)
    assert torch.acme.streams.Stream is torch.acme.Stream


def test_autocast_is_torchs_for_this_device():
    if not torch.acme.get_amp_supported_dtype():
        pytest.skip("this backend has no autocast")
    with torch.acme.amp.autocast() as entered:
        assert isinstance(entered, torch.autocast)
        assert torch.is_autocast_enabled("acme")
        assert torch.get_autocast_dtype("acme") in torch.acme.get_amp_supported_dtype()
    assert not torch.is_autocast_enabled("acme")
    x = torch.ones(2, 2, device="acme")
    with torch.acme.amp.autocast(dtype=torch.bfloat16):
        assert (x @ x).dtype is torch.bfloat16
    with torch.acme.amp.autocast(enabled=False):
        assert (x @ x).dtype is torch.float32

    @torch.acme.amp.autocast(True, torch.bfloat16)
    def multiply(x):
        return x @ x

    assert multiply(x).dtype is torch.bfloat16
    with pytest.raises(TypeError):
        torch.acme.amp.autocast(device_type="cpu")


def test_the_scaler_is_torchs_for_this_device():
    scaler = torch.acme.amp.GradScaler(init_scale=4.0, growth_interval=3)
    assert isinstance(scaler, torch.amp.GradScaler)
    assert scaler.scale(torch.ones(1, device="acme")).tolist() == [4.0]
    assert scaler.get_growth_interval() == 3
    again = pickle.loads(pickle.dumps(scaler))
    assert type(again) is torch.acme.amp.GradScaler and again.get_scale() == 4.0
    assert torch.acme.amp.GradScaler().get_scale() == 65536.0


def test_custom_functions_autocast_on_this_device():
    if torch.bfloat16 not in torch.acme.get_amp_supported_dtype():
        pytest.skip("this backend has no autocast to bfloat16")

    class Multiply(torch.autograd.Function):
        @staticmethod
        @torch.acme.amp.custom_fwd(cast_inputs=torch.float32)
        def forward(ctx, x):
            assert not torch.is_autocast_enabled("acme")
            assert x.dtype is torch.float32
            return x @ x

        @staticmethod
        @torch.acme.amp.custom_bwd
        def backward(ctx, grad):
            return grad

    with torch.acme.amp.autocast(dtype=torch.bfloat16):
        x = torch.ones(2, 2, device="acme", dtype=torch.bfloat16, requires_grad=True)
        Multiply.apply(x).sum().backward()
    assert torch.acme.amp.amp_definitely_not_available() is False


@pytest.mark.parametrize("part", ["", ".memory", "._outback._native"])
def test_functions_name_the_module_that_they_were_defined_in(part):
    module = sys.modules["torch.acme"]
    for each in filter(None, part.split(".")):
        module = getattr(module, each)
    assert "__module__" not in vars(module)
    functions = [f for f in vars(module).values() if isinstance(f, types.BuiltinFunctionType)]
    names = {module.__name__, torch.acme.__name__, torch.acme.memory.__name__}
    assert functions and {f.__module__ for f in functions} <= names
