"""Serialization: what is saved on one device is loaded on any, whole and shared as before"""

from __future__ import annotations

import copy
import importlib.util
import io
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ..backend import Backend
from ..check import Check, Skipped, Unsupported, check, variants
from ..current import current_device, need_accelerator
from ..expect import equal, on, refused, same
from ..warned import warnings_are

SAVE = "torch/serialization.py: save"
LOAD = "torch/serialization.py: load"
VALIDATE = "torch/serialization.py: _validate_device"
PICKLE = "torch/_tensor.py: Tensor.__reduce_ex__"
COPY = "torch/_tensor.py: Tensor.__deepcopy__"
CPU = torch.device("cpu")


def _place(backend: Backend) -> torch.device:
    """The device as tensors name it: the CPU has no index."""
    return CPU if backend.name == "cpu" else backend.device


def _saved(value: object) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


def _loaded(value: object, **options: Any) -> Any:
    return torch.load(_saved(value), **options)


DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int8,
    torch.uint8, torch.bool, torch.complex64,
)  # fmt: skip


@check(called_by=LOAD, without="checkpoints cannot be read back")
def tensors_come_back(backend: Backend) -> None:
    """Tensors of each dtype come back on their device, with their values."""
    place = _place(backend)
    for dtype in backend.having(DTYPES):
        expected = torch.arange(6).to(dtype)
        same(_loaded(expected.to(place)), expected, place, f"a tensor of {dtype}")
    same(_loaded(torch.tensor(3.5, device=place)), torch.tensor(3.5), place, "a single value")
    same(_loaded(torch.ones(2, 0, device=place)), torch.ones(2, 0), place, "no values at all")


@check(called_by=LOAD, without="transposed weights come back in another order")
def strides_and_flags_come_back(backend: Backend) -> None:
    """Strides, offsets, requires_grad and conjugation come back."""
    place = _place(backend)
    base = torch.arange(24.0, device=place).view(2, 3, 4)
    for name, tensor in {
        "transposed": base.transpose(0, 2),
        "slice": base[1:, ::2, 1:3],
        "expanded": base[:, :1].expand(2, 5, 4),
        "conjugated": torch.view_as_complex(base.view(2, 3, 2, 2)).conj(),
        "negated": torch.view_as_complex(base.view(2, 3, 2, 2)).conj().imag,
        "requiring a gradient": base.clone().requires_grad_(),
    }.items():
        found = _loaded(tensor)
        equal(found.stride(), tensor.stride(), f"the strides, {name}")
        equal(found.requires_grad, tensor.requires_grad, f"requires_grad, {name}")
        flags = (found.is_conj(), found.is_neg())
        equal(flags, (tensor.is_conj(), tensor.is_neg()), f"is_conj() and is_neg(), {name}")
        found, tensor = (each.resolve_conj().resolve_neg() for each in (found, tensor))
        same(found, tensor.cpu(), place, name)


@check(called_by="torch/serialization.py: _backend_tag", without="all comes back on device 0")
def tensors_come_back_on_their_device(backend: Backend) -> None:
    """A tensor of another device comes back there, while the current one stays, and one that is
    loaded onto the name alone comes to the current one."""
    need_accelerator(backend)
    other = backend.other_device
    with current_device(backend, backend.device):
        same(_loaded(torch.arange(3.0, device=other)), torch.arange(3.0), other)
        equal(torch.accelerator.current_device_index(), backend.device.index, "the device")
    with current_device(backend, other):
        found = _loaded(torch.arange(3.0), map_location=backend.name)
        same(found, torch.arange(3.0), other, "a tensor of the CPU, onto the name")


def _locations(backend: Backend) -> dict[str, tuple[Callable[[], object], Callable]]:
    """What map_location can be, and where a tensor of the last device then is."""
    name = backend.name
    last = torch.device(name, backend.count - 1)
    return {
        "'cpu'": (lambda: "cpu", lambda: CPU),
        "torch.device('cpu')": (lambda: CPU, lambda: CPU),
        "a string": (lambda: f"{name}:0", lambda: torch.device(name, 0)),
        "a torch.device": (lambda: torch.device(name, 0), lambda: torch.device(name, 0)),
        "a dictionary": (lambda: {str(last): "cpu"}, lambda: CPU),
        "a dictionary to another": (
            lambda: {str(last): f"{name}:0"},
            lambda: torch.device(name, 0),
        ),
        "a dictionary of others": (lambda: {"cuda:0": "cpu"}, lambda: last),
        "a function of nothing": (lambda: lambda storage, _: None, lambda: last),
        "a function": (lambda: lambda storage, _: storage, lambda: CPU),
        "a function that moves": (
            lambda: lambda storage, _: storage.to(device=torch.device(name, 0)),
            lambda: torch.device(name, 0),
        ),
        "the name alone": (lambda: name, lambda: torch.device(name, 0)),
        "meta": (lambda: "meta", lambda: torch.device("meta")),
    }


