"""PackedSequence.acme() and is_acme."""

import inspect
import types

import pytest
import torch
from torch.nn.utils.rnn import PackedSequence, pack_sequence

pytestmark = pytest.mark.any_runtime

ACME = torch.device("acme", 0)


def sequence(enforce_sorted: bool = False) -> PackedSequence:
    parts = [torch.arange(2.0), torch.arange(3.0)]
    if enforce_sorted:
        parts.reverse()
    return pack_sequence(parts, enforce_sorted=enforce_sorted)


def test_all_but_the_batch_sizes_move():
    before = sequence()
    there = before.acme()
    assert type(there) is PackedSequence
    assert there.data.device == ACME
    assert there.sorted_indices.device == ACME and there.unsorted_indices.device == ACME
    # PyTorch wants these on the CPU, wherever the data is.
    assert there.batch_sizes is before.batch_sizes
    assert torch.equal(there.data.cpu(), before.data)
    assert torch.equal(there.sorted_indices.cpu(), before.sorted_indices)
    assert torch.equal(there.unsorted_indices.cpu(), before.unsorted_indices)


def test_a_sorted_sequence_has_no_indices():
    there = sequence(enforce_sorted=True).acme()
    assert there.is_acme and there.sorted_indices is None and there.unsorted_indices is None


def test_is_acme_tells_where_it_is():
    before = sequence()
    there = before.acme()
    assert before.is_acme is False
    assert there.is_acme is True
    assert there.cpu().is_acme is False
    assert before.to("acme").is_acme is True
    assert before.to("meta").is_acme is False


def test_it_is_itself_when_it_is_there():
    there = sequence().acme()
    for same in (there.acme(), there.acme(0), there.acme("acme:0"), there.acme(device=ACME)):
        assert same is there


@pytest.mark.parametrize("device", [1, "acme:1", torch.device("acme", 1)])
def test_it_takes_a_device(two_devices, device):
    for there in (sequence().acme(device), sequence().acme(device=device)):
        assert there.data.device.index == 1
        assert there.sorted_indices.device.index == 1
        assert there.unsorted_indices.device.index == 1


def test_it_takes_numpy_integers(two_devices):
    # As the other methods do.
    numpy = pytest.importorskip("numpy")
    assert sequence().acme(numpy.int64(1)).data.device.index == 1
    assert sequence().acme(device=numpy.int64(1)).data.device.index == 1


def test_without_a_device_it_is_the_current_one(two_devices):
    with torch.acme.device(1):
        assert sequence().acme().data.device.index == 1
        assert sequence().acme("acme").data.device.index == 1
        assert sequence().acme(device=None).data.device.index == 1


def test_without_a_device_it_stays_on_the_one_it_is_on(two_devices):
    # As PackedSequence.cuda does.
    there = sequence().acme(0)
    with torch.acme.device(1):
        assert there.acme() is there


def test_it_goes_from_one_device_to_another(two_devices):
    there = sequence().acme(0).acme(1)
    assert there.data.device.index == 1 and there.unsorted_indices.device.index == 1
    assert torch.equal(there.data.cpu(), sequence().data)


def test_a_dtype_may_go_with_it():
    there = sequence().acme(dtype=torch.float64)
    assert there.is_acme and there.data.dtype == torch.float64
    assert there.sorted_indices.dtype == torch.int64
    assert sequence().acme(0, torch.float64).data.dtype == torch.float64
    changed = there.acme(torch.float32)
    assert changed.is_acme and changed.data.dtype == torch.float32


def test_a_pinned_one_may_be_copied_without_waiting():
    there = sequence().pin_memory().acme(non_blocking=True)
    torch.acme.synchronize()
    assert torch.equal(there.data.cpu(), sequence().data)


def test_an_example_tensor_may_name_device_and_dtype():
    example = torch.ones(1, dtype=torch.float16, device="acme")
    there = sequence().acme(example)
    assert there.is_acme and there.data.dtype == torch.float16


