"""UntypedStorage on the device, in all its methods."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory

LAST = torch.acme.device_count() - 1


def storage(*values: int, device: str = "acme") -> torch.UntypedStorage:
    return torch.tensor(values, dtype=torch.uint8, device=device).untyped_storage()


def content(of: torch.UntypedStorage) -> list[int]:
    return torch.empty(0, dtype=torch.uint8, device=of.device).set_(of).tolist()


def test_facts():
    it = storage(1, 2, 3)
    assert it.device == torch.device("acme:0") and it.is_acme
    assert it.nbytes() == it.size() == len(it) == 3 and it.element_size() == 1
    assert it.is_cuda is False and it.is_hpu is False and it.is_sparse is False
    assert it.resizable() and not it.is_pinned()
    assert it.get_device() == 0
    assert it.data_ptr() != 0 and it._cdata != 0
    assert "device=acme:0" in repr(it) and " 1\n 2\n 3" in repr(it)


@pytest.mark.parametrize("device", ["acme", f"acme:{LAST}"])
def test_made_on_the_device(device):
    it = torch.UntypedStorage(16, device=device)
    assert it.device == torch.empty(0, device=device).device and it.nbytes() == 16
    assert torch.UntypedStorage([1, 2, 3], device=device).tolist() == [1, 2, 3]
    assert torch.UntypedStorage(0, device=device).nbytes() == 0
    assert torch.UntypedStorage(device=device).nbytes() == 0


def test_elements():
    it = storage(1, 2, 3)
    assert it.tolist() == [1, 2, 3] and list(it) == [1, 2, 3]
    assert it[1] == 2 and it[-1] == 3
    it[1] = 7
    assert it.tolist() == [1, 7, 3]
    with pytest.raises(IndexError):
        it[3]


def test_fill():
    it = torch.UntypedStorage(5, device="acme")
    assert it.fill_(9) is it and content(it) == [9] * 5


def test_copies():
    it = storage(1, 2, 3)
    other = it.clone()
    assert other.device == it.device and other.data_ptr() != it.data_ptr()
    assert content(other) == [1, 2, 3]
    assert other.copy_(storage(4, 5, 6, device="cpu")) is other and content(other) == [4, 5, 6]
    assert torch.UntypedStorage(3).copy_(other).tolist() == [4, 5, 6]
    far = torch.UntypedStorage(3, device=f"acme:{LAST}").copy_(other, non_blocking=True)
    torch.acme.synchronize(LAST)
    assert content(far) == [4, 5, 6]


def test_moves():
    it = storage(1, 2, 3)
    assert it.cpu().tolist() == [1, 2, 3] and it.cpu().device.type == "cpu"
    assert it.cpu().acme().tolist() == [1, 2, 3]
    assert it.acme(0).data_ptr() == it.data_ptr() and it.to(device="acme:0") is it
    assert it.to(device=f"acme:{LAST}").device == torch.device("acme", LAST)
    assert it.cpu().to(device=torch.device("acme")).is_acme


@pytest.mark.parametrize("size", [0, 1, 3, 8])
def test_resize_keeps_what_fits(size):
    it = storage(1, 2, 3)
    it.resize_(size)
    assert it.nbytes() == size and content(it)[:3] == [1, 2, 3][:size]


def test_a_freed_storage_can_be_filled_again():
    x = torch.arange(4.0, device="acme")
    x.untyped_storage().resize_(0)
    assert x.untyped_storage().data_ptr() == 0
    x.untyped_storage().resize_(16)
    assert torch.equal(x.fill_(2).cpu(), torch.full((4,), 2.0))


def test_views_of_one_storage():
    it = storage(*range(8))
    view = torch.tensor([], dtype=torch.int16, device="acme").set_(it, 1, (2,), (1,))
    assert view.cpu().view(torch.uint8).tolist() == [2, 3, 4, 5]
    assert view.untyped_storage().data_ptr() == it.data_ptr()


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize(
    "dtype", ["float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool"]
)
def test_conversions_keep_the_device(dtype):
    it = torch.arange(3, device="acme").to(torch.uint8).untyped_storage()
    other = getattr(it, dtype)()
    assert other.device == it.device and len(other) == 3


def test_byteswap():
    if not torch.acme.get_device_properties(0).is_host_addressable:
        pytest.skip("torch swaps bytes on the CPU, in place, without asking where they are")
    x = torch.tensor([1, 256], dtype=torch.int16)
    it = x.acme().untyped_storage()
    it.byteswap(torch.int16)
    assert it.tolist() == [0, 1, 1, 0]


def test_a_storage_of_the_device_cannot_be_pinned_and_need_not_be_shared():
    it = storage(1, 2, 3)
    with pytest.raises(TypeError, match="cannot pin"):
        it.pin_memory()
    before = it.data_ptr()
    assert it.share_memory_() is it and it.data_ptr() == before  # as on cuda: does nothing
    assert it.is_shared() == torch.ones(1, device="acme").is_shared()


def test_the_hosts_memory_is_pinned_for_the_device():
    it = torch.UntypedStorage([1, 2, 3])
    pinned = it.pin_memory("acme")
    assert pinned.is_pinned("acme") == torch.ones(1).pin_memory().is_pinned()
    assert not it.is_pinned("acme")
    assert pinned.tolist() == [1, 2, 3] and pinned.acme(non_blocking=True).tolist() == [1, 2, 3]


def test_memory_of_a_file_is_the_hosts(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes([1, 2, 3]))
    it = torch.UntypedStorage.from_file(str(path), shared=False, nbytes=3)
    assert it.acme().tolist() == [1, 2, 3]
    target = tmp_path / "y"
    with target.open("wb") as file:
        it.acme()._write_file(file, True, False, 1)
    assert target.read_bytes() == bytes([1, 2, 3])


def test_a_storage_knows_its_weak_references():
    x = torch.ones(3, device="acme")
    ref = torch.multiprocessing.reductions.StorageWeakRef(x.untyped_storage())
    assert not ref.expired()
    del x
    assert ref.expired()


def test_swapped_tensors():
    a, b = torch.zeros(2, device="acme"), torch.ones(3, device="acme")
    torch.utils.swap_tensors(a, b)
    assert a.tolist() == [1, 1, 1] and b.tolist() == [0, 0]


def test_new_shared_memory_is_the_cpus():
    assert torch.UntypedStorage._new_shared(4).device.type == "cpu"


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_typed_storages():
    it = torch.arange(3.0, device="acme").storage()
    assert it.device == torch.device("acme:0") and it.tolist() == [0, 1, 2]
    assert it.is_acme and it.cpu().tolist() == [0, 1, 2]
    it[1] = 5
    assert it[1] == 5 and it.fill_(3).tolist() == [3] * 3
    other = it.clone()
    other.resize_(2)
    assert other.tolist() == [3] * 2
    assert torch.TypedStorage([1, 2], dtype=torch.int32, device="acme").tolist() == [1, 2]
