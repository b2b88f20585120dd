"""What UntypedStorage does in the host's memory, in files and between processes."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory


def storage(*values: int, device: str = "acme") -> torch.UntypedStorage:
    return torch.tensor(values, dtype=torch.uint8, device=device).untyped_storage()


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


def test_new_shared_memory_is_the_cpus():
    assert torch.UntypedStorage._new_shared(4).device.type == "cpu"