def map_location_moves(backend: Backend, key: str) -> None:
    """torch.load() puts what was on the device where map_location says, with and without
    weights_only."""
    need_accelerator(backend)
    location, place = _locations(backend)[key]
    saved = torch.arange(4.0, device=torch.device(backend.name, backend.count - 1))
    with current_device(backend, torch.device(backend.name, 0)):
        for weights_only in (True, False):
            found = _loaded(saved, map_location=location(), weights_only=weights_only)
            if place().type == "meta":
                on(found, place())
            else:
                same(found, torch.arange(4.0), place())


KEYS = (
    "'cpu'", "torch.device('cpu')", "a string", "a torch.device", "a dictionary",
    "a dictionary to another",
    "a dictionary of others", "a function of nothing", "a function", "a function that moves",
    "the name alone", "meta",
)  # fmt: skip
LOCATIONS: list[Check] = variants(
    Check(
        map_location_moves,
        called_by="torch/serialization.py: _get_restore_location",
        without="checkpoints can be read on the machine that wrote them only",
    ),
    map_location_moves,
    {key: (key,) for key in KEYS},
)


@check(called_by="torch/_utils.py: _to", without="a model trained on a CPU cannot be served")
def the_cpus_tensors_are_loaded_there(backend: Backend) -> None:
    """What was saved on the CPU is loaded on the device that map_location names."""
    place = _place(backend)
    same(_loaded(torch.arange(3.0), map_location=place), torch.arange(3.0), place)
    state = torch.nn.Linear(3, 2).state_dict()
    for key, value in _loaded(state, map_location=str(place)).items():
        same(value, state[key], place, key)


@check(called_by=VALIDATE, without="a checkpoint of a larger machine ends up on a wrong device")
def a_missing_device_is_named(backend: Backend) -> None:
    """Loading onto a device that is not there is refused, and the error says what to do."""
    need_accelerator(backend)
    for saved in (torch.ones(3), torch.ones(3, device=backend.device)):
        with refused(RuntimeError, naming=("map_location",), what="torch.load() onto device 99"):
            _loaded(saved, map_location=f"{backend.name}:99")
    if backend.count > 9:
        raise Skipped("needs fewer than ten devices")
    tag = str(backend.device).encode()
    missing = _saved(torch.arange(3.0, device=backend.device)).getvalue()
    missing = missing.replace(tag, f"{backend.name}:9".encode())
    with refused(RuntimeError, naming=("map_location",), what="a tensor of device 9"):
        torch.load(io.BytesIO(missing))
    found = torch.load(io.BytesIO(missing), map_location="cpu")
    same(found, torch.arange(3.0), CPU, "a tensor of a missing device on the CPU")


@check(called_by=SAVE, without="checkpoints grow, and tied weights come apart")
def shared_storages_stay_shared(backend: Backend) -> None:
    """Tensors that share a storage share one after loading, and it is saved once."""
    place = _place(backend)
    base = torch.arange(1000.0, device=place)
    found = _loaded([base, base[10:20], base.view(10, 100), base.detach()])
    addresses = {tensor.untyped_storage().data_ptr() for tensor in found}
    equal(len(addresses), 1, "the number of storages")
    found[0][10] = -5.0
    equal(found[1][0].item(), -5.0, "what the slice sees of a change")
    equal(found[2][0, 10].item(), -5.0, "what the view sees of a change")
    size = len(_saved([base] * 10).getvalue())
    assert size < 2 * 4000, f"a tensor saved ten times takes {size} bytes"


@check(called_by="torch/_utils.py: _rebuild_parameter", without="a loaded model does not train")
def parameters_come_back_as_parameters(backend: Backend) -> None:
    """Parameters, and modules with them, come back as such on the device."""
    place = _place(backend)
    parameter = torch.nn.Parameter(torch.arange(3.0, device=place))
    found = _loaded(parameter)
    equal(type(found), torch.nn.Parameter, "the class")
    equal((found.requires_grad, found.is_leaf), (True, True), "requires_grad and is_leaf")
    same(found, torch.arange(3.0), place)
    network = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).to(place)
    network[0].weight = torch.nn.Parameter(torch.eye(2, device=place))
    loaded = _loaded(network, weights_only=False)
    for (name, one), other in zip(
        network.state_dict().items(), loaded.state_dict().values(), strict=True
    ):
        same(other, one.cpu(), place, name)


