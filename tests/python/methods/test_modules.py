"""Module.acme() and everything that a module may have."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

pytestmark = pytest.mark.any_runtime

ACME = torch.device("acme", 0)


def tensors(module: nn.Module) -> list[torch.Tensor]:
    return [*module.parameters(), *module.buffers()]


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


# ---- the other ways to move a module


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


def test_bound_methods_can_be_copied():
    module = nn.Linear(1, 1)
    move = module.acme
    assert move.__self__ is module and move == module.acme
    assert copy.copy(move)() is module
    other = copy.deepcopy(nn.Linear(1, 1).acme)()
    assert other.weight.is_acme


# ---- quantized modules


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_observers_move_as_buffers_do():
    observer = torch.ao.quantization.MinMaxObserver()
    observer(torch.arange(4.0))
    observer.acme()
    assert observer.min_val.is_acme and observer.max_val.item() == 3
    fake = torch.ao.quantization.FakeQuantize().acme()
    assert fake.scale.is_acme and fake.zero_point.is_acme
