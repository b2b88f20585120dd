"""Storages: bytes of the device, their size, their copies, and who shares them"""

from __future__ import annotations

import copy
import io
import itertools

import torch

from ..backend import Backend
from ..check import Skipped, check
from ..current import current_device, need_accelerator
from ..expect import equal, on, refused, same
from ..warned import warnings_are

STORAGE = "torch/storage.py: UntypedStorage"
MOVE = "torch/_utils.py: _to"
BASE = "torch/storage.py: _StorageBase"
CPU = torch.device("cpu")


def _place(backend: Backend) -> torch.device:
    """The device as tensors name it: the CPU has no index."""
    return CPU if backend.name == "cpu" else backend.device


def _bytes(backend: Backend, count: int = 8) -> torch.UntypedStorage:
    """A storage of the device with the bytes 1, 2, 3, ..."""
    values = torch.arange(1, count + 1, dtype=torch.uint8)
    return values.to(_place(backend), copy=True).untyped_storage()


def _holds(storage: torch.UntypedStorage, expected: list[int], what: str = "the storage") -> None:
    tensor = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
    equal(tensor.cpu().tolist(), expected, what)


@check(called_by=STORAGE, without="checkpoints and FSDP take the storage for the CPU's")
def a_storage_is_on_its_device(backend: Backend) -> None:
    """A tensor's storage is an UntypedStorage of the tensor's device, with its bytes."""
    place = _place(backend)
    tensor = torch.arange(6.0, device=place)
    storage = tensor.untyped_storage()
    equal(type(storage), torch.UntypedStorage, "its class")
    equal(storage.device, place, "its device")
    equal(storage.device, tensor.device, "its device and the tensor's")
    equal((storage.nbytes(), len(storage), storage.size()), (24, 24, 24), "its size")
    equal(storage.element_size(), 1, "the size of an element")
    if backend.name != "cpu":
        assert f"device={place}" in repr(storage), repr(storage)
    if backend.name != "cpu":
        equal(storage.get_device(), place.index, "get_device()")


@check(called_by=STORAGE, without="kernels get a null pointer")
def a_storage_has_an_address(backend: Backend) -> None:
    """data_ptr() of a storage is not zero, is that of the tensor on it, and of no other storage."""
    place = _place(backend)
    tensor = torch.ones(100, device=place)
    storage = tensor.untyped_storage()
    assert storage.data_ptr() != 0, "data_ptr() is 0"
    equal(tensor.data_ptr(), storage.data_ptr(), "the tensor's address")
    equal(tensor[3:].data_ptr(), storage.data_ptr() + 12, "the address of a slice")
    equal(tensor[3:].untyped_storage().data_ptr(), storage.data_ptr(), "of the slice's storage")
    others = [torch.ones(100, device=place) for _ in range(8)]
    spans = sorted((t.data_ptr(), t.data_ptr() + t.nbytes) for t in [tensor, *others])
    for (_, end), (begin, _) in itertools.pairwise(spans):
        assert end <= begin, "two tensors share memory"


@check(called_by=STORAGE, without="a tensor of no elements raises")
def an_empty_storage_is_on_its_device(backend: Backend) -> None:
    """A tensor of no elements has a storage of its device with no bytes."""
    place = _place(backend)
    for tensor in (torch.empty(0, device=place), torch.ones(3, 0, device=place)):
        on(tensor, place)
        equal(tensor.untyped_storage().nbytes(), 0, "nbytes()")
        equal(tensor.untyped_storage().device, place, "the storage's device")
        equal(tensor.cpu().tolist(), torch.empty(tensor.shape).tolist(), "its values")


@check(
    called_by=STORAGE, without="storages cannot be made without a tensor, as torch.load makes them"
)
def storages_can_be_made(backend: Backend) -> None:
    """UntypedStorage(size, device=...) has that size on that device, and takes bytes."""
    place = _place(backend)
    for size in (0, 1, 7, 4096):
        storage = torch.UntypedStorage(size, device=place)
        equal((storage.device, storage.nbytes()), (place, size), "its device and size")
    equal(torch.UntypedStorage([1, 2, 3], device=place).tolist(), [1, 2, 3], "one of a list")
    equal(torch.UntypedStorage(device=place).nbytes(), 0, "the size of one of nothing")
    storage = torch.UntypedStorage(5, device=place)
    storage.copy_(torch.tensor([5, 4, 3, 2, 1], dtype=torch.uint8).untyped_storage())
    _holds(storage, [5, 4, 3, 2, 1])


