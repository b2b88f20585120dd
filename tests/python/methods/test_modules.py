"""Module.acme() and everything that a module may have."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

ACME = torch.device("acme", 0)


def tensors(module: nn.Module) -> list[torch.Tensor]:
    return [*module.parameters(), *module.buffers()]


@pytest.fixture
def conversion():
    """The switches of torch.__future__, which are as they were afterwards."""
    swap = torch.__future__.get_swap_module_params_on_conversion()
    overwrite = torch.__future__.get_overwrite_module_params_on_conversion()
    yield torch.__future__
    torch.__future__.set_swap_module_params_on_conversion(swap)
    torch.__future__.set_overwrite_module_params_on_conversion(overwrite)


# ---- what moves


class Everything(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(3.0))
        self.fixed = nn.Parameter(torch.ones(1), requires_grad=False)
        self.numbers = nn.Parameter(torch.arange(2), requires_grad=False)
        self.register_parameter("nothing", None)
        self.register_buffer("kept", torch.arange(2.0))
        self.register_buffer("forgotten", torch.ones(1), persistent=False)
        self.register_buffer("empty", torch.empty(0))
        self.register_buffer("none", None)
        self.loose = torch.ones(1)  # no parameter and no buffer

    def forward(self, x):
        return (self.weight * x).sum() + self.kept.sum() + self.forgotten


def test_parameters_and_buffers_move_and_nothing_else():
    module = Everything().acme()
    assert all(tensor.device == ACME for tensor in tensors(module))
    assert module.forgotten.is_acme and module.empty.is_acme
    assert module.nothing is None and module.none is None
    assert module.loose.is_acme is False
    assert module.weight.tolist() == [0, 1, 2] and module.kept.tolist() == [0, 1]
    assert list(module.state_dict()) == list(Everything().state_dict())
    assert "forgotten" not in module.state_dict()


def test_what_the_tensors_are_is_kept():
    module = Everything().acme()
    assert [p.requires_grad for p in module.parameters()] == [True, False, False]
    assert [p.dtype for p in module.parameters()] == [torch.float32, torch.float32, torch.int64]
    assert all(type(p) is nn.Parameter and p.is_leaf for p in module.parameters())
    assert all(name in module._parameters for name in ("weight", "fixed", "numbers", "nothing"))


def test_the_training_flag_is_kept():
    assert nn.Dropout().eval().acme().training is False
    assert nn.Dropout().acme().training is True


def test_a_second_call_changes_nothing():
    module = Everything().acme()
    before = tensors(module)
    module.acme()
    assert all(a.data_ptr() == b.data_ptr() for a, b in zip(before, tensors(module), strict=True))
    assert module.kept is before[3]


def test_a_gradient_is_kept_with_its_values():
    module = Everything()
    module(torch.ones(3)).backward()
    module.acme()
    assert module.weight.grad.device == ACME and module.weight.grad.tolist() == [1, 1, 1]
    assert module.fixed.grad is None
    module(torch.ones(3, device="acme")).backward()
    assert module.weight.grad.tolist() == [2, 2, 2]


def test_a_module_goes_to_another_device(two_devices):
    module = Everything()
    module(torch.ones(3)).backward()
    module.acme(0).acme("acme:1")
    assert all(tensor.device.index == 1 for tensor in tensors(module))
    assert module.weight.grad.device.index == 1
    assert torch.acme.current_device() == 0


def test_views_of_one_storage_become_tensors_of_their_own():
    module = nn.Module()
    base = torch.arange(4.0)
    module.register_buffer("first", base[:2])
    module.register_buffer("second", base[2:])
    module.acme()
    assert module.first.tolist() == [0, 1] and module.second.tolist() == [2, 3]


def test_subclasses_of_parameters_are_parameters_on_the_device():
    class Marked(nn.Parameter):
        pass

    module = nn.Module()
    module.weight = Marked(torch.ones(1))
    assert isinstance(module.acme().weight, nn.Parameter) and module.weight.is_acme


# ---- one tensor in several places


def test_a_tensor_that_is_tied_three_times_stays_one():
    module = nn.ModuleList(nn.Linear(2, 2, bias=False) for _ in range(3))
    module[1].weight = module[2].weight = module[0].weight
    module[0](torch.ones(1, 2)).sum().backward()
    module.acme()
    assert module[0].weight is module[1].weight is module[2].weight
    assert len(list(module.parameters())) == 1
    assert module[0].weight.grad.is_acme
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
    before = module[2].weight.detach().clone()
    optimizer.step()
    assert not torch.equal(module[2].weight, before)


def test_a_parameter_that_one_module_holds_twice_stays_one():
    module = nn.Module()
    module.first = module.second = nn.Parameter(torch.ones(2))
    module.acme()
    assert module.first is module.second and module.first.is_acme


def test_a_module_that_is_used_twice_moves_once():
    layer = nn.Linear(2, 2)
    module = nn.Sequential(layer, layer).acme()
    assert module[0] is module[1] is layer and layer.weight.is_acme


def test_embeddings_stay_tied_through_the_device_and_back():
    module = nn.ModuleDict({"in": nn.Embedding(3, 2), "out": nn.Linear(2, 3, bias=False)})
    module["out"].weight = module["in"].weight
    module.acme()
    assert module["out"].weight is module["in"].weight
    loss = module["out"](module["in"](torch.tensor([1], device="acme"))).sum()
    loss.backward()
    assert module["in"].weight.grad.is_acme


# ---- hooks


def test_hooks_of_every_kind_are_kept():
    seen = []
    module = nn.Sequential(nn.Linear(2, 2))
    module.register_forward_pre_hook(lambda *_: seen.append("before"))
    module.register_forward_hook(lambda *_: seen.append("after"))
    module.register_full_backward_hook(lambda *_: seen.append("backward"))
    module.register_state_dict_pre_hook(lambda *_: seen.append("save"))
    module.register_state_dict_post_hook(lambda *_: seen.append("saved"))
    module.register_load_state_dict_pre_hook(lambda *_: seen.append("load"))
    module.register_load_state_dict_post_hook(lambda *_: seen.append("loaded"))
    module.acme()
    assert not seen
    x = torch.ones(1, 2, device="acme", requires_grad=True)
    module(x).sum().backward()
    assert seen == ["before", "after", "backward"]
    module.load_state_dict(module.state_dict())
    assert seen[3:] == ["save", "saved", "load", "loaded"]


# ---- parametrizations


class Symmetric(nn.Module):
    def forward(self, weight):
        return weight.triu() + weight.triu(1).transpose(-1, -2)


def test_a_parametrization_moves_with_its_module():
    module = nn.Linear(2, 2)
    parametrize.register_parametrization(module, "weight", Symmetric())
    expected = module.weight.detach().clone()
    module.acme()
    assert module.parametrizations.weight.original.is_acme and module.weight.is_acme
    assert torch.equal(module.weight.cpu(), expected)
    module(torch.ones(1, 2, device="acme")).sum().backward()
    assert module.parametrizations.weight.original.grad.is_acme
    parametrize.remove_parametrizations(module, "weight")
    assert module.weight.is_acme and torch.equal(module.weight.cpu(), expected)


@pytest.mark.parametrize(
    "change",
    [parametrizations.weight_norm, parametrizations.spectral_norm, parametrizations.orthogonal],
)
def test_normalized_weights_work_on_the_device(change):
    torch.manual_seed(0)
    module = change(nn.Linear(3, 3)).eval()
    x = torch.rand(2, 3)
    expected = module(x)
    module.acme()
    assert all(tensor.is_acme for tensor in tensors(module))
    torch.testing.assert_close(module(x.acme()).cpu(), expected)
    module.train()(x.acme()).sum().backward()
    assert all(p.grad.is_acme for p in module.parameters())


@pytest.mark.filterwarnings("ignore::FutureWarning")  # the hook-based one is deprecated
def test_hook_based_weight_norm_works_on_the_device():
    module = nn.utils.weight_norm(nn.Linear(2, 2)).acme()
    assert module.weight_g.is_acme and module.weight_v.is_acme
    assert module(torch.ones(1, 2, device="acme")).is_acme


# ---- lazy modules


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


def test_lazy_modules_in_a_sequence_train_on_the_device():
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.LazyConv1d(4, 3), nn.LazyBatchNorm1d(), nn.Flatten(), nn.LazyLinear(2), nn.Linear(2, 1)
    ).acme()
    x = torch.rand(5, 2, 8, device="acme")
    module(x)  # shapes
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = module(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert all(tensor.is_acme for tensor in module.state_dict().values())


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
    with pytest.raises(IndexError):
        module.acme(99)
    assert module.weight is weight and weight.device.type == "cpu"
    module(torch.ones(1, 3))
    assert module.weight.device.type == "cpu"


# ---- the other ways to move a module


def test_there_and_back_by_every_way():
    module = Everything()
    for there, is_there in [
        (module.acme, True),
        (module.cpu, False),
        (lambda: module.to("acme"), True),
        (lambda: module.to(torch.device("cpu")), False),
        (lambda: module.to("acme:0", torch.float64), True),
    ]:
        assert there() is module
        assert all(tensor.is_acme is is_there for tensor in tensors(module))
        assert module.weight.tolist() == [0, 1, 2]
    assert module.weight.dtype == torch.float64 and module.numbers.dtype == torch.int64


def test_dtypes_change_on_the_device():
    module = nn.Linear(2, 2).acme()
    for change, dtype in [
        (module.half, torch.float16),
        (module.bfloat16, torch.bfloat16),
        (module.double, torch.float64),
        (lambda: module.to(torch.float32), torch.float32),
    ]:
        change()
        assert module.weight.dtype == dtype and module.weight.is_acme
    assert module(torch.ones(1, 2, device="acme")).is_acme


def test_the_same_as_to_gives():
    # All that Module.to promises holds for the method.
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    ours, torchs = copy.deepcopy(module).acme(), copy.deepcopy(module).to("acme")
    for (name, a), (other, b) in zip(
        ours.state_dict().items(), torchs.state_dict().items(), strict=True
    ):
        assert name == other and a.device == b.device and a.dtype == b.dtype
        assert torch.equal(a.cpu(), b.cpu())


def test_memory_formats_are_kept():
    module = nn.Conv2d(2, 4, 3).to(memory_format=torch.channels_last).acme()
    assert module.weight.is_contiguous(memory_format=torch.channels_last)


def test_a_module_made_without_memory_gets_it_on_the_device():
    with torch.device("meta"):
        module = nn.Linear(2, 2)
    with pytest.raises(NotImplementedError, match="meta"):
        module.acme()
    module.to_empty(device="acme")
    assert module.weight.is_acme and module.acme() is module


# ---- torch.__future__


@pytest.mark.parametrize("swap", [False, True])
def test_parameters_may_be_swapped(conversion, swap):
    conversion.set_swap_module_params_on_conversion(swap)
    module = Everything()
    weight = module.weight
    module.acme()
    assert module.weight is weight and weight.is_acme and weight.requires_grad
    assert module.weight.tolist() == [0, 1, 2]


@pytest.mark.parametrize("overwrite", [False, True])
def test_parameters_may_be_overwritten(conversion, overwrite):
    conversion.set_overwrite_module_params_on_conversion(overwrite)
    module = Everything()
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


# ---- optimizers


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


def test_module_to_keeps_parameters_too():
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].weight = module[0].weight
    weight = module[0].weight
    for place in ("acme", "cpu", "acme"):
        module.to(place)
        assert module[0].weight is weight and module[1].weight is weight
        assert weight.device.type == place


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


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_an_optimizer_made_after_the_move_trains(kind):
    torch.manual_seed(0)
    module = nn.Linear(3, 1).acme()
    optimizer = kind(module.parameters(), lr=0.05)
    x, y = torch.rand(8, 3).acme(), torch.zeros(8, 1).acme()
    first = last = None
    for _ in range(10):
        optimizer.zero_grad()
        last = nn.functional.mse_loss(module(x), y)
        first = last.item() if first is None else first
        last.backward()
        optimizer.step()
    assert last.item() < first
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    for entry in optimizer.state.values():
        assert all(v.is_acme for k, v in entry.items() if torch.is_tensor(v) and k != "step")


# ---- containers


def test_containers_move_with_what_they_hold():
    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.modules_ = nn.ModuleList([nn.Linear(1, 1), nn.ModuleList([nn.Linear(1, 1)])])
            self.list_ = nn.ParameterList([torch.ones(1), nn.Parameter(torch.ones(2))])
            self.dict_ = nn.ParameterDict({"a": torch.ones(1), "b": nn.Parameter(torch.ones(2))})

    module = Holder().acme()
    assert len(tensors(module)) == 8
    assert all(tensor.is_acme for tensor in tensors(module))
    assert module.list_[0].is_acme and module.dict_["b"].is_acme
    assert isinstance(module.list_[0], nn.Parameter)
    assert list(module.dict_) == ["a", "b"] and len(module.list_) == 2


@pytest.mark.parametrize("kind", [nn.ParameterList, nn.ParameterDict, nn.ModuleList, nn.ModuleDict])
def test_empty_containers_move(kind):
    container = kind()
    assert container.acme() is container


def test_recurrent_modules_find_their_weights_again():
    # They keep their weights in a second list, which their _apply renews.
    torch.manual_seed(0)
    module = nn.LSTM(2, 3, num_layers=2, bidirectional=True)
    x = torch.rand(4, 1, 2)
    expected = module(x)[0]
    module.acme()
    assert all(weight.is_acme for weight in module._flat_weights)
    assert all(
        weight is getattr(module, name)
        for weight, name in zip(module._flat_weights, module._flat_weights_names, strict=True)
    )
    torch.testing.assert_close(module(x.acme())[0].cpu(), expected)


def test_a_module_with_its_own_apply_may_leave_tensors_out():
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.moving, self.staying = nn.Linear(1, 1), nn.Linear(1, 1)

        def _apply(self, function, recurse=True):
            self.moving._apply(function)
            return self

    module = Half().acme()
    assert module.moving.weight.is_acme and not module.staying.weight.is_acme


def test_what_apply_returns_is_returned():
    class Replaced(nn.Module):
        def _apply(self, function, recurse=True):
            return "another"

    assert Replaced().acme() == "another"


def test_an_error_in_apply_comes_through():
    class Broken(nn.Module):
        def _apply(self, function, recurse=True):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        nn.Sequential(nn.Linear(1, 1), Broken()).acme()


def test_a_module_may_bring_its_own_method():
    class Own(nn.Linear):
        def acme(self, device=None):
            self.asked = device
            return super().acme(device)

    module = Own(1, 1)
    assert module.acme("acme:0") is module
    assert module.asked == "acme:0" and module.weight.is_acme


def test_an_attribute_of_that_name_does_not_matter():
    module = nn.Linear(1, 1)
    module.acme = nn.Linear(1, 1)
    torch.nn.Module.acme(module)
    assert module.weight.is_acme and module._modules["acme"].weight.is_acme


def test_unbound_calls_need_a_module():
    for wrong in (None, 1, torch.ones(1), nn.Linear):
        with pytest.raises(TypeError, match="doesn't apply to"):
            nn.Module.acme(wrong)


# ---- copies


def test_copies_of_a_module_stay_on_the_device():
    module = Everything().acme()
    deep, shallow = copy.deepcopy(module), copy.copy(module)
    assert all(tensor.is_acme for tensor in tensors(deep))
    assert shallow.weight is module.weight and deep.weight is not module.weight
    assert all(tensor.is_acme for tensor in tensors(pickle.loads(pickle.dumps(module))))


def test_bound_methods_can_be_copied():
    module = nn.Linear(1, 1)
    move = module.acme
    assert move.__self__ is module and move == module.acme
    assert copy.copy(move)() is module
    other = copy.deepcopy(nn.Linear(1, 1).acme)()
    assert other.weight.is_acme


def test_a_saved_module_comes_back_where_it_was():
    file = io.BytesIO()
    torch.save(nn.Linear(1, 1).acme().state_dict(), file)
    for place, is_there in [(None, True), ("cpu", False), ("acme", True)]:
        file.seek(0)
        state = torch.load(file, map_location=place)
        assert state["weight"].is_acme is is_there
        for assign in (False, True):
            module = nn.Linear(1, 1).acme()
            module.load_state_dict(state, assign=assign)
            assert module.weight.is_acme is (is_there or not assign)


# ---- quantized modules


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_observers_move_as_buffers_do():
    observer = torch.ao.quantization.MinMaxObserver()
    observer(torch.arange(4.0))
    observer.acme()
    assert observer.min_val.is_acme and observer.max_val.item() == 3
    fake = torch.ao.quantization.FakeQuantize().acme()
    assert fake.scale.is_acme and fake.zero_point.is_acme
