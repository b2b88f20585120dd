"""Tensor.acme() and Module.acme() in torch.jit.trace, torch.jit.script and what they save."""

import io

import pytest
import torch
from torch import nn

pytestmark = [
    pytest.mark.any_runtime,
    pytest.mark.filterwarnings("ignore:.*torch.jit"),
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
]


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("offset", torch.ones(2))

    def forward(self, x):
        return self.linear(x) + self.offset


def reloaded(module, **options):
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    return torch.jit.load(file, **options)


def places(module) -> set[str]:
    return {tensor.device.type for tensor in [*module.parameters(), *module.buffers()]}


# ---- trace


def test_a_trace_has_the_move_to_the_device_it_saw(two_devices):
    traced = torch.jit.trace(lambda x: x.acme(1) * 2, torch.ones(2))
    assert 'Device = prim::Constant[value="acme:1"]' in str(traced.graph)
    out = traced(torch.ones(3))
    assert out.device.index == 1 and out.tolist() == [2, 2, 2]


def test_a_trace_keeps_the_inputs_dtype():
    traced = torch.jit.trace(lambda x: x.acme(), torch.ones(2, dtype=torch.float64))
    assert traced(torch.ones(2, dtype=torch.float64)).dtype == torch.float64


def test_a_trace_has_the_other_arguments():
    traced = torch.jit.trace(lambda x: x.acme(0, dtype=torch.float16) + 1, torch.ones(2))
    assert traced(torch.ones(2)).dtype == torch.float16
    assert traced(torch.ones(2)).is_acme


def test_a_trace_has_a_move_that_was_none_when_it_was_made():
    # Tensor.to is recorded the same way: the graph is right for an input from elsewhere too.
    traced = torch.jit.trace(lambda x: x.acme() + 1, torch.ones(2, device="acme"))
    assert traced(torch.ones(2)).is_acme


def test_a_trace_takes_the_branch_of_its_example():
    def f(x):
        return x * 2 if x.is_acme else x * 3

    assert torch.jit.trace(f, torch.ones(1))(torch.ones(1)).item() == 3
    assert torch.jit.trace(f, torch.ones(1).acme())(torch.ones(1).acme()).item() == 2


def test_a_saved_trace_moves_again():
    traced = reloaded(torch.jit.trace(lambda x: x.acme() * 2, torch.ones(2)))
    out = traced(torch.ones(3))
    assert out.is_acme and out.tolist() == [2, 2, 2]


# ---- script


def asks(x: torch.Tensor) -> bool:
    return x.is_acme


def moves(x: torch.Tensor) -> torch.Tensor:
    return x.acme()


@pytest.mark.parametrize(("function", "name"), [(asks, "is_acme"), (moves, "acme")])
def test_the_script_compiler_knows_neither(function, name):
    # Its Tensor has the methods that are compiled into PyTorch, and no way to add one.
    with pytest.raises(RuntimeError, match=f"has no attribute or method '{name}'"):
        torch.jit.script(function)


def scripted_to(x: torch.Tensor) -> torch.Tensor:
    return x.to("acme") if x.device.type != "acme" else x


def test_in_script_to_is_the_way():
    script = torch.jit.script(scripted_to)
    assert script(torch.ones(1)).is_acme
    assert reloaded(script)(torch.ones(1)).is_acme


@torch.jit.ignore
def in_python(x: torch.Tensor) -> torch.Tensor:
    return x.acme()


def calls_python(x: torch.Tensor) -> torch.Tensor:
    return in_python(x) + 1


def test_script_can_call_python_that_moves():
    assert torch.jit.script(calls_python)(torch.ones(1)).is_acme


def branches_on_scripting(x: torch.Tensor) -> torch.Tensor:
    if torch.jit.is_scripting():
        return x.to("acme")
    return x.acme()


def test_script_leaves_out_what_it_does_not_run():
    assert torch.jit.script(branches_on_scripting)(torch.ones(1)).is_acme
    assert branches_on_scripting(torch.ones(1)).is_acme


# ---- modules


@pytest.fixture(params=["script", "trace"])
def module(request):
    network = Network().eval()
    if request.param == "script":
        return torch.jit.script(network)
    return torch.jit.trace(network, torch.ones(1, 2))


def test_a_compiled_module_moves_in_place(module):
    x = torch.rand(3, 2)
    expected = module(x)
    assert module.acme() is module
    assert places(module) == {"acme"}
    assert module.linear.weight.is_acme and module.offset.is_acme
    torch.testing.assert_close(module(x.acme()).cpu(), expected)
    assert module.acme() is module


def test_a_compiled_module_goes_to_a_device(two_devices, module):
    module.acme(1)
    assert module.offset.device.index == 1
    assert module(torch.ones(1, 2, device="acme:1")).device.index == 1


def test_a_wrong_device_leaves_a_compiled_module_alone(module):
    with pytest.raises(torch.AcceleratorError, match="acme:99 does not exist"):
        module.acme(99)
    assert places(module) == {"cpu"}


def test_a_compiled_module_keeps_its_gradients(module):
    module(torch.ones(1, 2)).sum().backward()
    module.acme()
    gradients = [parameter.grad for parameter in module.parameters()]
    assert all(gradient is not None and gradient.is_acme for gradient in gradients)


def test_a_loaded_module_can_be_moved(module):
    # Its parameters are plain tensors. Module._apply takes that for a mistake where it cannot
    # change them in place, as it can for a move between the devices that it knows.
    loaded = reloaded(module)
    assert loaded.acme() is loaded and places(loaded) == {"acme"}


def test_a_module_optimized_for_inference_runs_on_the_device(module):
    x = torch.rand(1, 2)
    expected = module(x)
    fast = torch.jit.optimize_for_inference(module.acme())
    torch.testing.assert_close(fast(x.acme()).cpu(), expected)


def test_a_python_module_holds_a_compiled_one(module):
    outer = nn.Sequential(nn.Linear(2, 2), module).acme()
    assert places(outer) == {"acme"}
    assert outer(torch.ones(1, 2, device="acme")).is_acme
