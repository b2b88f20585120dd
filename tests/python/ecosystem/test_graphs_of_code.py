"""Programs traced, transformed and exported: torch.export, torch.func, make_fx, TorchScript."""

import io

import pytest
import torch
from torch import func
from torch.fx.experimental.proxy_tensor import make_fx

pytestmark = pytest.mark.any_runtime

VALUES = torch.arange(6.0).reshape(2, 3)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x))) + torch.ones(4, device=x.device)


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net().acme().eval()


# ---- torch.export


@pytest.mark.parametrize("strict", [True, False])
def test_a_program_is_exported_saved_and_loaded(net, strict, tmp_path):
    x = torch.randn(5, 3, device="acme")
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(net, (x,), dynamic_shapes={"x": {0: batch}}, strict=strict)
    torch.export.save(program, tmp_path / "net.pt2")
    loaded = torch.export.load(tmp_path / "net.pt2").module()
    for rows in (5, 7):
        y = torch.randn(rows, 3, device="acme")
        assert loaded(y).device == y.device
        torch.testing.assert_close(loaded(y), net(y))


def test_a_program_is_decomposed(net):
    x = torch.randn(5, 3, device="acme")
    program = torch.export.export(net, (x,)).run_decompositions()
    torch.testing.assert_close(program.module()(x), net(x))


def test_a_program_moves_to_another_device(net):
    from torch.export.passes import move_to_device_pass

    program = torch.export.export(Net().eval(), (torch.randn(5, 3),))
    moved = move_to_device_pass(program, "acme:0")
    x = torch.randn(5, 3, device="acme")
    assert moved.module()(x).is_acme
    assert {t.device.type for t in moved.state_dict.values()} == {"acme"}


# ---- torch.func


def test_derivatives():
    x = VALUES.acme()
    f = lambda t: (t.sin() * t).sum()  # noqa: E731
    torch.testing.assert_close(func.grad(f)(x).cpu(), func.grad(f)(VALUES))
    value, push = func.jvp(lambda t: t.exp(), (x,), (torch.ones_like(x),))
    torch.testing.assert_close(push, value)
    value, pull = func.vjp(lambda t: t * t, x)
    torch.testing.assert_close(pull(torch.ones_like(value))[0].cpu(), 2 * VALUES)
    for jacobian in (func.jacrev, func.jacfwd):
        torch.testing.assert_close(jacobian(torch.sin)(x[0]).cpu(), torch.diag(VALUES[0].cos()))
    torch.testing.assert_close(
        func.hessian(lambda t: (t**3).sum())(x[0]).cpu(), torch.diag(6 * VALUES[0])
    )


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_vmap(randomness):
    x = VALUES.acme()
    y = func.vmap(torch.dot)(x, x)
    assert y.is_acme and torch.equal(y.cpu(), (VALUES * VALUES).sum(1))
    r = func.vmap(lambda t: torch.rand_like(t), randomness=randomness)(x)
    assert torch.equal(r[0], r[1]) == (randomness == "same")
    nested = func.vmap(func.vmap(lambda t: t + 1, in_dims=0), in_dims=1, out_dims=1)(x)
    assert torch.equal(nested.cpu(), VALUES + 1)


def test_gradients_of_each_sample(net):
    parameters = dict(net.named_parameters())
    x = torch.randn(5, 3, device="acme")

    def loss(p, sample):
        return func.functional_call(net, p, (sample.unsqueeze(0),)).sum()

    each = func.vmap(func.grad(loss), in_dims=(None, 0))(parameters, x)
    whole = func.grad(lambda p: func.functional_call(net, p, (x,)).sum())(parameters)
    for name in parameters:
        assert each[name].shape[0] == 5
        torch.testing.assert_close(each[name].sum(0), whole[name])


def test_an_ensemble(net):
    nets = [Net().acme().eval() for _ in range(3)]
    parameters, buffers = func.stack_module_state(nets)
    x = torch.randn(5, 3, device="acme")
    out = func.vmap(lambda p, b: func.functional_call(nets[0], (p, b), (x,)))(parameters, buffers)
    for i, one in enumerate(nets):
        torch.testing.assert_close(out[i], one(x))


# ---- make_fx, FakeTensor, meta


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_a_function_is_traced(mode):
    def f(x):
        y = x + 1 if x.is_acme else x - 1
        return torch.cat([y, torch.zeros(2, 3, device=x.device)]).sum(0)

    x = VALUES.acme()
    graph = make_fx(f, tracing_mode=mode)(x)
    assert torch.equal(graph(x), f(x)) and graph(x).is_acme


def test_fake_tensors_have_the_device_and_no_memory():
    with torch._subclasses.FakeTensorMode():
        x = torch.empty(1 << 20, 1 << 20, device="acme")
        y = (x @ x).relu_()
        z = torch.nn.Linear(4, 4, device="acme:0")(torch.ones(2, 4, device="acme"))
    assert x.device == y.device == z.device == torch.device("acme:0")
    assert y.is_acme


def test_fake_tensors_of_two_devices_do_not_mix():
    with torch._subclasses.FakeTensorMode():
        with pytest.raises(RuntimeError, match=r"[Dd]evice"):
            torch.ones(2, device="acme") + torch.ones(2)


def test_modules_are_made_on_meta_and_filled():
    with torch.device("meta"):
        module = Net()
    module.to_empty(device="acme")
    module.load_state_dict(Net().state_dict())
    assert module.eval()(torch.ones(2, 3, device="acme")).is_acme
    with pytest.raises(NotImplementedError, match="meta"):
        torch.nn.Linear(2, 2, device="meta").acme()


# ---- TorchScript


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("make", ["script", "trace"])
def test_torchscript_is_saved_and_loaded_anywhere(net, make):
    x = torch.randn(5, 3, device="acme")
    plain = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()).acme()
    script = torch.jit.script(plain) if make == "script" else torch.jit.trace(plain, x)
    torch.testing.assert_close(script(x), plain(x))
    file = io.BytesIO()
    torch.jit.save(script, file)
    for where in (None, "acme", "acme:0", torch.device("acme"), "cpu"):
        file.seek(0)
        loaded = torch.jit.load(file, map_location=where)
        type_ = "cpu" if where == "cpu" else "acme"
        assert {p.device.type for p in loaded.parameters()} == {type_}
        torch.testing.assert_close(loaded(x.to(type_)).cpu(), plain(x).cpu())
    frozen = torch.jit.freeze(torch.jit.script(plain.eval()))
    torch.testing.assert_close(frozen(x), plain(x))
