"""The generated methods in torch.compile and torch.export, without a code generator."""

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.utils.rnn import pack_sequence

pytestmark = pytest.mark.any_runtime

ACME = torch.device("acme", 0)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture(params=["eager", "aot_eager"])
def compiled(request):
    """Compiles without graph breaks; `graphs` of it are those that were made."""

    def compile_(function, **options):
        counter = CompileCounterWithBackend(request.param)
        result = torch.compile(function, backend=counter, fullgraph=True, **options)
        result.counter = counter
        return result

    return compile_


# ---- Tensor


def test_a_move_and_a_question_share_one_graph(compiled):
    def f(x):
        y = x if x.is_acme else x.acme()
        z = y * 2
        return z + 1 if z.is_acme else z - 1

    run = compiled(f)
    for x in (torch.arange(3.0), torch.arange(3.0, device="acme")):
        out = run(x)
        assert out.device == ACME and out.tolist() == [1, 3, 5]
    assert run.counter.frame_count == 2  # one graph for each device


@pytest.mark.parametrize(
    "move",
    [
        lambda x: x.acme(1),
        lambda x: x.acme(device=1),
        lambda x: x.acme("acme:1"),
        lambda x: x.acme(torch.device("acme", 1)),
        lambda x: x.acme(torch.device("acme:1"), True),
        lambda x: torch.Tensor.acme(x, 1),
        lambda x: getattr(x, "acme")(1),  # noqa: B009
    ],
    ids=["int", "keyword", "text", "device", "non_blocking", "unbound", "getattr"],
)
def test_the_device_may_be_written_in_every_way(two_devices, compiled, move):
    out = compiled(lambda x: move(x) + 1)(torch.zeros(2))
    assert out.device == torch.device("acme", 1)
    assert out.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("move", "check"),
    [
        (lambda x: x.acme(non_blocking=True), lambda y: y.is_acme),
        (lambda x: x.acme(None), lambda y: y.is_acme),
        (lambda x: x.acme(dtype=torch.float64), lambda y: y.dtype == torch.float64),
        (
            lambda x: x.acme(memory_format=torch.channels_last),
            lambda y: y.is_contiguous(memory_format=torch.channels_last),
        ),
        (lambda x: x.acme().acme(copy=True), lambda y: y.is_acme),
    ],
    ids=["non_blocking", "None", "dtype", "memory_format", "copy"],
)
def test_the_other_arguments_work(compiled, move, check):
    x = torch.rand(2, 3, 4, 5)
    out = compiled(move)(x)
    assert check(out) and torch.equal(out.cpu().float(), x)


def test_a_tensor_that_is_there_is_not_copied(compiled):
    x = torch.ones(2, device="acme")
    run = compiled(lambda t: t.acme().add_(1))
    run(x)
    assert x.tolist() == [2, 2]


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: getattr(x, "is_acme"),  # noqa: B009
        lambda x: getattr(x, "is_acme", "missing"),
        lambda x: hasattr(x, "is_acme") and x.is_acme,
        pytest.param(
            lambda x: torch.Tensor.is_acme.__get__(x),
            marks=pytest.mark.xfail(
                not (2, 13) <= torch.__version__ < (2, 14),
                reason="this torch compiles the descriptors of torch._C.TensorBase alone so",
            ),
        ),
    ],
    ids=["getattr", "default", "hasattr", "unbound"],
)
def test_the_property_may_be_asked_in_every_way(compiled, ask):
    run = compiled(lambda x: x + 1 if ask(x) is True else x - 1)
    assert run(torch.zeros(1, device="acme")).item() == 1
    assert run(torch.zeros(1)).item() == -1


def test_intermediates_answer_for_themselves(compiled):
    def f(x):
        there = x.acme()
        back = there.cpu()
        new = torch.ones(1, device="acme")
        return [x.is_acme, there.is_acme, back.is_acme, new.is_acme], there + 1

    answers, _ = compiled(f)(torch.ones(1))
    assert answers == [False, True, False, True]


def test_parameters_and_buffers_answer(compiled):
    class Asking(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))
            self.register_buffer("buffer", torch.ones(1))

        def forward(self, x):
            return x + 1 if self.weight.is_acme and self.buffer.is_acme else x - 1

    assert compiled(Asking().acme())(torch.zeros(1, device="acme")).item() == 1
    assert compiled(Asking())(torch.zeros(1)).item() == -1