@check(
    called_by="torch/nn/modules/module.py: Module.load_state_dict",
    without="a model keeps its first weights",
)
def state_dicts_cross_devices(backend: Backend) -> None:
    """load_state_dict() takes the CPU's tensors for a model of the device, and the other way."""
    place = _place(backend)
    for source, target in ((CPU, place), (place, CPU), (place, place)):
        written = torch.nn.Linear(3, 2).to(source)
        read = torch.nn.Linear(3, 2).to(target)
        result = read.load_state_dict(_loaded(written.state_dict()))
        equal((result.missing_keys, result.unexpected_keys), ([], []), "the keys")
        for name, value in read.state_dict().items():
            same(value, written.state_dict()[name].cpu(), target, name)


@check(
    called_by="torch/optim/optimizer.py: Optimizer.load_state_dict",
    without="a resumed training takes other steps than an unbroken one",
)
def an_optimizer_goes_on(backend: Backend) -> None:
    """An optimizer that has loaded its state, from the CPU too, goes on as the one that saved."""
    place = _place(backend)

    def made() -> tuple[torch.Tensor, torch.optim.Optimizer]:
        weight = torch.arange(1.0, 4.0, device=place).requires_grad_()
        return weight, torch.optim.AdamW([weight], lr=0.1)

    def stepped(weight: torch.Tensor, optimizer: torch.optim.Optimizer) -> torch.Tensor:
        optimizer.zero_grad()
        (weight**2).sum().backward()
        optimizer.step()
        return weight.detach().cpu()

    weight, optimizer = made()
    stepped(weight, optimizer)
    saved, at = _saved(optimizer.state_dict()), weight.detach().clone()
    expected = stepped(weight, optimizer)
    for location in (None, "cpu"):
        saved.seek(0)
        other, resumed = made()
        with torch.no_grad():
            other.copy_(at)
        resumed.load_state_dict(torch.load(saved, map_location=location))
        on(resumed.state_dict()["state"][0]["exp_avg"], place, "the optimizer's state")
        same(stepped(other, resumed), expected, CPU, "the weight", rtol=1e-6, atol=1e-6)


@check(called_by=LOAD, without="files cannot be mapped, so large checkpoints need twice the memory")
def files_can_be_mapped(backend: Backend) -> None:
    """torch.load(mmap=True) of a file gives the same tensors, on the device and on the CPU."""
    place = _place(backend)
    expected = {"a": torch.arange(1000.0), "b": torch.arange(7)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved.pt"
        for source in (CPU, place):
            torch.save({key: value.to(source) for key, value in expected.items()}, path)
            for target in (CPU, place):
                found = torch.load(path, mmap=True, map_location=target)
                for key, value in expected.items():
                    same(found[key], value, target, f"{key} from {source}")
                del found


@check(called_by=SAVE, without="old programs cannot read what new ones write")
def the_old_format_is_read(backend: Backend) -> None:
    """The format before zip files is written and read, with map_location."""
    place, file = _place(backend), io.BytesIO()
    tensor = torch.arange(5.0, device=place)
    torch.save([tensor, tensor[2:]], file, _use_new_zipfile_serialization=False)
    for location in (place, CPU):
        file.seek(0)
        found = torch.load(file, map_location=location)
        same(found[0], torch.arange(5.0), location, "a tensor")
        same(found[1], torch.arange(2.0, 5.0), location, "its slice")


LAYOUTS: dict[str, Callable[[torch.device], torch.Tensor]] = {
    "sparse COO": lambda d: torch.eye(3).to(d).to_sparse(),
    "sparse CSR": lambda d: torch.eye(3).to(d).to_sparse_csr(),
    "nested": lambda d: torch.nested.nested_tensor([torch.ones(2).to(d), torch.ones(3).to(d)]),
    "jagged": lambda d: torch.nested.nested_tensor(
        [torch.ones(2).to(d), torch.ones(3).to(d)], layout=torch.jagged
    ),
    "quantized": lambda d: torch.quantize_per_tensor(
        torch.tensor([0.5, 1.5]).to(d), 0.5, 1, torch.quint8
    ),
}


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_nested:
        return tensor.to_padded_tensor(-1.0)
    if tensor.is_quantized:
        return tensor.dequantize()
    return tensor.to_dense()


def other_layouts_come_back(backend: Backend, make: Callable) -> None:
    """A tensor of this layout comes back on the device, or on the CPU where that is asked for."""
    place = _place(backend)
    with warnings_are("ignore"):
        expected = _dense(make(CPU))
        tensor = make(place)
        for target in (place, CPU):
            found = _loaded(tensor, weights_only=not tensor.is_nested, map_location=target)
            equal(found.layout, tensor.layout, "the layout")
            on(found, target)
            same(_dense(found), expected, target)


OTHER_LAYOUTS: list[Check] = variants(
    Check(
        other_layouts_come_back,
        called_by="torch/_utils.py: _rebuild_sparse_tensor",
        without="models with such tensors cannot be saved",
    ),
    other_layouts_come_back,
    {name: (make,) for name, make in LAYOUTS.items()},
)


def _numbers(device: torch.device) -> torch.Tensor:
    return torch.diag(torch.arange(1.0, 65.0)).to(device)


def _overwrite_what_is_free() -> None:
    """Lest noise be what a tensor of before has left."""
    kept = [torch.full((count,), -99.0) for count in (64, 128, 256) for _ in range(32)]
    del kept


SPARSE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "COO": lambda x: x.to_sparse(),
    "CSR": lambda x: x.to_sparse_csr(),
    "CSC": lambda x: x.to_sparse_csc(),
    "BSR": lambda x: x.to_sparse_bsr((2, 2)),
    "BSC": lambda x: x.to_sparse_bsc((2, 2)),
}


