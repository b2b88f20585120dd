"""torch.save and torch.load, pickle, copy and safetensors: what goes out comes back."""

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


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("index", sorted({0, LAST}))
def test_a_tensor_comes_back_where_it_was(weights_only, zipped, index):
    x = VALUES.to(f"acme:{index}")
    file = saved(x, _use_new_zipfile_serialization=zipped)
    assert same(torch.load(file, weights_only=weights_only), x)


@pytest.mark.parametrize(
    ("map_location", "where"),
    [
        (None, f"acme:{LAST}"),
        ("cpu", "cpu"),
        ("acme", "acme:0"),
        ("acme:0", "acme:0"),
        (torch.device("acme", 0), "acme:0"),
        (torch.device("acme"), "acme:0"),
        (torch.device("cpu"), "cpu"),
        ({f"acme:{LAST}": "cpu"}, "cpu"),
        ({f"acme:{LAST}": "acme:0"}, "acme:0"),
        ({"cpu": "acme:0"}, f"acme:{LAST}"),
        (lambda storage, location: storage, "cpu"),
        (lambda storage, location: storage.acme(0), "acme:0"),
        (lambda storage, location: None, f"acme:{LAST}"),
    ],
)
def test_map_location_takes_every_form(map_location, where):
    x = VALUES.to(f"acme:{LAST}")
    y = torch.load(saved({"x": x}), map_location=map_location)["x"]
    assert str(y.device) == where
    assert torch.equal(y.cpu(), VALUES)


def test_the_current_device_is_where_an_index_is_left_out(two_devices):
    file = saved(VALUES)
    with torch.acme.device(1):
        assert torch.load(file, map_location="acme").device == torch.device("acme:1")


def test_map_location_is_told_the_device(two_devices):
    seen = []
    torch.load(
        saved([VALUES.acme(0), VALUES.acme(1), VALUES]),
        map_location=lambda storage, location: seen.append((storage.device.type, location)),
    )
    assert seen == [("cpu", "acme:0"), ("cpu", "acme:1"), ("cpu", "cpu")]


def test_a_cpu_file_is_loaded_onto_the_device():
    y = torch.load(saved(VALUES), map_location="acme")
    assert y.is_acme and torch.equal(y.cpu(), VALUES)


def test_a_file_from_a_larger_machine_says_so():
    count = torch.acme.device_count()
    file = saved(VALUES.acme())
    with pytest.raises(RuntimeError, match=rf"device.*{count}|{count}.*device"):
        torch.load(file, map_location=f"acme:{count}")


@pytest.mark.parametrize("where", ["acme", "cpu"])
def test_a_mapped_file(tmp_path, where):
    path = tmp_path / "x.pt"
    torch.save({"x": VALUES, "y": VALUES.acme()}, path)
    loaded = torch.load(path, map_location=where, mmap=True)
    assert {str(t.device) for t in loaded.values()} == {"acme:0" if where == "acme" else "cpu"}
    assert all(torch.equal(t.cpu(), VALUES) for t in loaded.values())


def test_tensors_that_share_memory_still_do():
    x = VALUES.acme()
    views = [x, x[1], x.t(), x[:, ::2]]
    back = torch.load(saved(views))
    for a, b in zip(back, views, strict=True):
        assert same(a, b) and a.storage_offset() == b.storage_offset()
    back[0].zero_()
    assert all(t.abs().sum().item() == 0 for t in back)


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


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.float16, torch.int8, torch.bool, torch.complex64, torch.float64]
)
def test_dtypes_are_kept(dtype):
    x = torch.tensor([0, 1, 0, 1]).to(dtype).acme()
    y = torch.load(saved(x))
    assert y.dtype == dtype and same(x, y)


def test_conjugated_and_negated_views_are_kept():
    x = torch.tensor([1 + 2j, 3 - 4j]).acme()
    conjugated = torch.load(saved(x.conj()))
    negated = torch.load(saved(x.conj().imag))
    assert conjugated.is_conj() and negated.is_neg()
    assert torch.equal(conjugated.cpu(), x.cpu().conj())
    assert torch.equal(negated.cpu(), -x.cpu().imag)