def test_shapes_may_be_dynamic(compiled):
    def f(x):
        y = x.acme()
        return y.sum() if y.is_acme else y.prod()

    run = compiled(f, dynamic=True)
    for size in (2, 5, 9):
        assert run(torch.ones(size)).item() == size
    assert run.counter.frame_count == 1


def test_gradients_flow_through_a_compiled_move(compiled):
    x = torch.arange(3.0, requires_grad=True)
    compiled(lambda t: (t.acme() ** 2).sum())(x).backward()
    assert x.grad.device.type == "cpu" and x.grad.tolist() == [0, 2, 4]


def test_there_are_no_graph_breaks():
    def f(x):
        y = x.acme()
        return y + 1 if y.is_acme else y

    torch._dynamo.reset()
    explanation = torch._dynamo.explain(f)(torch.ones(2))
    assert explanation.graph_count == 1 and explanation.graph_break_count == 0


def test_subclasses_are_asked_inside_a_graph():
    class Doubling(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
            result = super().__torch_function__(function, kinds, arguments, keywords or {})
            moves = function is torch.Tensor.acme or function is torch.Tensor.to
            return result * 2 if moves else result

    x = torch.ones(2).as_subclass(Doubling)
    moved, like = (
        torch.compile(move, backend="eager", fullgraph=True)(x)
        for move in (lambda t: t.acme(), lambda t: t.to("acme"))
    )
    # Older releases ask once in the graph and once more when it runs.
    assert torch.Tensor.is_acme.__get__(moved)
    assert torch.Tensor.tolist(moved) == torch.Tensor.tolist(like) != [1, 1]


@pytest.mark.parametrize("method", ["acme", "to"])
def test_modes_are_asked_inside_a_graph(method):
    # With "aot_eager": the graph of "eager" is Python calls, which the mode sees a second time.
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, kinds, arguments=(), keywords=None):
            result = function(*arguments, **(keywords or {}))
            moves = function is torch.Tensor.acme or function is torch.Tensor.to
            return result + 1 if moves else result

    def f(x):
        return getattr(x, method)("acme")

    run = torch.compile(f, backend="aot_eager", fullgraph=True)
    with Mode():
        assert f(torch.ones(1)).item() == 2
        assert run(torch.ones(1)).item() == 2


@pytest.mark.parametrize(("device", "error"), [(99, "does not exist"), ("cuda", "got")])
def test_a_wrong_device_is_refused_inside_a_graph(device, error):
    # Whether the compiler or the method says so, the words are the method's.
    with pytest.raises(Exception, match=error):
        torch.compile(lambda x: x.acme(device), backend="eager")(torch.ones(1))


# ---- Module


def test_a_compiled_module_can_be_moved(compiled):
    module = nn.Linear(2, 1)
    run = compiled(module)
    assert run(torch.ones(1, 2)).is_acme is False
    assert run.acme() is not None
    assert module.weight.is_acme
    assert run(torch.ones(1, 2, device="acme")).is_acme


def test_a_module_compiled_in_place_can_be_moved():
    class Scaling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x * self.weight if self.weight.is_acme else x - self.weight

    module = Scaling()
    module.compile(backend="eager", fullgraph=True)
    assert module(torch.ones(2)).tolist() == [0, 0]
    assert module.acme()(torch.ones(2, device="acme")).tolist() == [1, 1]


def test_a_module_moved_inside_a_compiled_function_moves():
    # A graph break, as for Module.cuda: the move is a side effect on the module.
    module = nn.Linear(2, 1)

    def f(x):
        y = x + 1
        module.acme()
        return module(y)

    out = torch.compile(f, backend="eager")(torch.ones(1, 2, device="acme"))
    assert out.is_acme and module.weight.is_acme


# ---- PackedSequence and storages


def test_a_packed_sequence_answers_without_a_graph_break():
    # Better than PyTorch's own generated property, which the compiler skips.
    def f(packed):
        return packed.data + 1 if packed.is_acme else packed.data - 1

    packed = pack_sequence([torch.zeros(2)])
    run = torch.compile(f, backend="eager", fullgraph=True)
    assert run(packed.acme()).tolist() == [1, 1]
    assert run(packed).tolist() == [-1, -1]


def test_a_packed_sequence_moves_in_a_compiled_function():
    def f(packed):
        return packed.acme().data + 1

    out = torch.compile(f, backend="eager")(pack_sequence([torch.zeros(2)]))
    assert out.is_acme and out.tolist() == [1, 1]