@pytest.mark.parametrize(
    ("device", "error", "words"),
    [
        (99, torch.AcceleratorError, "acme:99 does not exist"),
        (-1, torch.AcceleratorError, "acme:-1 does not exist"),
        (10**40, torch.AcceleratorError, "does not exist"),
        ("acme:99", torch.AcceleratorError, "acme:99 does not exist"),
        ("meta", ValueError, 'expected "acme" or "acme:<index>", got "meta"'),
        (torch.device("meta"), ValueError, 'expected a device of type acme, got "meta"'),
    ],
)
def test_a_wrong_device_is_refused(device, error, words):
    for place in ("cpu", "acme"):
        for arguments, keywords in (((device,), {}), ((), {"device": device})):
            with pytest.raises(error) as caught:
                sequence().to(place).acme(*arguments, **keywords)
            assert words in str(caught.value)
            assert "Exception raised from" not in str(caught.value)


@pytest.mark.parametrize("place", ["cpu", "acme"])
def test_the_cpu_is_no_destination(place):
    for device in ("cpu", torch.device("cpu")):
        with pytest.raises(ValueError, match=r'expected .*acme.*, got "cpu"'):
            sequence().to(place).acme(device)


@pytest.mark.parametrize("place", ["cpu", "acme"])
@pytest.mark.parametrize("device", [True, 1.5, [0]])
def test_what_is_no_device_is_a_type_error(place, device):
    # Tensor.to takes a number for a tensor, whose device is the CPU.
    with pytest.raises(TypeError):
        sequence().to(place).acme(device)
    with pytest.raises(UnicodeEncodeError):
        sequence().to(place).acme("acme:\ud800")


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((), {"colour": 1}),
        ((0,), {"device": 0}),
        ((0, 1.5), {}),
        ((0, torch.float32, False, False, 1), {}),
    ],
)
def test_wrong_arguments_are_refused_as_by_to(arguments, keywords):
    with pytest.raises(TypeError, match=r"^to\(\) "):
        sequence().acme(*arguments, **keywords)


def test_gradients_come_back_to_the_cpu():
    data = torch.ones(2, requires_grad=True)
    there = pack_sequence([data]).acme()
    there.data.mul(3).sum().backward()
    assert data.grad.tolist() == [3, 3]


def test_subclasses_are_kept():
    class Mine(PackedSequence):
        pass

    assert type(Mine(*sequence()).acme()) is Mine


def test_what_the_data_answers_is_what_it_answers():
    class Lying(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
            if function == torch.Tensor.is_acme.__get__:
                return "perhaps"
            return super().__torch_function__(function, kinds, arguments, keywords or {})

    packed = sequence()
    assert packed._replace(data=packed.data.as_subclass(Lying)).is_acme == "perhaps"


def test_they_are_descriptors_that_explain_themselves():
    assert type(PackedSequence.acme) is types.MethodDescriptorType
    assert type(PackedSequence.is_acme) is types.GetSetDescriptorType
    assert str(inspect.signature(PackedSequence.acme)) == "(self, /, *args, **kwargs)"
    assert "acme device" in PackedSequence.acme.__doc__
    assert "acme" in PackedSequence.is_acme.__doc__
    with pytest.raises(AttributeError):
        sequence().is_acme = True


def test_a_plain_tuple_is_refused():
    for wrong in (tuple(sequence()), torch.ones(1)):
        with pytest.raises(TypeError, match="doesn't apply to"):
            PackedSequence.acme(wrong)
        with pytest.raises(TypeError, match="doesn't apply to"):
            PackedSequence.is_acme.__get__(wrong)


@pytest.mark.parametrize("place", ["cpu", "acme"])
def test_a_dtype_alone_is_enough(place):
    there = sequence().to(place).acme(torch.float16)
    assert there.is_acme and there.data.dtype == torch.float16
    assert sequence().to(place).acme(None).is_acme
