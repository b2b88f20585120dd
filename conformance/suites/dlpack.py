"""DLPack and NumPy: the device's memory in other libraries, and theirs in it"""

from __future__ import annotations

import gc
import importlib.util

import torch
from torch.utils.dlpack import DLDeviceType, from_dlpack, to_dlpack

from ..backend import Backend
from ..check import Skipped, Unsupported, check
from ..current import current_device, need_accelerator
from ..expect import equal, on, refused, same

DEVICE = "torch/_tensor.py: Tensor.__dlpack_device__"
EXPORT = "torch/_tensor.py: Tensor.__dlpack__"
IMPORT = "torch/utils/dlpack.py: from_dlpack"
CAPSULE = "torch/include/ATen/DLConvertor.h: toDLPack"
ARRAY = "torch/_tensor.py: Tensor.__array__"
CPU = torch.device("cpu")


def _place(backend: Backend) -> torch.device:
    """The device as tensors name it: the CPU has no index."""
    return CPU if backend.name == "cpu" else backend.device


def _dlpack_device(tensor: torch.Tensor) -> tuple[int, int]:
    """The tensor's device in DLPack's terms.

    PyTorch's own method refuses every PrivateUse1 device, unless the backend mends it.
    """
    try:
        kind, index = tensor.__dlpack_device__()
    except ValueError as error:
        raise Unsupported(f"Tensor.__dlpack_device__ says: {error}") from error
    return int(kind), index


@check(called_by=DEVICE, without="torch.from_dlpack raises for every tensor of the device")
def the_device_is_told(backend: Backend) -> None:
    """__dlpack_device__() is DLPack's type for extension devices, with the tensor's index."""
    kind, index = _dlpack_device(torch.ones(2, device=_place(backend)))
    if backend.name == "cpu":
        equal((kind, index), (1, 0), "the CPU's device")
        return
    need_accelerator(backend)
    assert kind != 1, "the device says that it is the CPU"
    if torch._C._dispatch_key_for_device(backend.name) == "PrivateUse1":
        equal(kind, int(DLDeviceType.kDLExtDev), "the type")
    equal(index, backend.device.index, "the index")
    last = torch.device(backend.name, backend.count - 1)
    equal(_dlpack_device(torch.ones(2, device=last))[1], last.index, "the index of another")


@check(called_by=IMPORT, without="memory is copied where it should be shared")
def memory_is_shared(backend: Backend) -> None:
    """torch.from_dlpack() of a tensor has its device, its values and its very memory."""
    place = _place(backend)
    tensor = torch.arange(6.0, device=place).view(2, 3)
    _dlpack_device(tensor)
    found = torch.from_dlpack(tensor)
    same(found, torch.arange(6.0).view(2, 3), place)
    equal(found.data_ptr(), tensor.data_ptr(), "the address")
    found[0, 0] = 9.0
    equal(tensor[0, 0].item(), 9.0, "what the original sees of a change")
    tensor.fill_(3.0)
    same(found, torch.full((2, 3), 3.0), place, "what the other sees of a change")


@check(called_by=CAPSULE, without="libraries that pass capsules cannot take the device's tensors")
def capsules_go_round(backend: Backend) -> None:
    """A capsule gives back a tensor of the device with the same memory, once."""
    place = _place(backend)
    tensor = torch.arange(6.0, device=place)
    capsule = to_dlpack(tensor)
    found = from_dlpack(capsule)
    same(found, torch.arange(6.0), place)
    equal(found.data_ptr(), tensor.data_ptr(), "the address")
    with refused(RuntimeError, ValueError, what="a capsule that has been used"):
        from_dlpack(capsule)


@check(called_by=CAPSULE, without="another library reads freed memory")
def the_consumer_keeps_memory(backend: Backend) -> None:
    """What came by DLPack keeps the memory when the tensor it came from is gone."""
    place = _place(backend)
    found = from_dlpack(to_dlpack(torch.arange(100.0, device=place)))
    gc.collect(0)
    junk = [torch.full((100,), -9.0, device=place) for _ in range(8)]
    same(found, torch.arange(100.0), place)
    capsule = to_dlpack(torch.arange(50.0, device=place))
    junk += [torch.full((50,), -9.0, device=place) for _ in range(8)]
    same(from_dlpack(capsule), torch.arange(50.0), place, "what a capsule kept")


@check(called_by=CAPSULE, without="a capsule that nobody takes keeps its memory for good")
def an_unused_capsule_frees_memory(backend: Backend) -> None:
    """A capsule that is dropped gives its memory back."""
    need_accelerator(backend)
    torch.ones(1, device=backend.device)
    before = torch.accelerator.memory_allocated(backend.device)
    capsule = to_dlpack(torch.ones(100_000, device=backend.device))
    assert torch.accelerator.memory_allocated(backend.device) > before, "nothing is allocated"
    del capsule
    equal(torch.accelerator.memory_allocated(backend.device), before, "what is allocated")