@check(called_by=STORAGE, without="checks of a checkpoint's bytes read nonsense")
def bytes_can_be_read_and_written(backend: Backend) -> None:
    """storage[i] reads and writes single bytes, counted from both ends; others are refused."""
    storage = _bytes(backend)
    equal([storage[i] for i in (0, 3, 7, -1, -8)], [1, 4, 8, 8, 1], "the bytes")
    for index in (8, -9, 100):
        with refused(IndexError, RuntimeError, what=f"storage[{index}]"):
            storage[index]
    storage[2] = 200
    storage[7] = 100
    _holds(storage, [1, 2, 200, 4, 5, 6, 7, 100])
    with refused(IndexError, RuntimeError, what="storage[8] = 1"):
        storage[8] = 1
    equal(storage.tolist(), [1, 2, 200, 4, 5, 6, 7, 100], "tolist()")


@check(called_by=STORAGE, without="a slice of a storage is a copy, or of other bytes")
def slices_share_memory(backend: Backend) -> None:
    """storage[a:b] has those bytes of the device's memory, which both see change."""
    storage = _bytes(backend)
    part = storage[2:5]
    equal((part.device, part.nbytes()), (_place(backend), 3), "its device and size")
    _holds(part, [3, 4, 5], "the slice")
    part.fill_(9)
    _holds(storage, [1, 2, 9, 9, 9, 6, 7, 8])
    storage.fill_(4)
    _holds(part, [4, 4, 4], "the slice")


@check(called_by=STORAGE, without="a storage cannot be cleared")
def storages_can_be_filled(backend: Backend) -> None:
    """fill_() sets every byte, and gives the storage back."""
    storage = _bytes(backend)
    assert storage.fill_(7) is storage, "fill_() gives another storage"
    _holds(storage, [7] * 8)


@check(called_by=BASE, without="a copied checkpoint changes with its original")
def copies_have_memory_of_their_own(backend: Backend) -> None:
    """clone(), copies and deep copies are on the device, with the same bytes at another address."""
    storage = _bytes(backend)
    copies = {
        "clone()": storage.clone(),
        "copy.copy()": copy.copy(storage),
        "copy.deepcopy()": copy.deepcopy(storage),
    }
    for name, other in copies.items():
        equal(other.device, _place(backend), f"the device of {name}")
        _holds(other, list(range(1, 9)), name)
        assert other.data_ptr() != storage.data_ptr(), f"{name} shares the memory"
    storage.fill_(0)
    for name, other in copies.items():
        _holds(other, list(range(1, 9)), f"{name} after a change of the original")


@check(called_by=MOVE, without="torch.load to the device, and storage.cpu(), give wrong bytes")
def storages_move_between_devices(backend: Backend) -> None:
    """cpu() and to() carry the bytes to the CPU and back, and give itself where it is already."""
    place, storage = _place(backend), _bytes(backend)
    here = storage.cpu()
    equal(here.device, CPU, "the device of cpu()")
    equal(here.tolist(), list(range(1, 9)), "its bytes")
    there = here.to(device=place)
    equal(there.device, place, "the device of to()")
    _holds(there, list(range(1, 9)))
    assert storage.to(device=place) is storage, "to() its own device is a copy"
    if place != CPU:
        here.fill_(0)
        _holds(there, list(range(1, 9)), "the moved storage after a change of the original")


@check(called_by=BASE, without="an optimizer's state is loaded over torn bytes")
def bytes_are_copied_in_place(backend: Backend) -> None:
    """copy_() takes the bytes of a storage of the same size of the CPU or the device, and no
    other size."""
    for source in (_bytes(backend), _bytes(backend).cpu()):
        storage = torch.UntypedStorage(8, device=_place(backend)).fill_(0)
        assert storage.copy_(source) is storage, "copy_() gives another storage"
        _holds(storage, list(range(1, 9)))
    here = torch.UntypedStorage(8).fill_(0)
    here.copy_(_bytes(backend))
    equal(here.tolist(), list(range(1, 9)), "the CPU's storage")
    with refused(RuntimeError, what="copy_() of another size"):
        here.copy_(_bytes(backend, 5))


@check(
    called_by="torch/distributed/fsdp/_fully_shard/_fsdp_param.py: alloc_storage",
    without="FSDP cannot free and fetch a layer's parameters",
)
def storages_can_be_resized(backend: Backend) -> None:
    """resize_() changes the number of bytes, and keeps those that fit."""
    storage = _bytes(backend)
    for size in (100, 8, 3, 0):
        storage.resize_(size)
        equal(storage.nbytes(), size, "nbytes()")
        if size:
            expected = [1, 2, 3, 4, 5, 6, 7, 8][: min(size, 8)]
            tensor = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
            equal(tensor[:8].cpu().tolist(), expected, f"the bytes after resize_({size})")
    storage.resize_(4).fill_(1)
    _holds(storage, [1, 1, 1, 1], "a storage that was empty before")


