"""The types from before torch.device: torch.acme.FloatTensor, torch.acme.FloatStorage."""

import io

import pytest
import torch

TENSORS = {name: getattr(torch, name).dtype for name in torch.cuda.__all__ if "Tensor" in name}
STORAGES = [name for name in torch.cuda.__all__ if name.endswith("Storage")]

pytestmark = [
    pytest.mark.any_runtime,
    pytest.mark.filterwarnings("ignore:TypedStorage is deprecated"),
]


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensors_type_names_the_class_and_the_class_the_type(name):
    cls, dtype = getattr(torch.acme, name), TENSORS[name]
    x = torch.ones(2, device="acme", dtype=dtype)
    assert x.type() == f"torch.acme.{name}"
    assert cls.__module__ == "torch.acme" and cls.__name__ == name and cls.dtype is dtype
    for target in (cls, f"torch.acme.{name}"):
        there = torch.zeros(2).type(target)
        assert there.is_acme and there.dtype is dtype
    assert isinstance(x, cls) and isinstance(torch.nn.Parameter(x, requires_grad=False), cls)
    other = torch.acme.LongTensor if cls is not torch.acme.LongTensor else torch.acme.IntTensor
    assert not isinstance(x, other)
    assert not isinstance(x.cpu(), cls) and not isinstance(1, cls)


def test_the_class_makes_tensors():
    made = torch.acme.FloatTensor([1, 2])
    assert made.is_acme and made.dtype is torch.float32 and made.tolist() == [1, 2]
    assert torch.acme.LongTensor(2, 3).shape == (2, 3)
    assert torch.acme.LongTensor().numel() == 0
    assert "torch.acme.FloatTensor" in repr(torch.acme.FloatTensor)


def test_the_type_of_another_place_and_back():
    x = torch.ones(2).acme()
    assert x.type(torch.DoubleTensor).type() == "torch.DoubleTensor"
    assert x.type(torch.float64).type() == "torch.acme.DoubleTensor"


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
def test_torch_takes_none_but_its_own_as_the_default():
    with pytest.raises(TypeError, match="invalid type object"):
        torch.set_default_tensor_type(torch.acme.FloatTensor)
    with pytest.raises(TypeError, match="invalid type object"):
        torch.set_default_tensor_type("torch.acme.FloatTensor")
    assert torch.ones(1).device.type == "cpu"


@pytest.mark.parametrize("name", STORAGES)
def test_a_storages_type_names_the_class(name):
    cls, dtype = getattr(torch.acme, name), getattr(torch, name).dtype
    storage = torch.ones(3, dtype=dtype, device="acme").storage()
    assert storage.type() == f"torch.acme.{name}"
    assert isinstance(storage, cls) and not isinstance(storage.cpu(), cls)
    assert cls in torch._storage_classes
    made = cls(4)
    assert made.device.type == "acme" and made.dtype is dtype and made.size() == 4
    again = cls(wrap_storage=storage.untyped())
    assert again.data_ptr() == storage.data_ptr()


def test_storages_are_filled_moved_and_saved():
    made = torch.acme.FloatStorage([1, 2, 3])
    assert made.tolist() == [1, 2, 3]
    assert made.cpu().type() == "torch.FloatStorage"
    assert torch.is_storage(made)
    file = io.BytesIO()
    torch.save(made, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert loaded.type() == "torch.acme.FloatStorage" and loaded.tolist() == [1, 2, 3]


@pytest.mark.parametrize("name", ["from_buffer", "_new_with_weak_ptr", "_new_shared_filename"])
def test_what_needs_host_memory_is_refused(name):
    with pytest.raises(RuntimeError, match=f"{name}: Not available for acme storage"):
        getattr(torch.acme.FloatStorage, name)(b"")
