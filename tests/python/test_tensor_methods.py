"""Tensor.acme() and Tensor.is_acme."""

import inspect
import types

import pytest
import torch
from torch.overrides import TorchFunctionMode

pytestmark = pytest.mark.any_runtime

ACME = torch.device("acme", 0)


# ---- is_acme


def test_is_acme_is_a_descriptor_like_is_cuda():
    descriptor = torch.Tensor.is_acme
    assert type(descriptor) is types.GetSetDescriptorType
    assert descriptor.__name__ == "is_acme"
    assert "acme" in descriptor.__doc__
    with pytest.raises(AttributeError):
        torch.ones(1).is_acme = True
    with pytest.raises(TypeError):
        descriptor.__get__(1)


def test_is_acme_of_special_tensors():
    assert torch.eye(2, device="acme").to_sparse_csr().is_acme
    assert torch.ones(2, dtype=torch.complex64, device="acme").conj().is_acme
    with torch.inference_mode():
        assert torch.ones(1, device="acme").is_acme


# ---- acme()


def test_acme_takes_numpy_integers(two_devices):
    numpy = pytest.importorskip("numpy")
    assert torch.ones(1).acme(numpy.int64(1)).device.index == 1


@pytest.mark.parametrize(
    ("device", "error", "words"),
    [
        (True, TypeError, "got bool"),
        (1.0, TypeError, "got float"),
        ([0], TypeError, "got list"),
        (b"acme", TypeError, "got bytes"),
        ("cuda", ValueError, 'got "cuda"'),
        ("cpu", ValueError, 'got "cpu"'),
        (torch.device("cpu"), ValueError, 'got "cpu"'),
        ("acme:", ValueError, 'got "acme:"'),
        ("acme:x", ValueError, 'got "acme:x"'),
        ("acme:-1", ValueError, 'got "acme:-1"'),
        ("acme:01", ValueError, 'got "acme:01"'),
        ("acme:1 ", ValueError, 'got "acme:1 "'),
        ("acmes", ValueError, 'got "acmes"'),
        ("", ValueError, 'got ""'),
        ("acme:\0", ValueError, "got"),
        ("acme:99", torch.AcceleratorError, "acme:99 does not exist"),
        ("acme:999999999999999999999", torch.AcceleratorError, "does not exist"),
        (99, torch.AcceleratorError, "acme:99 does not exist"),
        (-1, torch.AcceleratorError, "acme:-1 does not exist"),
        (300, torch.AcceleratorError, "acme:300 does not exist"),
        (-300, torch.AcceleratorError, "acme:-300 does not exist"),
        (10**40, torch.AcceleratorError, "does not exist"),
        (torch.device("acme", 99), torch.AcceleratorError, "acme:99 does not exist"),
    ],
)
def test_a_wrong_device_is_refused_with_what_was_expected(device, error, words):
    tensor = torch.ones(1)
    with pytest.raises(error) as caught:
        tensor.acme(device)
    assert words in str(caught.value)
    assert "acme" in str(caught.value)
    assert "Exception raised from" not in str(caught.value)


def test_surrogates_in_a_device_are_pythons_own_error():
    with pytest.raises(UnicodeEncodeError):
        torch.ones(1).acme("acme:\ud800")


@pytest.mark.parametrize(
    ("arguments", "keywords", "words"),
    [
        ((0, False, 1), {}, "takes from 1 to 3 positional arguments but 4 were given"),
        ((0,), {"device": 0}, "multiple values for argument 'device'"),
        ((0, True), {"non_blocking": True}, "multiple values for argument 'non_blocking'"),
        ((0, 1), {}, "'non_blocking' must be bool, not int"),
        ((), {"non_blocking": None}, "'non_blocking' must be bool, not NoneType"),
        ((), {"colour": 1}, "colour"),
    ],
)
def test_wrong_arguments_are_type_errors(arguments, keywords, words):
    with pytest.raises(TypeError, match=words):
        torch.ones(1).acme(*arguments, **keywords)


def test_keywords_of_to_are_passed_on():
    image = torch.rand(2, 3, 4, 5)
    there = image.acme(memory_format=torch.channels_last)
    assert there.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(there.cpu(), image)
    assert image.acme(0, dtype=torch.float64).dtype == torch.float64
    again = there.acme(copy=True)
    assert again is not there and torch.equal(again.cpu(), image)
    assert torch.ones(1).acme(0, non_blocking=True).is_acme


def test_another_keyword_does_not_make_it_wait(real_streams):
    pinned = torch.ones(1 << 16).pin_memory()
    with torch.acme.stream(torch.acme.Stream()):
        try:
            torch.acme._sleep(500_000_000)
        except NotImplementedError:
            pytest.skip("this runtime has no callbacks")
        there = pinned.acme(non_blocking=True, copy=True)
        assert not torch.acme.current_stream().query()
        assert torch.equal(there.cpu(), pinned)