def sparse_tensors_survive_the_old_format(backend: Backend, make: Callable) -> None:
    """The format before zip files keeps a sparse tensor of this layout, or refuses it when it is
    saved and says so. There the values follow all tensors, so what is copied while a tensor is
    rebuilt is noise."""
    place, file = _place(backend), io.BytesIO()
    with warnings_are("ignore"):
        tensor = make(_numbers(place))
        try:
            torch.save([tensor], file, _use_new_zipfile_serialization=False)
        except Exception as error:
            assert "sparse" in str(error).lower(), f"refused, and not for being sparse: {error}"
            raise Unsupported(f"sparse tensors in the old format: {error}") from error
        for target, location in ((place, None), (CPU, CPU)):
            _overwrite_what_is_free()
            file.seek(0)
            (found,) = torch.load(file, map_location=location)
            equal(found.layout, tensor.layout, "the layout")
            on(found, target)
            same(_dense(found), _numbers(CPU), target)


SPARSE_IN_THE_OLD_FORMAT: list[Check] = variants(
    Check(
        sparse_tensors_survive_the_old_format,
        called_by="torch/_tensor.py: Tensor._reduce_ex_internal",
        without="checkpoints are read back as other numbers, silently",
    ),
    sparse_tensors_survive_the_old_format,
    {name: (make,) for name, make in SPARSE.items()},
)


@check(called_by=PICKLE, without="tensors cannot be sent to other processes or kept in caches")
def tensors_can_be_pickled(backend: Backend) -> None:
    """Every protocol of pickle keeps a tensor of the device, its values and its attributes."""
    place = _place(backend)
    tensor = torch.arange(4.0, device=place)
    tensor.label = "kept"
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        found = pickle.loads(pickle.dumps(tensor, protocol=protocol))
        same(found, torch.arange(4.0), place, f"with protocol {protocol}")
        equal(found.label, "kept", "an attribute")


@check(called_by=COPY, without="an average of a model's weights changes with them")
def deep_copies_have_memory_of_their_own(backend: Backend) -> None:
    """copy.deepcopy() of tensors and modules is on the device, apart from the original."""
    place = _place(backend)
    tensor = torch.arange(4.0, device=place)
    pair = copy.deepcopy([tensor, tensor[1:]])
    for found, expected in zip(pair, (torch.arange(4.0), torch.arange(1.0, 4.0)), strict=True):
        same(found, expected, place)
    pair[0][1] = 7.0
    equal(pair[1][0].item(), 7.0, "what the copied slice sees of a change of the copy")
    same(tensor, torch.arange(4.0), place, "the original")
    leaf = torch.ones(2, device=place, requires_grad=True)
    leaf.grad = torch.full((2,), 3.0, device=place)
    same(copy.deepcopy(leaf).grad, torch.full((2,), 3.0), place, "the gradient")
    layer = torch.nn.Linear(2, 2).to(place)
    copied = copy.deepcopy(layer)
    same(copied.weight, layer.weight.cpu(), place, "the weight")
    assert copied.weight.data_ptr() != layer.weight.data_ptr(), "the weights share memory"