@check(called_by=STORAGE, without="tensors on a storage that grew read freed memory")
def tensors_see_a_resized_storage(backend: Backend) -> None:
    """A tensor on a storage that has grown reads and writes the new memory."""
    tensor = torch.arange(4, dtype=torch.uint8, device=_place(backend))
    storage = tensor.untyped_storage()
    for size in (1_000_000, 10, 3_000_000):
        storage.resize_(size)
        equal(tensor.data_ptr(), storage.data_ptr(), "the tensor's address")
        same(tensor, torch.arange(4, dtype=torch.uint8), _place(backend))
    tensor.add_(1)
    equal([storage[i] for i in range(4)], [1, 2, 3, 4], "the storage's bytes")


@check(called_by=BASE, without="tied weights come apart")
def tensors_can_share_a_storage(backend: Backend) -> None:
    """set_() puts a tensor onto a storage, at an offset, with a shape and strides of its own."""
    place = _place(backend)
    base = torch.arange(12.0, device=place)
    other = torch.empty(0, device=place)
    other.set_(base.untyped_storage(), 2, (2, 3), (3, 1))
    same(other, torch.arange(2.0, 8.0).view(2, 3), place)
    equal(other.untyped_storage().data_ptr(), base.untyped_storage().data_ptr(), "the storage")
    other.fill_(0)
    same(base, torch.tensor([0.0, 1, 0, 0, 0, 0, 0, 0, 8, 9, 10, 11]), place, "the other tensor")
    whole = torch.empty(0, device=place).set_(base.untyped_storage())
    same(whole, base.cpu(), place, "a tensor of the whole storage")
    aliased = torch.empty(0, device=place).set_(base)
    equal(aliased.data_ptr(), base.data_ptr(), "the address of a tensor set to another")


@check(called_by=BASE, without="a tensor reads behind its memory")
def storages_that_do_not_fit_are_refused(backend: Backend) -> None:
    """set_() grows a storage or refuses; as_strided() behind the end is refused."""
    place = _place(backend)
    base = torch.arange(4.0, device=place)
    with refused(RuntimeError, what="as_strided() behind the end"):
        base.as_strided((5,), (1,))
    with refused(RuntimeError, what="as_strided() with a negative offset"):
        base.as_strided((2,), (1,), -1)
    grown = torch.empty(0, device=place).set_(base.untyped_storage(), 0, (6,), (1,))
    assert base.untyped_storage().nbytes() >= 24, "the storage did not grow for its tensor"
    same(grown[:4], torch.arange(4.0), place)


@check(
    called_by="torch/_utils.py: _rebuild_tensor",
    without="a tensor of one device is put on the memory of another",
)
def storages_of_other_devices_are_refused(backend: Backend) -> None:
    """set_() of a storage of another type of device is refused, both ways."""
    need_accelerator(backend)
    with refused(RuntimeError, what="a CPU's tensor on the device's storage"):
        torch.ones(3).set_(_bytes(backend))
    with refused(RuntimeError, what="a device's tensor on the CPU's storage"):
        torch.ones(3, device=backend.device).set_(torch.UntypedStorage(12))


@check(called_by=STORAGE, without="bytes of a file cannot be brought to the device")
def bytes_of_a_buffer_arrive(backend: Backend) -> None:
    """A storage from a buffer of Python's, moved to the device, has the buffer's bytes."""
    buffer = bytearray(b"\x01\x02\x03\xff")
    here = torch.UntypedStorage.from_buffer(buffer, dtype=torch.uint8)
    _holds(here.to(device=_place(backend)), [1, 2, 3, 255])


@check(called_by=STORAGE, without="programs take device memory for pinned memory of the host")
def device_memory_is_not_pinned(backend: Backend) -> None:
    """A storage of the device is not pinned, and refuses to be."""
    need_accelerator(backend)
    storage = _bytes(backend)
    equal(storage.is_pinned(), False, "is_pinned()")
    with refused(RuntimeError, TypeError, what="pin_memory()"):
        storage.pin_memory()


