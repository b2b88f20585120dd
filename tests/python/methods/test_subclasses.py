"""Tensor.acme() and is_acme of subclasses, parameters, copies and bound methods; in threads."""

import copy
import pickle
import threading
import weakref

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_map_only

pytestmark = pytest.mark.any_runtime

ACME = torch.device("acme", 0)


class Tagged(torch.Tensor):
    """A subclass with nothing but its type."""


class Wrapper(torch.Tensor):
    """A tensor around another, for which __torch_dispatch__ does the work."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device
        )

    def __init__(self, inner) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, kinds, arguments=(), keywords=None):
        def unwrap(tree):
            return tree_map_only(Wrapper, lambda w: w.inner, tree)

        result = function(*unwrap(arguments), **unwrap(keywords or {}))
        wrapped = tree_map_only(torch.Tensor, cls, result)
        return return_and_correct_aliasing(function, arguments, keywords or {}, wrapped)


# ---- subclasses


def test_a_subclass_is_kept():
    there = torch.ones(2).as_subclass(Tagged).acme()
    assert type(there) is Tagged and there.is_acme
    assert type(there.cpu()) is Tagged
    assert there.acme() is there


def test_a_wrapper_moves_what_it_wraps():
    wrapper = Wrapper(torch.arange(3.0))
    assert wrapper.is_acme is False
    there = wrapper.acme()
    assert type(there) is Wrapper
    assert there.is_acme is True and there.inner.is_acme is True
    assert there.device == ACME
    assert there.inner.tolist() == [0, 1, 2]
    assert there.acme() is there
    assert there.acme(dtype=torch.float64).inner.dtype == torch.float64


def test_a_wrapper_can_go_to_another_device(two_devices):
    there = Wrapper(torch.ones(2)).acme(0).acme("acme:1")
    assert there.device.index == 1 and there.inner.device.index == 1


def test_a_wrapper_that_claims_a_device_is_on_it():
    # The wrapper decides, not what is inside: so says is_cuda too.
    class Elsewhere(torch.Tensor):
        @staticmethod
        def __new__(cls, device):
            return torch.Tensor._make_wrapper_subclass(cls, (2,), device=device)

        @classmethod
        def __torch_dispatch__(cls, function, kinds, arguments=(), keywords=None):
            raise AssertionError("an attribute needs no operator")

    assert Elsewhere(ACME).is_acme is True
    assert Elsewhere(torch.device("cpu")).is_acme is False
    assert Elsewhere(ACME).acme() is not None


def test_a_dispatch_mode_sees_one_copy():
    class Watching(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.seen = []

        def __torch_dispatch__(self, function, kinds, arguments=(), keywords=None):
            self.seen.append(str(function))
            return function(*arguments, **(keywords or {}))

    source = torch.ones(2)
    there = source.acme()
    with Watching() as mode:
        assert source.is_acme is False
        assert not mode.seen
        source.acme()
        assert mode.seen == ["aten._to_copy.default"]
        assert there.acme() is there
        assert mode.seen == ["aten._to_copy.default"]


def test_the_innermost_function_mode_is_asked_first():
    order = []

    class Numbered(TorchFunctionMode):
        def __init__(self, number) -> None:
            super().__init__()
            self.number = number

        def __torch_function__(self, function, kinds, arguments=(), keywords=None):
            if function in (torch.Tensor.acme, torch.Tensor.is_acme.__get__):
                order.append((self.number, function, kinds, arguments[1:], keywords))
            return function(*arguments, **(keywords or {}))

    tensor = torch.ones(1)
    with Numbered(1), Numbered(2):
        tensor.acme(0, non_blocking=True)
        assert tensor.is_acme is False
    assert [entry[0] for entry in order] == [2, 1, 2, 1]
    assert order[0][1] == torch.Tensor.acme
    assert order[0][3:] == ((0,), {"non_blocking": True})
    assert order[2][1] == torch.Tensor.is_acme.__get__


def test_a_mode_may_answer_for_the_tensor():
    class Lying(TorchFunctionMode):
        def __torch_function__(self, function, kinds, arguments=(), keywords=None):
            if function == torch.Tensor.is_acme.__get__:
                return "perhaps"
            if function == torch.Tensor.acme:
                return ("moved", *arguments[1:])
            return function(*arguments, **(keywords or {}))

    with Lying():
        assert torch.ones(1).is_acme == "perhaps"
        assert torch.ones(1).acme("nowhere at all") == ("moved", "nowhere at all")


def test_a_subclass_that_returns_notimplemented_is_an_error():
    class Unsure(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
            return NotImplemented

    tensor = torch.ones(1).as_subclass(Unsure)
    with pytest.raises(TypeError, match=r"(?s)torch\.Tensor\.acme.*Unsure"):
        tensor.acme()
    with pytest.raises(TypeError, match=r"(?s)torch\.Tensor\.is_acme.*Unsure"):
        _ = tensor.is_acme


def test_disabled_subclasses_come_back_as_tensors():
    tensor = torch.ones(2).as_subclass(Tagged)
    with torch._C.DisableTorchFunctionSubclass():
        there = tensor.acme()
        assert type(there) is torch.Tensor
        assert tensor.is_acme is False and there.is_acme is True


def test_a_subclass_may_bring_its_own():
    class Own(torch.Tensor):
        def acme(self):
            return "mine"

        is_acme = "also mine"

    tensor = torch.ones(1).as_subclass(Own)
    assert tensor.acme() == "mine" and tensor.is_acme == "also mine"
    assert torch.Tensor.acme(tensor).device == ACME


def test_super_reaches_the_method():
    class Counting(torch.Tensor):
        calls = 0

        def acme(self, *arguments, **keywords):
            Counting.calls += 1
            return super().acme(*arguments, **keywords)

        @property
        def is_acme(self):
            return ("asked", super().is_acme)

    there = torch.ones(1).as_subclass(Counting).acme(0)
    assert Counting.calls == 1
    assert there.is_acme == ("asked", True)


def test_attributes_of_the_instance_do_not_hide_the_property():
    # A data descriptor wins over the instance's dictionary, as is_cuda does.
    tensor = torch.ones(1)
    tensor.__dict__["is_acme"] = "hidden"
    assert tensor.is_acme is False
    tensor.acme = "an attribute of this tensor"
    assert tensor.acme == "an attribute of this tensor"
    del tensor.acme
    assert tensor.acme().is_acme


# ---- parameters and buffers


def test_a_parameter_becomes_a_tensor_and_stays_itself_when_it_is_there():
    parameter = torch.nn.Parameter(torch.ones(2))
    assert type(parameter.acme()) is torch.Tensor
    there = torch.nn.Parameter(torch.ones(2, device="acme"))
    assert there.acme() is there


def test_a_buffer_is_a_tensor():
    buffer = torch.nn.Buffer(torch.ones(2))
    assert buffer.is_acme is False
    assert buffer.acme().is_acme is True
    there = torch.nn.Buffer(torch.ones(2, device="acme"))
    assert there.acme() is there


def test_an_uninitialized_parameter_moves_as_to_cuda():
    parameter = torch.nn.UninitializedParameter()
    assert parameter.is_acme is False
    assert torch.nn.UninitializedParameter(device="acme").is_acme is True
    assert parameter.acme().is_acme
    with pytest.raises(ValueError, match="uninitialized parameter"):
        parameter + 1


# ---- copies, pickles, references


def test_bound_methods_can_be_copied_and_kept():
    tensor = torch.arange(3.0)
    move = tensor.acme
    assert move.__self__ is tensor and move.__name__ == "acme"
    assert torch.equal(copy.copy(move)().cpu(), tensor)
    assert copy.deepcopy(move)(0).is_acme
    assert move == tensor.acme
    del tensor
    assert move().tolist() == [0, 1, 2]


def test_bound_methods_are_pickled_by_name():
    restored = pickle.loads(pickle.dumps(torch.arange(3.0).acme))
    assert restored().tolist() == [0, 1, 2] and restored().is_acme


def test_the_method_itself_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(torch.Tensor.acme)) is torch.Tensor.acme
    assert copy.deepcopy(torch.Tensor.acme) is torch.Tensor.acme


def test_subclasses_are_pickled_with_their_device():
    there = torch.arange(3.0).as_subclass(Tagged).acme()
    there.note = "kept"
    back = pickle.loads(pickle.dumps(there))
    assert type(back) is Tagged and back.is_acme and back.note == "kept"


def test_a_tensor_on_the_device_lives_no_longer_than_it_should():
    there = torch.ones(2).acme()
    reference = weakref.ref(there)
    same = there.acme()
    assert reference() is same
    del there, same
    assert reference() is None


def test_failed_calls_leave_no_reference():
    tensor = torch.ones(2)
    reference = weakref.ref(tensor)
    for device in (99, "cuda", 1.5):
        with pytest.raises((torch.AcceleratorError, ValueError, TypeError)):
            tensor.acme(device)
    with pytest.raises(TypeError):
        tensor.acme(0, colour="red")
    del tensor
    assert reference() is None


# ---- threads


def test_many_threads_may_move_one_tensor():
    source = torch.arange(1000.0)
    expected = source.clone()
    problems = []
    ready = threading.Barrier(8)

    def move(number: int) -> None:
        index = number % torch.acme.device_count()
        ready.wait()
        for _ in range(50):
            there = source.acme(index)
            if not there.is_acme or there.device.index != index:
                problems.append(there.device)
            if not torch.equal(there.cpu(), expected):
                problems.append("values")
            if there.acme(index) is not there:
                problems.append("a copy")

    threads = [threading.Thread(target=move, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
