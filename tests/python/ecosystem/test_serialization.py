"""torch.save and torch.load: sizes that files claim, sparse layouts, files without the backend."""

import copy
import io
import pickle
from collections import OrderedDict

import pytest
import torch

pytestmark = [pytest.mark.turns_on_memory, pytest.mark.turns_on_groups]

LAST = torch.acme.device_count() - 1
VALUES = torch.arange(12.0).reshape(3, 4)


def saved(value, **options) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return file


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.device == b.device and a.stride() == b.stride() and torch.equal(a.cpu(), b.cpu())


# ---- torch.save, torch.load


def test_map_location_is_told_the_device(two_devices):
    seen = []
    torch.load(
        saved([VALUES.acme(0), VALUES.acme(1), VALUES]),
        map_location=lambda storage, location: seen.append((storage.device.type, location)),
    )
    assert seen == [("cpu", "acme:0"), ("cpu", "acme:1"), ("cpu", "cpu")]


class _Claim:
    """Saved as a tensor of more elements than its storage has."""

    def __init__(self, storage) -> None:
        self.storage = storage

    def __reduce__(self):
        arguments = (self.storage, 0, (1 << 20,), (1,), False, OrderedDict())
        return torch._utils._rebuild_tensor_v2, arguments


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("saved_on", ["acme", "cpu"])
@pytest.mark.parametrize(
    ("zipped", "options"),
    [
        (True, {"map_location": "acme"}),
        (True, {"map_location": torch.device(f"acme:{LAST}")}),
        (True, {"map_location": "acme", "mmap": True}),
        (True, {}),
        (False, {"map_location": "acme"}),
        (False, {}),
    ],
    ids=str,
)
def test_a_tensor_with_more_bytes_than_its_record_is_refused(
    weights_only, saved_on, zipped, options, tmp_path
):
    path = tmp_path / "x.pt"
    values = torch.ones(4, device=saved_on)
    claim = _Claim(values._typed_storage())  # of 16 bytes
    torch.save(claim, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(RuntimeError, match="not resizable" if zipped else "wrong byte size"):
        torch.load(path, weights_only=weights_only, **options)


def test_what_was_loaded_has_as_fixed_a_size_as_on_the_cpu():
    for zipped in (True, False):
        cpu, device = (
            torch.load(saved(VALUES.to(each), _use_new_zipfile_serialization=zipped))
            for each in ("cpu", "acme")
        )
        assert device.untyped_storage().resizable() == cpu.untyped_storage().resizable()
        assert torch.equal(device.add_(1).cpu(), VALUES + 1)


SPARSE = {
    torch.sparse_coo: {},
    torch.sparse_csr: {},
    torch.sparse_csc: {},
    torch.sparse_bsr: {"blocksize": (1, 2)},
    torch.sparse_bsc: {"blocksize": (1, 2)},
}
every_layout = pytest.mark.parametrize("layout", SPARSE, ids=str)


def sparse(layout, requires_grad=False) -> torch.Tensor:
    x = VALUES.acme().to_sparse(layout=layout, **SPARSE[layout])
    return x.requires_grad_(requires_grad)


@every_layout
@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("requires_grad", [True, False])
def test_sparse_tensors_are_kept(layout, zipped, weights_only, requires_grad):
    x = sparse(layout, requires_grad=requires_grad)
    file = saved([x, x], _use_new_zipfile_serialization=zipped)
    for where in (None, "cpu"):
        file.seek(0)
        y, again = torch.load(file, weights_only=weights_only, map_location=where)
        assert y is again and y.layout == layout and y.requires_grad == requires_grad
        assert y.is_leaf and y.device == torch.device(where or x.device)
        assert torch.equal(y.detach().to_dense().cpu(), VALUES)


@every_layout
def test_sparse_tensors_are_pickled_and_copied(layout):
    x = sparse(layout)
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert y.layout == layout and y.device == x.device
        assert torch.equal(y.to_dense().cpu(), VALUES)


def test_a_sparse_tensor_stays_coalesced_or_not():
    for x in (sparse(torch.sparse_coo), sparse(torch.sparse_coo).coalesce()):
        assert torch.load(saved(x)).is_coalesced() == x.is_coalesced()


class Sparse(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(sparse(torch.sparse_coo))
        self.weight.label = "kept"
        self.register_buffer("mask", sparse(torch.sparse_csr))


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")
def test_a_module_of_sparse_tensors_comes_back(zipped):
    module = Sparse()
    for value in (module, module.state_dict()):
        file = saved(value, _use_new_zipfile_serialization=zipped)
        back = torch.load(file, weights_only=False)
        members = back.state_dict() if isinstance(back, torch.nn.Module) else back
        for name, x in module.state_dict().items():
            assert members[name].device == x.device
            assert torch.equal(members[name].to_dense().cpu(), x.to_dense().cpu())
        if back is not members:
            assert isinstance(back.weight, torch.nn.Parameter) and back.weight.label == "kept"


# As Outback's files were before: a tensor of the CPU, and the device that it goes to.
def test_a_file_with_a_copy_on_the_cpu_is_still_read():
    class Written:
        def __reduce__(self):
            arguments = sparse(torch.sparse_coo).cpu(), torch.float32, "acme:0", True
            return torch._utils._rebuild_device_tensor_from_cpu_tensor, arguments

    y = torch.load(saved(Written()))
    assert y.is_sparse and str(y.device) == "acme:0" and y.requires_grad
    assert torch.equal(y.detach().to_dense().cpu(), VALUES)


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_sparse_tensors_are_read_without_the_backend(run_python, tmp_path, zipped):
    path = tmp_path / "x.pt"
    values = {str(layout): sparse(layout, requires_grad=True) for layout in SPARSE}
    torch.save(values, path, _use_new_zipfile_serialization=zipped)
    run_python(
        f"""
        import warnings
        import torch
        warnings.simplefilter("ignore")
        for name, x in torch.load({str(path)!r}, map_location="cpu").items():
            assert str(x.layout) == name and x.requires_grad and x.device.type == "cpu"
            assert x.detach().to_dense().sum().item() == 66
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


def test_a_checkpoint_without_the_backend_says_so(run_python, tmp_path):
    path = tmp_path / "x.pt"
    torch.save({"x": VALUES.acme()}, path)
    run_python(
        f"""
        import torch
        try:
            torch.load({str(path)!r})
        except RuntimeError as e:
            assert "acme" in str(e), e
        else:
            raise AssertionError("loaded")
        x = torch.load({str(path)!r}, map_location="cpu")["x"]
        assert x.device.type == "cpu" and x.sum().item() == 66
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


def test_a_file_is_written_through_pinned_memory():
    from torch.utils.serialization import config

    x = torch.randn(1000, device="acme")
    with config.patch({"save.use_pinned_memory_for_d2h": True}):
        file = saved({"x": x, "y": x[10:20]})
    back = torch.load(file)
    assert same(back["x"], x) and torch.equal(back["y"].cpu(), x[10:20].cpu())


def test_without_the_data():
    x = VALUES.acme()
    file = io.BytesIO()
    with torch.serialization.skip_data():
        torch.save(x, file)
    file.seek(0)
    assert torch.load(file).shape == x.shape