@check(called_by=CAPSULE, without="matrices arrive transposed")
def strides_are_kept(backend: Backend) -> None:
    """Transposed, sliced, expanded and empty tensors arrive with their strides and values."""
    place = _place(backend)
    base = torch.arange(24.0, device=place).view(2, 3, 4)
    for name, tensor in {
        "transposed": base.transpose(0, 2),
        "sliced": base[:, 1:, ::2],
        "expanded": base[:1].expand(3, 3, 4),
        "a single value": base[0, 0, 3],
        "empty": base[:0],
    }.items():
        found = from_dlpack(to_dlpack(tensor))
        same(found, tensor.cpu(), place, name)
        if tensor.numel() > 1:
            equal(found.stride(), tensor.stride(), f"the strides, {name}")


@check(called_by=CAPSULE, without="values arrive as another type")
def dtypes_are_kept(backend: Backend) -> None:
    """Each dtype of DLPack arrives as itself."""
    place = _place(backend)
    dtypes = (
        torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int16,
        torch.int32, torch.int64, torch.uint8, torch.bool, torch.complex64, torch.complex128,
    )  # fmt: skip
    for dtype in backend.having(dtypes):
        expected = torch.arange(5).to(dtype)
        same(from_dlpack(to_dlpack(expected.to(place))), expected, place, f"{dtype}")


@check(called_by=EXPORT, without="consumers that name a stream are refused")
def streams_are_taken(backend: Backend) -> None:
    """__dlpack__() takes no stream and None, and gives what is already computed."""
    place = _place(backend)
    tensor = torch.arange(1000.0, device=place).cumsum(0)
    for options in ({}, {"stream": None}):
        found = from_dlpack(tensor.__dlpack__(**options))
        same(found, torch.arange(1000.0).cumsum(0), place, f"with {options}")


@check(called_by=EXPORT, without="new consumers get the old structure")
def versions_are_negotiated(backend: Backend) -> None:
    """__dlpack__(max_version=...) gives a versioned capsule to those who can read one."""
    place = _place(backend)
    tensor = torch.arange(3.0, device=place)
    _dlpack_device(tensor)
    plain, versioned = tensor.__dlpack__(), tensor.__dlpack__(max_version=(1, 0))
    assert '"dltensor"' in repr(plain), f"without a version it is {plain!r}"
    assert '"dltensor_versioned"' in repr(versioned), f"with one it is {versioned!r}"
    for capsule in (plain, versioned):
        same(from_dlpack(capsule), torch.arange(3.0), place)


@check(called_by=EXPORT, without="a consumer that asked for a copy changes the original")
def copies_are_made_when_asked_for(backend: Backend) -> None:
    """from_dlpack(copy=True) has memory of its own, copy=False the tensor's."""
    place = _place(backend)
    tensor = torch.arange(3.0, device=place)
    _dlpack_device(tensor)
    copied = torch.from_dlpack(tensor, copy=True)
    assert copied.data_ptr() != tensor.data_ptr(), "the copy shares the memory"
    tensor.add_(1)
    same(copied, torch.arange(3.0), place, "the copy after a change of the original")
    equal(torch.from_dlpack(tensor, copy=False).data_ptr(), tensor.data_ptr(), "the address")
    if place != CPU:
        with refused(ValueError, what="the CPU without a copy"):
            torch.from_dlpack(tensor, device="cpu", copy=False)


@check(called_by=EXPORT, without="a tensor of the device is taken for the CPU's memory")
def the_cpu_can_take_a_copy(backend: Backend) -> None:
    """from_dlpack(device=...) copies to the CPU, from it to the device, and to another device."""
    need_accelerator(backend)
    tensor = torch.arange(3.0, device=backend.device)
    _dlpack_device(tensor)
    same(torch.from_dlpack(tensor, device="cpu"), torch.arange(3.0), CPU, "on the CPU")
    last = torch.device(backend.name, backend.count - 1)
    for source, target in ((torch.arange(3.0), backend.device), (tensor, last)):
        found = torch.from_dlpack(source, device=str(target))
        same(found, torch.arange(3.0), target, f"on {target}")


@check(called_by=EXPORT, without="autograd is bypassed, or conjugated values are plain ones")
def what_dlpack_cannot_say_is_refused(backend: Backend) -> None:
    """Tensors with a gradient, a conjugation or another layout are refused."""
    place = _place(backend)
    for name, tensor in {
        "with a gradient": torch.ones(2, device=place, requires_grad=True),
        "conjugated": torch.ones(2, dtype=torch.complex64, device=place).conj(),
        "sparse": torch.eye(2).to_sparse().to(place),
    }.items():
        with refused(BufferError, RuntimeError, what=f"a tensor that is {name}"):
            tensor.__dlpack__()