@pytest.mark.parametrize("requires_grad", [True, False])
def test_parameters_and_attributes_are_kept(requires_grad):
    x = torch.nn.Parameter(VALUES.acme(), requires_grad=requires_grad)
    y = torch.load(saved(x))
    assert isinstance(y, torch.nn.Parameter) and y.requires_grad == requires_grad and same(x, y)


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


def test_fake_tensors_stand_for_a_file():
    file = saved({"x": VALUES.acme()})
    with torch._subclasses.FakeTensorMode():
        x = torch.load(file)["x"]
    assert x.device.type == "acme" and x.shape == VALUES.shape


# ---- Modules and optimizers


def net() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU())


def trained(optimizer_class=torch.optim.Adam):
    module = net().acme()
    optimizer = optimizer_class(module.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        module(torch.randn(8, 4, device="acme")).sum().backward()
        optimizer.step()
    return module, optimizer


def test_a_whole_module_comes_back():
    module, _ = trained()
    back = torch.load(saved(module), weights_only=False)
    x = torch.randn(8, 4, device="acme")
    torch.testing.assert_close(back.eval()(x), module.eval()(x))
    elsewhere = torch.load(saved(module), weights_only=False, map_location="cpu")
    assert {p.device.type for p in elsewhere.parameters()} == {"cpu"}


@pytest.mark.parametrize("assign", [True, False])
@pytest.mark.parametrize("source", ["cpu", "acme"])
@pytest.mark.parametrize("target", ["cpu", "acme", "meta"])
def test_a_state_goes_into_a_module(assign, source, target):
    if target == "meta" and not assign:
        pytest.skip("nothing can be copied into a meta tensor")
    state = {k: v.to(source) for k, v in trained()[0].state_dict().items()}
    module = net().to(target)
    module.load_state_dict(state, assign=assign)
    for name, tensor in module.state_dict().items():
        assert tensor.device.type == (source if assign else target)
        assert torch.equal(tensor.cpu(), state[name].cpu())
        if assign:
            assert tensor.data_ptr() == state[name].data_ptr()


@pytest.mark.parametrize("swap", [True, False])
def test_a_state_is_swapped_in(swap):
    state = trained()[0].state_dict()
    module = net().acme()
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(swap)
    try:
        module.load_state_dict(state)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)
    assert all(torch.equal(v.cpu(), state[k].cpu()) for k, v in module.state_dict().items())


