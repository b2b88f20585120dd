"""DLPack and numpy: tensors that go to other libraries and come back."""

import numpy as np
import pytest
import torch
from torch.utils.dlpack import DLDeviceType

pytestmark = [pytest.mark.turns_on_memory, pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]

LAST = torch.acme.device_count() - 1
VALUES = torch.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("index", sorted({0, LAST}))
def test_the_device_is_named(index):
    x = VALUES.acme(index)
    assert x.__dlpack_device__() == (DLDeviceType.kDLExtDev, index)
    assert isinstance(x.__dlpack_device__()[0], DLDeviceType)
    assert VALUES.__dlpack_device__() == (DLDeviceType.kDLCPU, 0)


@pytest.mark.parametrize("index", sorted({0, LAST}))
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x.t(), lambda x: x[1:, ::2]])
def test_a_tensor_comes_back_over_the_same_memory(index, view):
    x = view(VALUES.acme(index))
    y = torch.from_dlpack(x)
    assert y.device == x.device and y.data_ptr() == x.data_ptr() and y.stride() == x.stride()
    y.add_(1)
    assert torch.equal(x.cpu(), view(VALUES) + 1)


def test_a_capsule_comes_back_over_the_same_memory():
    x = VALUES.acme()
    for capsule in (torch.utils.dlpack.to_dlpack(x), x.__dlpack__(), x.__dlpack__(stream=None)):
        assert torch.from_dlpack(capsule).data_ptr() == x.data_ptr()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int8, torch.bool, torch.complex64])
def test_dtypes(dtype):
    x = torch.tensor([0, 1, 1]).to(dtype).acme()
    y = torch.from_dlpack(x)
    assert y.dtype == dtype and torch.equal(y.cpu(), x.cpu())


def test_memory_lives_as_long_as_its_last_user():
    x = torch.full((1000,), 7.0, device="acme")
    y = torch.from_dlpack(x)
    del x
    z = torch.empty(1000, device="acme").fill_(0)
    assert y.sum().item() == 7000 and z.sum().item() == 0
    capsule = torch.ones(3, device="acme").__dlpack__()
    del capsule  # never read


def test_a_copy_is_one():
    x = VALUES.acme()
    y = torch.from_dlpack(x, copy=True)
    assert y.device == x.device and y.data_ptr() != x.data_ptr() and torch.equal(y, x)
    with pytest.raises(ValueError, match="without copying"):
        torch.from_dlpack(x, device="cpu", copy=False)


@pytest.mark.parametrize("there", ["cpu", "acme", f"acme:{LAST}"])
@pytest.mark.parametrize("here", ["cpu", "acme"])
def test_to_another_device(here, there):
    y = torch.from_dlpack(VALUES.to(here), device=there)
    assert y.device == torch.empty(0, device=there).device
    assert torch.equal(y.cpu(), VALUES)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(2, device="acme", requires_grad=True),
        lambda: torch.ones(2, dtype=torch.complex64, device="acme").conj(),
        lambda: torch.eye(2, device="acme").to_sparse(),
    ],
    ids=["gradient", "conjugated", "sparse"],
)
def test_what_dlpack_cannot_say_is_refused(make):
    with pytest.raises(BufferError, match="Can't export"):
        torch.from_dlpack(make())


def test_subclasses_may_override_it():
    class Elsewhere(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, arguments=(), named=None):
            if function is torch.Tensor.__dlpack_device__:
                return "elsewhere"
            return super().__torch_function__(function, types, arguments, named or {})

    assert VALUES.acme().as_subclass(Elsewhere).__dlpack_device__() == "elsewhere"
    assert torch.nn.Parameter(VALUES.acme()).__dlpack_device__()[0] == DLDeviceType.kDLExtDev


def test_it_takes_no_arguments():
    with pytest.raises(TypeError, match="takes no arguments"):
        VALUES.acme().__dlpack_device__(1)


def test_other_devices_are_torchs():
    with pytest.raises(ValueError, match="meta"):
        torch.empty(1, device="meta").__dlpack_device__()


# ---- numpy


def test_numpy_reads_a_copy_on_the_cpu():
    x = VALUES.acme()
    y = np.from_dlpack(x, device="cpu")
    assert isinstance(y, np.ndarray) and (y == VALUES.numpy()).all()
    assert (np.from_dlpack(x.t(), device="cpu") == VALUES.t().numpy()).all()


def test_numpy_alone_cannot_read_the_device():
    with pytest.raises((BufferError, RuntimeError), match=r"[dD]evice"):
        np.from_dlpack(VALUES.acme())


def test_numpy_arrays_go_to_the_device():
    array = VALUES.numpy()
    for made in (
        torch.from_dlpack(array, device="acme"),
        torch.asarray(array, device="acme"),
        torch.tensor(array, device="acme"),
        torch.from_numpy(array).acme(),
    ):
        assert made.is_acme and torch.equal(made.cpu(), VALUES)


@pytest.mark.parametrize("call", [lambda x: x.numpy(), np.asarray, lambda x: np.add(x, 1)])
def test_implicit_conversions_say_what_to_do(call):
    with pytest.raises(TypeError, match=r"acme:0.*Tensor\.cpu\(\)"):
        call(VALUES.acme())


def test_forced_conversion():
    x = VALUES.acme().requires_grad_()
    assert (x.numpy(force=True) == VALUES.numpy()).all()
    assert VALUES.acme().tolist() == VALUES.tolist()


def test_it_is_no_cuda_array():
    assert not hasattr(VALUES.acme(), "__cuda_array_interface__")


def test_pinned_memory_is_the_cpus():
    pinned = VALUES.pin_memory()
    assert pinned.__dlpack_device__() == (DLDeviceType.kDLCPU, 0)
    assert (np.from_dlpack(pinned) == VALUES.numpy()).all()