@check(called_by=IMPORT, without="tensors of the second device are taken for the first's")
def another_device_is_kept(backend: Backend) -> None:
    """A tensor of the device that is not current arrives there."""
    need_accelerator(backend)
    other = backend.other_device
    with current_device(backend, backend.device):
        tensor = torch.arange(3.0, device=other)
        same(from_dlpack(to_dlpack(tensor)), torch.arange(3.0), other, "by a capsule")
        _dlpack_device(tensor)
        same(torch.from_dlpack(tensor), torch.arange(3.0), other, "by the tensor")
        equal(torch.accelerator.current_device_index(), backend.device.index, "the device")


@check(called_by=DEVICE, without="memory of the host is taken for a device's")
def the_cpus_tensors_stay_the_cpus(backend: Backend) -> None:
    """With the backend there, tensors of the CPU say that they are the CPU's, and are shared."""
    equal(_dlpack_device(torch.ones(2)), (1, 0), "__dlpack_device__() of the CPU")
    tensor = torch.arange(3.0)
    same(torch.from_dlpack(tensor), torch.arange(3.0), CPU)
    equal(torch.from_dlpack(tensor).data_ptr(), tensor.data_ptr(), "the address")


# ---- NumPy and Python's own


@check(called_by=ARRAY, without="a program hangs or crashes on memory that the CPU cannot read")
def numpy_is_refused(backend: Backend) -> None:
    """numpy() and numpy.asarray() of a tensor of the device are refused, saying what to do."""
    need_accelerator(backend)
    if importlib.util.find_spec("numpy") is None:
        raise Skipped("NumPy is not installed")
    import numpy as np

    tensor = torch.arange(3.0, device=backend.device)
    for name, call in {
        "numpy()": tensor.numpy,
        "__array__()": tensor.__array__,
        "numpy.asarray()": lambda: np.asarray(tensor),
        "numpy.array()": lambda: np.array(tensor),
    }.items():
        with refused(TypeError, naming=("cpu",), what=name):
            call()
    equal(tensor.numpy(force=True).tolist(), [0.0, 1.0, 2.0], "numpy(force=True)")
    equal(tensor.cpu().numpy().tolist(), [0.0, 1.0, 2.0], "cpu().numpy()")


@check(called_by="torch/_tensor.py: Tensor.__array__", without="data sets of NumPy cannot be used")
def numpys_arrays_arrive(backend: Backend) -> None:
    """Arrays of NumPy become tensors of the device by tensor(), as_tensor() and from_numpy()."""
    if importlib.util.find_spec("numpy") is None:
        raise Skipped("NumPy is not installed")
    import numpy as np

    place = _place(backend)
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = torch.arange(6.0).view(2, 3)
    for name, found in {
        "tensor()": torch.tensor(array, device=place),
        "as_tensor()": torch.as_tensor(array, device=place),
        "asarray()": torch.asarray(array, device=place),
        "from_numpy()": torch.from_numpy(array).to(place),
        "from_dlpack()": torch.from_dlpack(array, device=str(place)),
        "of a transposed one": torch.as_tensor(array.T, device=place).t(),
        "of scalars": torch.tensor([np.float32(i) for i in range(6)], device=place).view(2, 3),
    }.items():
        same(found, expected, place, name)


@check(
    called_by="torch/_tensor.py: Tensor.__cuda_array_interface__",
    without="libraries for CUDA read memory that is not CUDA's",
)
def it_is_no_array_of_cuda(backend: Backend) -> None:
    """A tensor of the device has no __cuda_array_interface__."""
    tensor = torch.ones(2, device=_place(backend))
    if backend.name == "cuda":
        raise Skipped("CUDA's tensors have it")
    equal(hasattr(tensor, "__cuda_array_interface__"), False, "hasattr()")


@check(called_by="torch/_tensor.py: Tensor.__iter__", without="tensors cannot be looped over")
def python_can_read_tensors(backend: Backend) -> None:
    """tolist(), item(), iteration, len(), in, bool(), int(), float() and slices read the device."""
    place = _place(backend)
    tensor = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=place)
    equal(tensor.tolist(), [[1.0, 2.0], [3.0, 4.0]], "tolist()")
    equal([row.tolist() for row in tensor], [[1.0, 2.0], [3.0, 4.0]], "iteration")
    equal(len(tensor), 2, "len()")
    equal((3.0 in tensor, 9.0 in tensor), (True, False), "in")
    equal((float(tensor[0, 1]), int(tensor[1, 1]), bool(tensor[0, 0])), (2.0, 4, True), "values")
    equal(complex(tensor[1, 0]), 3 + 0j, "complex()")
    equal([0, 10, 20, 30][torch.tensor(2, device=place)], 20, "an index of a list")
    on(tensor[1], place)
    equal(f"{tensor[0, 1]:.1f}", "2.0", "a formatted value")