@pytest.mark.parametrize(
    "optimizer_class", [torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad]
)
def test_an_optimizer_goes_on_from_a_checkpoint(optimizer_class):
    module, optimizer = trained(optimizer_class)
    checkpoint = saved({"module": module.state_dict(), "optimizer": optimizer.state_dict()})
    again = net().acme()
    resumed = optimizer_class(again.parameters(), lr=0.1)
    loaded = torch.load(checkpoint, map_location="cpu")
    again.load_state_dict(loaded["module"])
    resumed.load_state_dict(loaded["optimizer"])
    x = torch.randn(8, 4, device="acme")
    for m, o in ((module, optimizer), (again, resumed)):
        o.zero_grad()
        m(x).square().sum().backward()
        o.step()
    for a, b in zip(module.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(a, b)
    for state in resumed.state.values():
        assert all(v.device.type == "acme" for v in state.values() if v.ndim)


# ---- pickle and copy


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_keeps_the_device(protocol):
    x = VALUES.to(f"acme:{LAST}").t()
    assert same(pickle.loads(pickle.dumps(x, protocol)), x)


PICKLED = {
    "a parameter": lambda: torch.nn.Parameter(VALUES.acme()),
    "an untyped storage": lambda: VALUES.acme().untyped_storage(),
    "a typed storage": lambda: VALUES.acme().storage(),
    "a module": lambda: net().acme(),
    "an optimizer": lambda: trained()[1],
    "a device": lambda: torch.device("acme", 0),
    "a packed sequence": lambda: torch.nn.utils.rnn.pack_sequence([torch.ones(3, device="acme")]),
    "a generator": lambda: torch.Generator("acme").manual_seed(3),
}


def tensors_of(thing) -> list[torch.Tensor]:
    if isinstance(thing, torch.Tensor):
        return [thing]
    if isinstance(thing, torch.UntypedStorage):
        return [torch.empty(0, device=thing.device, dtype=torch.uint8).set_(thing)]
    if isinstance(thing, torch.TypedStorage):
        return [torch.empty(0, device=thing.device, dtype=thing.dtype).set_(thing)]
    if isinstance(thing, torch.nn.Module):
        return list(thing.state_dict().values())
    if isinstance(thing, torch.optim.Optimizer):
        return [p for group in thing.param_groups for p in group["params"]] + [
            v for s in thing.state.values() for v in s.values() if isinstance(v, torch.Tensor)
        ]
    if isinstance(thing, torch.Generator):
        return [thing.get_state()]
    if isinstance(thing, torch.device):
        return []
    return [thing.data]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("what", PICKLED)
@pytest.mark.parametrize(
    "duplicate",
    [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy],
    ids=["pickle", "deepcopy"],
)
def test_duplicates_hold_the_same_on_the_same_device(what, duplicate):
    if what == "an untyped storage" and duplicate is not copy.deepcopy:
        pytest.skip("torch cannot unpickle one on any device: legacy files name a dtype")
    thing = PICKLED[what]()
    other = duplicate(thing)
    assert type(other) is type(thing)
    if what == "a device":
        assert other == thing
    for a, b in zip(tensors_of(other), tensors_of(thing), strict=True):
        assert same(a, b)
        assert a.data_ptr() != b.data_ptr()


def test_deepcopy_keeps_what_is_shared_and_the_gradient():
    x = VALUES.acme().requires_grad_()
    x.grad = torch.ones_like(x)
    x.note = "mine"
    a, b = copy.deepcopy([x, x])
    assert a is b and a.requires_grad and a.note == "mine"
    assert same(a.grad, x.grad) and a.grad.data_ptr() != x.grad.data_ptr()
    base = VALUES.acme()
    whole, row = copy.deepcopy([base, base[1]])
    row.fill_(9)
    assert whole[1].tolist() == [9.0] * 4 and base[1].tolist() != [9.0] * 4


def test_a_shallow_copy_shares_the_memory():
    x = VALUES.acme()
    y = copy.copy(x)
    assert y is not x and y.data_ptr() == x.data_ptr() and y.device == x.device
    storage = x.untyped_storage()
    assert copy.copy(storage).data_ptr() != storage.data_ptr()  # as torch's own


# ---- safetensors


# Its own list of devices is closed: "acme" is refused by name, and a number means the accelerator.
STATE = {
    "x": VALUES,
    "y": torch.arange(3),
    "z": VALUES.bfloat16(),
}


def test_safetensors(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    path = str(tmp_path / "x.safetensors")
    safetensors.save_file({name: tensor.acme() for name, tensor in STATE.items()}, path)
    for device in ("cpu", 0, LAST):
        loaded = safetensors.load_file(path, device=device)
        for name, tensor in STATE.items():
            assert loaded[name].device == torch.empty(0, device=device).device
            assert torch.equal(loaded[name].cpu(), tensor)
    in_memory = safetensors.load(safetensors.save(safetensors.load_file(path, device=0)))
    assert torch.equal(in_memory["x"], VALUES)


def test_safetensors_of_a_module(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    path = str(tmp_path / "x.safetensors")
    module, _ = trained()
    safetensors.save_model(module, path)
    again = net().acme()
    safetensors.load_model(again, path, device=0)
    for name, tensor in again.state_dict().items():
        assert same(tensor, module.state_dict()[name])