@pytest.fixture
def every_warning():
    """torch gives some warnings once in a process, and another test may have had this one."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


def test_a_warning_names_the_callers_line(every_warning):
    with pytest.warns(UserWarning, match="discards the imaginary part") as caught:
        torch.ones(1, dtype=torch.complex64).acme(dtype=torch.float32)
    assert caught[0].filename == __file__


def test_it_reads_as_a_method():
    assert list(inspect.signature(torch.ones(1).acme).parameters) == [
        "device",
        "non_blocking",
        "kwargs",
    ]
    assert torch.Tensor.acme.__name__ == "acme"
    assert "current" in torch.Tensor.acme.__doc__


def test_requires_grad_and_names_of_parameters_are_kept():
    parameter = torch.nn.Parameter(torch.ones(2))
    there = parameter.acme()
    assert there.requires_grad and not there.is_leaf
    assert torch.nn.Parameter(torch.ones(2).acme()).acme().is_leaf


# ---- __torch_function__


class Watching(torch.Tensor):
    """Notes what is called on it, and lets it happen."""

    seen: list = []  # noqa: RUF012

    @classmethod
    def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
        cls.seen.append((function, arguments[1:], keywords or {}))
        return super().__torch_function__(function, kinds, arguments, keywords or {})


def test_subclasses_see_the_method_with_all_it_was_given():
    tensor = torch.ones(2).as_subclass(Watching)
    Watching.seen.clear()
    there = tensor.acme(0, non_blocking=True)
    assert type(there) is Watching
    assert torch.Tensor.is_acme.__get__(there) is True
    assert (torch.Tensor.acme, (0,), {"non_blocking": True}) in Watching.seen


def test_subclasses_see_the_property():
    tensor = torch.ones(2).as_subclass(Watching)
    Watching.seen.clear()
    assert tensor.is_acme is False
    assert Watching.seen[0][0] == torch.Tensor.is_acme.__get__


def test_a_subclass_may_answer_as_it_likes():
    class Lying(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
            return "anywhere"

    tensor = torch.ones(2).as_subclass(Lying)
    assert tensor.is_acme == "anywhere"
    assert tensor.acme("not even a device") == "anywhere"


def test_a_subclass_without_torch_function_is_a_plain_tensor():
    class Plain(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    tensor = torch.ones(2).as_subclass(Plain)
    assert tensor.is_acme is False
    assert tensor.acme().is_acme


class Mode(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen = []

    def __torch_function__(self, function, kinds, arguments=(), keywords=None):
        self.seen.append(function)
        return function(*arguments, **(keywords or {}))


@pytest.mark.parametrize("make", [lambda t: t, torch.nn.Parameter], ids=["Tensor", "Parameter"])
def test_modes_see_both(make):
    tensor = make(torch.ones(2))
    with Mode() as mode:
        assert tensor.is_acme is False
        assert tensor.acme().is_acme
    assert torch.Tensor.is_acme.__get__ in mode.seen
    assert torch.Tensor.acme in mode.seen


def test_disabled_torch_function_is_honoured():
    tensor = torch.ones(2).as_subclass(Watching)
    Watching.seen.clear()
    with torch._C.DisableTorchFunctionSubclass():
        assert tensor.is_acme is False
        tensor.acme()
    assert not Watching.seen
    with Mode() as mode, torch._C.DisableTorchFunction():
        assert torch.ones(1).is_acme is False
    assert not mode.seen


def test_an_error_in_torch_function_comes_through():
    class Raising(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
            raise LookupError("mine")

    tensor = torch.ones(2).as_subclass(Raising)
    with pytest.raises(LookupError, match="mine"):
        _ = tensor.is_acme
    with pytest.raises(LookupError, match="mine"):
        tensor.acme()


def test_the_default_device_mode_leaves_it_alone():
    with torch.device("acme"):
        assert torch.ones(1).is_acme
        assert torch.ones(1).acme().is_acme


# ---- tracing


def test_fake_tensors_are_where_they_say():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        fake = mode.from_tensor(torch.ones(2, device="acme"))
        assert fake.is_acme is True
        assert (fake + 1).is_acme is True
        cpu = mode.from_tensor(torch.ones(2))
        assert cpu.is_acme is False
        assert cpu.acme().is_acme is True
        assert cpu.acme(0).device == ACME


def test_it_lets_other_threads_run_while_it_copies():
    # The copy happens without the GIL: a thread that needs it gets on meanwhile.
    import threading
    import time

    source = torch.empty(64 << 20, dtype=torch.uint8)
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    for _ in range(8):
        source.acme()
    end = time.perf_counter()
    stop.set()
    thread.join()
    assert sum(begin < moment < end for moment in ticks) >= 3