def test_a_storage_moves_in_a_compiled_function():
    def f(x):
        y = x + 1
        storage = y.untyped_storage()
        return y if storage.is_acme else y * storage.acme().nbytes()

    run = torch.compile(f, backend="eager")
    assert run(torch.ones(1)).tolist() == [8]
    assert run(torch.ones(1, device="acme")).tolist() == [2]


# ---- a compiler that was there first


def test_a_compiler_that_has_worked_already_learns_of_both(run_python):
    run_python(
        """
        import torch, torch._dynamo

        def old(x):
            return x.cpu().abs() + torch.Tensor.add(x, 1)

        torch.compile(old, backend="aot_eager", fullgraph=True)(torch.ones(1))
        import torch_acme
        from torch._dynamo.device_interface import get_interface_for_device
        assert get_interface_for_device("acme").device_count() == torch.acme.device_count()

        @torch.compile(backend="aot_eager", fullgraph=True)
        def bound(x):
            y = x.acme(0) if not x.is_acme else x
            z = y * 2
            return z + 1 if z.is_acme else z - 1

        assert bound(torch.ones(1)).item() == 3
        assert bound(torch.ones(1, device="acme")).item() == 3
        module = torch.nn.Linear(2, 1).acme()
        compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
        assert compiled(torch.ones(1, 2, device="acme")).is_acme

        @torch.compile(backend="aot_eager", fullgraph=True)
        def unbound(x):
            return torch.Tensor.acme(x, 0) + 1

        # The compiler keeps a set of the methods that it can trace so.
        assert unbound(torch.ones(1)).item() == 2, "torch._dynamo.trace_rules.get_tensor_method"
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


# ---- fake tensors


def test_fake_tensors_move():
    with FakeTensorMode() as mode:
        made = torch.empty(2, 3, device="acme")
        assert made.is_acme is True and made.acme() is made
        cpu = torch.empty(2, 3)
        assert cpu.is_acme is False
        there = cpu.acme()
        assert type(there) is type(made) and there.fake_mode is mode
        assert there.is_acme is True and there.device == ACME
        assert (there + made).is_acme
        assert there.cpu().is_acme is False
        assert cpu.acme(dtype=torch.int8).dtype == torch.int8


def test_fake_tensors_move_between_devices(two_devices):
    with FakeTensorMode():
        there = torch.empty(2).acme(1)
        assert there.device.index == 1 and there.is_acme
        assert there.acme(0).device.index == 0
        with torch.acme.device(1):
            assert torch.empty(1).acme().device.index == 1


def test_a_real_tensor_becomes_fake_in_the_mode():
    real = torch.ones(2)
    with FakeTensorMode(allow_non_fake_inputs=True):
        there = real.acme()
        assert there.is_acme and type(there) is not torch.Tensor


def test_a_wrong_device_is_refused_of_fake_tensors():
    with FakeTensorMode():
        for device, error in [(99, torch.AcceleratorError), ("cuda", ValueError), (1.5, TypeError)]:
            with pytest.raises(error, match="acme"):
                torch.empty(1).acme(device)


def test_fake_storages_say_where_they_are():
    with FakeTensorMode():
        # A fake tensor's memory is on the meta device, wherever the tensor is.
        assert torch.empty(2, device="acme").untyped_storage().device.type == "meta"
        assert torch.empty(2, device="acme").untyped_storage().is_acme is False


# ---- torch.export


class Moving(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 1)

    def forward(self, x):
        y = x if x.is_acme else x.acme()
        return self.linear(y) + 1 if y.is_acme else y


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("device", ["cpu", "acme"])
def test_export_records_the_move(strict, device):
    module = Moving().acme()
    x = torch.ones(3, 2, device=device)
    program = torch.export.export(module, (x,), strict=strict)
    targets = [str(node.target) for node in program.graph.nodes]
    assert any("aten.to" in target or "_to_copy" in target for target in targets) is (
        device == "cpu"
    )
    assert torch.equal(program.module()(x).cpu(), module(x).cpu())


def test_an_exported_program_has_dynamic_shapes():
    module = Moving().acme()
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(
        module, (torch.ones(3, 2),), dynamic_shapes={"x": {0: batch}}, strict=False
    )
    assert program.module()(torch.ones(7, 2)).shape == (7, 1)


def test_an_exported_program_is_saved_with_its_device(tmp_path):
    module = Moving().acme()
    x = torch.ones(3, 2)
    torch.export.save(torch.export.export(module, (x,), strict=False), tmp_path / "program.pt2")
    loaded = torch.export.load(tmp_path / "program.pt2").module()
    assert loaded(x).is_acme
    assert torch.equal(loaded(x).cpu(), module(x).cpu())