@check(called_by=COPY, without="a model with sparse or quantized tensors cannot be averaged")
def other_layouts_are_copied(backend: Backend) -> None:
    """copy.deepcopy() of sparse COO, jagged and quantized tensors is on the device."""
    place = _place(backend)
    with warnings_are("ignore"):
        for name in ("sparse COO", "jagged", "quantized"):
            found = copy.deepcopy(LAYOUTS[name](place))
            on(found, place)
            same(_dense(found), _dense(LAYOUTS[name](CPU)), place, name)


@check(called_by=COPY, without="a model that is copied in the middle of a step is cut off")
def a_copy_in_a_graph_is_refused(backend: Backend) -> None:
    """copy.deepcopy() of a tensor that is no leaf is refused, as on the CPU."""
    leaf = torch.ones(2, device=_place(backend), requires_grad=True)
    with refused(RuntimeError, what="a deep copy of a result"):
        copy.deepcopy(leaf * 2)


@check(called_by=SAVE, without="a resumed training draws other numbers")
def generators_come_back(backend: Backend) -> None:
    """A saved generator of the device goes on with the numbers that the original draws."""
    place = _place(backend)
    generator = torch.Generator(place).manual_seed(11)
    torch.rand(5, device=place, generator=generator)
    found = _loaded(generator, weights_only=False)
    equal(found.device, place, "its device")
    expected = torch.rand(9, device=place, generator=generator).cpu()
    same(torch.rand(9, device=place, generator=found), expected, place, "its numbers")


@check(called_by=LOAD, without="a configuration that is saved with a model cannot be loaded")
def devices_come_back(backend: Backend) -> None:
    """torch.device, dtypes and shapes in a checkpoint come back with weights_only."""
    value = {"device": backend.device, "dtype": torch.bfloat16, "shape": torch.Size([2, 3])}
    equal(_loaded(value, weights_only=True), value, "the dictionary")


@check(
    called_by="torch/serialization.py: skip_data",
    without="tools that look into checkpoints must load them",
)
def checkpoints_can_be_looked_into(backend: Backend) -> None:
    """Under FakeTensorMode a checkpoint gives tensors of their device without any memory."""
    from torch._subclasses import FakeTensorMode

    place = _place(backend)
    saved = _saved({"a": torch.ones(3, 4, device=place)})
    with FakeTensorMode():
        found = torch.load(saved)["a"]
    equal((found.device, found.shape), (place, torch.Size([3, 4])), "its device and shape")


@check(called_by="torch/jit/_serialization.py: load", without="TorchScript archives stay behind")
def scripts_are_loaded_there(backend: Backend) -> None:
    """A TorchScript archive is loaded on the device, and computes there."""
    place, file = _place(backend), io.BytesIO()
    layer = torch.nn.Linear(3, 2)
    source = torch.arange(6.0).view(2, 3)
    with warnings_are("ignore"):
        torch.jit.save(torch.jit.trace(layer, source), file)
        file.seek(0)
        found = torch.jit.load(file, map_location=place)
    on(next(found.parameters()), place)
    same(found(source.to(place)), layer(source), place, rtol=1e-5, atol=1e-5)


@check(without="models of the Hugging Face hub are read by way of the CPU")
def safetensors_are_kept(backend: Backend) -> None:
    """safetensors saves tensors of the device and loads them there."""
    if importlib.util.find_spec("safetensors") is None:
        raise Skipped("safetensors is not installed")
    from safetensors import SafetensorError
    from safetensors.torch import load, load_file, save_file

    place = _place(backend)
    expected = {"a": torch.arange(6.0).view(2, 3), "b": torch.arange(3)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved.safetensors"
        save_file({key: value.to(place) for key, value in expected.items()}, path)
        for key, value in load(path.read_bytes()).items():
            same(value, expected[key], CPU, f"{key} on the CPU")
        try:
            found = load_file(path, device=str(place))
        except SafetensorError as error:
            if place.index is None:
                raise Skipped(f"safetensors has a list of devices of its own: {error}") from error
            found = load_file(path, device=place.index)  # a number means the accelerator
        for key, value in found.items():
            same(value, expected[key], place, f"{key} on the device")