@check(
    called_by="torch/storage.py: TypedStorage",
    without="checkpoints of older programs cannot be read",
)
def typed_storages_have_values(backend: Backend) -> None:
    """A TypedStorage of the device has its dtype, its values, and the tensor's memory."""
    place = _place(backend)
    tensor = torch.tensor([1.5, 2.5, 3.5], device=place)
    with warnings_are("ignore"):
        storage = tensor.storage()
        equal((storage.dtype, storage.device, len(storage)), (torch.float32, place, 3), "its look")
        equal(storage.tolist(), [1.5, 2.5, 3.5], "its values")
        equal(storage[1], 2.5, "storage[1]")
        storage[1] = 7.0
        same(tensor, torch.tensor([1.5, 7.0, 3.5]), place, "the tensor")
        equal(storage.data_ptr(), tensor.data_ptr(), "its address")
        equal(storage.cpu().tolist(), [1.5, 7.0, 3.5], "its copy on the CPU")
        equal(storage.half().tolist(), [1.5, 7.0, 3.5], "its values in float16")
        for dtype in ("float", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool"):
            other = getattr(tensor.untyped_storage(), dtype)()
            equal((other.device, len(other)), (place, 12), f"the device and size of {dtype}()")
        equal(storage.fill_(3).tolist(), [3.0] * 3, "what it is filled with")
        clone = storage.clone()
        clone.resize_(2)
        equal((clone.tolist(), len(storage)), ([3.0] * 2, 3), "a clone that was resized")
        of_list = torch.TypedStorage([1, 2], dtype=torch.int32, device=place)
        equal(of_list.tolist(), [1, 2], "one of a list")
        made = torch.TypedStorage(4, dtype=torch.int64, device=place)
        equal((made.nbytes(), made.device), (32, place), "the size and device of a new one")


@check(called_by=BASE, without="checkpoints written on another machine are garbled")
def bytes_can_be_swapped(backend: Backend) -> None:
    """A moved storage whose bytes were swapped on the CPU has the other order of bytes."""
    here = torch.tensor([1, 256], dtype=torch.int16).untyped_storage()
    here.byteswap(torch.int16)
    there = here.to(device=_place(backend))
    tensor = torch.empty(0, dtype=torch.int16, device=_place(backend)).set_(there)
    equal(tensor.cpu().tolist(), [256, 1], "the values")


@check(
    called_by="torch/storage.py: _load_from_bytes",
    without="a pickled storage is the CPU's, or empty",
)
def storages_can_be_saved(backend: Backend) -> None:
    """torch.save and torch.load keep a storage's device and bytes."""
    file = io.BytesIO()
    torch.save(_bytes(backend), file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    equal(loaded.device, _place(backend), "the device")
    _holds(loaded, list(range(1, 9)))


@check(called_by=STORAGE, without="tensors are taken for each other's views")
def storages_know_their_tensors(backend: Backend) -> None:
    """Two tensors have one storage only where they share memory."""
    place = _place(backend)
    tensor = torch.ones(4, device=place)
    other = torch.ones(4, device=place)
    assert tensor.is_set_to(tensor.view(4)), "a view is not set to its base"
    assert not tensor.is_set_to(other), "two tensors are set to each other"
    ours, views = tensor.untyped_storage(), tensor[1:].untyped_storage()
    equal(ours._cdata, views._cdata, "the storage of a view")
    assert ours._cdata != other.untyped_storage()._cdata, "two tensors have one storage"
    equal(tensor.detach().untyped_storage()._cdata, ours._cdata, "the storage of a detached one")


@check(called_by=MOVE, without="storages of the second device arrive on the first")
def storages_of_another_device_stay_there(backend: Backend) -> None:
    """Storages are made, filled, copied, resized and read on the device that is not current."""
    need_accelerator(backend)
    other = backend.other_device
    with current_device(backend, backend.device):
        storage = torch.UntypedStorage(4, device=other)
        storage.fill_(3)
        for name, found in {
            "a new one": storage,
            "clone()": storage.clone(),
            "resize_()": storage.clone().resize_(4),
            "a slice": storage[0:4],
            "to()": storage.cpu().to(device=other),
            "a copy over from the other device": torch.UntypedStorage(4, device=other).copy_(
                torch.UntypedStorage(4, device=backend.device).fill_(3)
            ),
        }.items():
            equal(found.device, other, f"the device of {name}")
            equal(found.tolist(), [3, 3, 3, 3], f"the bytes of {name}")
        equal(torch.accelerator.current_device_index(), backend.device.index, "the device")


@check(called_by=BASE, without="a lazy copy changes with its original")
def lazy_clones_part_when_written(backend: Backend) -> None:
    """torch._lazy_clone() shares memory until one of the two is written to."""
    if not hasattr(torch, "_lazy_clone"):
        raise Skipped("this torch has no torch._lazy_clone")
    place = _place(backend)
    tensor = torch.arange(4.0, device=place)
    lazy = torch._lazy_clone(tensor)
    on(lazy, place)
    tensor.add_(10)
    same(lazy, torch.arange(4.0), place, "the lazy clone after a change of its original")
    same(tensor, torch.arange(4.0) + 10, place, "the original")
