"""Generated methods: what PyTorch's generator makes, as PyTorch makes it

PyTorch's own generator is the oracle: its functions are made anew, without being put on any class,
and called beside the backend's. A backend may take more arguments than they do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.utils.backend_registration as registration
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from ..backend import Backend
from ..check import Check, Unsupported, check, variants
from ..current import current_device, need_privateuse1
from ..expect import equal, on, refused, same
from ..warned import warnings_are

GENERATOR = "torch/utils/backend_registration.py: generate_methods_for_privateuse1_backend"
TENSORS = "torch/utils/backend_registration.py: _generate_tensor_methods_for_privateuse1_backend"
MODULES = "torch/utils/backend_registration.py: _generate_module_methods_for_privateuse1_backend"
SEQUENCES = (
    "torch/utils/backend_registration.py: _generate_packed_sequence_methods_for_privateuse1_backend"
)
STORAGES = "torch/utils/backend_registration.py: _generate_storage_methods_for_privateuse1_backend"


@contextlib.contextmanager
def _names_are_collected(collected: dict) -> Iterator[None]:
    """PyTorch's generator writes into `collected` instead of its classes."""
    checked = registration._check_register_once
    registration._check_register_once = lambda *_: None
    registration.setattr = lambda owner, name, value: collected.update({(owner, name): value})
    try:
        yield
    finally:
        del registration.setattr
        registration._check_register_once = checked


def _generated(owner: type, name: str) -> Callable:
    """What PyTorch's generator would put on `owner`."""
    collected: dict = {}
    with _names_are_collected(collected):
        registration.generate_methods_for_privateuse1_backend(for_storage=True)
    return collected[owner, name]


def _method(backend: Backend, owner: type, prefix: str = "") -> Callable:
    """The backend's own method or property of `owner`; Unsupported without one."""
    need_privateuse1(backend)
    name = prefix + backend.name
    if not hasattr(owner, name):
        raise Unsupported(f"{owner.__name__}.{name} was not generated")
    return getattr(owner, name)


def _outcome(call: Callable[[], object], describe: Callable[[Any], object]) -> object:
    """What a call gave, or the error."""
    try:
        return describe(call())
    except NotImplementedError:
        raise
    except Exception as error:  # an outcome like others: the two must refuse the same
        return error


def _agree(found: object, expected: object) -> None:
    """Two outcomes are the same, or both are refusals."""
    if isinstance(expected, Exception):
        assert isinstance(found, Exception), (
            f"accepted, with {found}, where PyTorch's own says {expected}"
        )
    else:
        assert found == expected, f"gives {found}, PyTorch's own {expected}"


def _tensor_look(tensor: torch.Tensor) -> tuple:
    return (
        tensor.device,
        tensor.dtype,
        tensor.shape,
        tensor.stride(),
        tensor.requires_grad,
        tensor.is_leaf,
        tensor.tolist(),
    )


def _arguments(backend: Backend) -> list[tuple]:
    """Devices in every form: the right ones, one past the last, another type's, none at all."""
    name, count = backend.name, backend.count
    right: list[tuple] = [(), (None,), (backend.device.index,), (count - 1,)]
    right += [(f"{name}:{count - 1}",), (torch.device(name, count - 1),), (name,)]
    return [*right, (count,), (99,), (-1,), ("cpu",), (torch.device("meta"),), (1.5,), ("nothing",)]


# ---- tensors


@check(called_by=TENSORS, without="`tensor.<name>(...)` does not go where PyTorch's own would go")
def tensors_go_where_they_are_sent(backend: Backend) -> None:
    """Tensor.<name>() takes every form of a device and refuses what PyTorch's own refuses."""
    method = _method(backend, torch.Tensor)
    own = _generated(torch.Tensor, backend.name)
    sources = (torch.arange(6.0).view(2, 3).t(), torch.tensor(3), torch.ones(2, requires_grad=True))
    with current_device(backend, backend.device):
        for source in sources:
            for given in _arguments(backend):
                _agree(
                    _outcome(lambda s=source, g=given: method(s, *g), _tensor_look),
                    _outcome(lambda s=source, g=given: own(s, *g), _tensor_look),
                )


@check(
    called_by=TENSORS, without="a copy that should not block, or should be channels-last, is not"
)
def tensors_take_the_named_arguments(backend: Backend) -> None:
    """Tensor.<name>() takes device, non_blocking and memory_format by name."""
    method = _method(backend, torch.Tensor)
    own = _generated(torch.Tensor, backend.name)
    source = torch.arange(24.0).view(1, 2, 3, 4)
    for named in (
        {"device": backend.device.index},
        {"non_blocking": True},
        {"non_blocking": False, "device": backend.device},
        {"memory_format": torch.channels_last},
        {"memory_format": torch.contiguous_format},
        {"nothing": 1},
    ):
        _agree(
            _outcome(lambda n=named: method(source, **n), _tensor_look),
            _outcome(lambda n=named: own(source, **n), _tensor_look),
        )


@check(called_by=TENSORS, without="memory doubles where a program makes sure of the device")
def a_tensor_that_is_there_is_given_back(backend: Backend) -> None:
    """Tensor.<name>() of a tensor on that device is the tensor itself."""
    method = _method(backend, torch.Tensor)
    there = torch.ones(3, device=backend.device)
    assert method(there, backend.device.index) is there, "a copy was made of what is there"
    with current_device(backend, backend.device):
        assert method(there) is there, "a copy was made of what is on the current device"


@check(called_by=TENSORS, without="gradients do not reach what was moved with the method")
def gradients_flow_back_through_the_method(backend: Backend) -> None:
    """Tensor.<name>() is a step of autograd: the gradient arrives at the CPU's leaf."""
    method = _method(backend, torch.Tensor)
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    moved = method(leaf)
    assert moved.requires_grad and not moved.is_leaf, "the moved tensor is cut off from its leaf"
    (moved * torch.tensor([3.0, 5.0], device=moved.device)).sum().backward()
    same(leaf.grad, torch.tensor([3.0, 5.0]), torch.device("cpu"), "the gradient")


@check(called_by=TENSORS, without="code that asks `tensor.is_<name>` takes the branch for the CPU")
def the_property_tells_the_device(backend: Backend) -> None:
    """is_<name> is True of tensors of the device and False of those of the CPU and of meta."""
    _method(backend, torch.Tensor, "is_")
    name = f"is_{backend.name}"
    there = torch.ones(2, device=backend.device)
    for tensor in (there, there.view(2, 1), there + 1, torch.empty(0, device=backend.device)):
        assert getattr(tensor, name) is True, f"{name} is not True of {tensor}"
    for tensor in (torch.ones(2), there.cpu(), torch.empty(2, device="meta")):
        assert getattr(tensor, name) is False, f"{name} is not False on {tensor.device}"
    equal(there.is_cpu, False, "is_cpu")


@check(called_by=TENSORS, without="a tensor's device can be denied by a mere assignment")
def the_property_cannot_be_set(backend: Backend) -> None:
    """is_<name> can only be read."""
    _method(backend, torch.Tensor, "is_")
    tensor = torch.ones(1)
    with refused(AttributeError, what=f"tensor.is_{backend.name} = True"):
        setattr(tensor, f"is_{backend.name}", True)


class _Overriding(torch.Tensor):
    """Remembers the names of what it was asked for."""

    asked: tuple[str, ...] = ()

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        _Overriding.asked += (getattr(function, "__name__", ""),)
        return super().__torch_function__(function, types, args, kwargs or {})


@check(
    called_by="torch/overrides.py: get_testing_overrides",
    without="subclasses of tensors, as DTensor, do not see the calls",
)
def subclasses_are_asked(backend: Backend) -> None:
    """A subclass with __torch_function__ sees the method, and gives its own class back."""
    method = _method(backend, torch.Tensor)
    _Overriding.asked = ()
    moved = method(torch.ones(2).as_subclass(_Overriding))
    assert isinstance(moved, _Overriding), f"the result is a {type(moved).__name__}"
    on(moved, moved.as_subclass(torch.Tensor).device)
    assert backend.name in _Overriding.asked, f"it was asked for {_Overriding.asked}"


@check(
    called_by="torch/overrides.py: get_testing_overrides",
    without="torch.overrides, and what is built from its tables, do not know the methods",
)
def the_tables_of_overrides_have_them(backend: Backend) -> None:
    """torch.overrides lists the method and the property, as it lists cuda() and is_cuda."""
    method = _method(backend, torch.Tensor)
    found = torch.overrides.get_testing_overrides()
    assert method in found, f"Tensor.{backend.name} is not in get_testing_overrides()"
    prop = _method(backend, torch.Tensor, "is_")
    assert prop.__get__ in found, f"Tensor.is_{backend.name} is not in get_testing_overrides()"


# ---- modules


def _network() -> torch.nn.Module:
    network = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    network.register_buffer("unsaved", torch.arange(3), persistent=False)
    network[1].weight.grad = torch.full((3,), 7.0)
    return network


@check(called_by=MODULES, without="a model stays behind on the CPU, in part or whole")
def modules_move_all_that_they_hold(backend: Backend) -> None:
    """Module.<name>() moves parameters, gradients and buffers, and gives the module back."""
    method = _method(backend, torch.nn.Module)
    network = _network()
    values = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with current_device(backend, backend.device):
        assert method(network) is network, "another module was given back"
    for name, tensor in network.state_dict().items():
        same(tensor, values[name], backend.device, name)
    same(network.unsaved, torch.arange(3), backend.device, "a buffer that is not saved")
    same(network[1].weight.grad, torch.full((3,), 7.0), backend.device, "a gradient")


@check(called_by=MODULES, without="an optimizer made before the move updates what nobody uses")
def modules_keep_their_parameters(backend: Backend) -> None:
    """Parameters are the same objects after the move as PyTorch's own method would leave."""
    method = _method(backend, torch.nn.Module)
    own = _generated(torch.nn.Module, backend.name)
    kept = []
    for move in (method, own):
        network = _network()
        before = dict(network.named_parameters())
        move(network, backend.device.index)
        after = dict(network.named_parameters())
        kept.append({name: after[name] is before[name] for name in before})
        for parameter in after.values():
            assert parameter.is_leaf and parameter.requires_grad, "a parameter is no leaf any more"
            assert type(parameter) is torch.nn.Parameter, "a parameter is a mere tensor"
    equal(kept[0], kept[1], "which parameters are the same objects")


@check(called_by=MODULES, without="a refused move leaves a model in two places")
def modules_take_the_forms_of_a_device(backend: Backend) -> None:
    """Module.<name>() takes every form of a device, and a refused one changes nothing."""
    method = _method(backend, torch.nn.Module)
    own = _generated(torch.nn.Module, backend.name)

    def moved(move: Callable, given: tuple) -> object:
        network = _network()
        outcome = _outcome(lambda: move(network, *given), lambda _: "moved")
        places = [tensor.device for tensor in network.state_dict().values()]
        return outcome if isinstance(outcome, Exception) else places

    with current_device(backend, backend.device):
        for given in _arguments(backend):
            _agree(moved(method, given), moved(own, given))
    network = _network()
    with refused(RuntimeError, ValueError, IndexError, what="a module on device 99"):
        method(network, 99)
    equal({str(t.device) for t in network.state_dict().values()}, {"cpu"}, "where it is")


@check(called_by=MODULES, without="a moved model computes on the CPU, or not at all")
def a_moved_module_computes_there(backend: Backend) -> None:
    """What a moved module gives is on the device, and what it gave on the CPU."""
    method = _method(backend, torch.nn.Module)
    layer = torch.nn.Linear(3, 2)
    source = torch.arange(6.0).view(2, 3)
    expected = layer(source)
    found = method(layer, backend.device.index)(source.to(backend.device))
    same(found, expected, backend.device, rtol=1e-4, atol=1e-5)


# ---- packed sequences


def _sequence() -> PackedSequence:
    longer, shorter = torch.arange(6.0).view(3, 2), torch.arange(4.0).view(2, 2)
    return pack_sequence([shorter, longer], enforce_sorted=False)


def _sequence_look(sequence: PackedSequence) -> tuple:
    return tuple(None if part is None else _tensor_look(part) for part in sequence)


@check(called_by=SEQUENCES, without="batches of sequences for an RNN cannot be moved")
def packed_sequences_go_where_they_are_sent(backend: Backend) -> None:
    """PackedSequence.<name>() does what PyTorch's own does, the sizes of batches on the CPU."""
    method = _method(backend, PackedSequence)
    own = _generated(PackedSequence, backend.name)
    name, last = backend.name, backend.count - 1
    right = [(), (f"{name}:{last}",), (torch.device(name, last),), (name,)]
    wrong = [(99,), (torch.device(name, 99),), ("nothing",)]
    with current_device(backend, backend.device):
        for given in right + wrong:
            _agree(
                _outcome(lambda g=given: method(_sequence(), *g), _sequence_look),
                _outcome(lambda g=given: own(_sequence(), *g), _sequence_look),
            )
        moved = method(_sequence(), dtype=backend.other_float)
        equal(moved.data.dtype, backend.other_float, "the dtype")
    on(moved.data, backend.device)
    on(moved.sorted_indices, backend.device, "the indices")
    on(moved.batch_sizes, torch.device("cpu"), "batch_sizes")


@check(
    called_by=SEQUENCES, without="a program for several devices takes the sequence for the CPU's"
)
def packed_sequences_tell_their_device(backend: Backend) -> None:
    """PackedSequence.is_<name> is True on the device only."""
    _method(backend, PackedSequence, "is_")
    sequence: Any = _sequence()
    name = f"is_{backend.name}"
    equal(getattr(sequence, name), False, f"{name} on the CPU")
    equal(getattr(sequence.to(backend.device), name), True, f"{name} on the device")


# ---- storages


def _storage_look(storage: torch.UntypedStorage) -> tuple:
    return (type(storage).__name__, storage.device, storage.nbytes(), storage.cpu().tolist())


@check(
    called_by=STORAGES, without="`storage.<name>()` raises, as code for CUDA's storages calls it"
)
def storages_go_where_they_are_sent(backend: Backend) -> None:
    """UntypedStorage.<name>() does what PyTorch's own does."""
    method = _method(backend, torch.UntypedStorage)
    own = _generated(torch.storage._StorageBase, backend.name)
    source = torch.arange(3, dtype=torch.uint8).untyped_storage()
    with current_device(backend, backend.device):
        for given in _arguments(backend):
            _agree(
                _outcome(lambda g=given: method(source, *g), _storage_look),
                _outcome(lambda g=given: own(source, *g), _storage_look),
            )
        there = source.to(device=backend.device)
        assert method(there) is there, "a copy was made of a storage that is there"
    assert method(there, backend.device.index) is there, "a copy was made of what is there"
    _agree(
        _outcome(lambda: method(source, non_blocking=True), _storage_look),
        _outcome(lambda: own(source, non_blocking=True), _storage_look),
    )


@check(called_by=STORAGES, without="code that asks a storage for its device is led astray")
def storages_tell_their_device(backend: Backend) -> None:
    """is_<name> of storages, typed and not, is True on the device only."""
    _method(backend, torch.UntypedStorage, "is_")
    name = f"is_{backend.name}"
    here, there = torch.ones(2), torch.ones(2, device=backend.device)
    equal(getattr(here.untyped_storage(), name), False, f"{name} on the CPU")
    equal(getattr(there.untyped_storage(), name), True, f"{name} on the device")
    _method(backend, torch.TypedStorage, "is_")
    with warnings_are("ignore"):
        typed = torch.TypedStorage(2, dtype=torch.int64)
        equal(getattr(typed, name), False, f"{name} of a typed one on the CPU")
        typed = typed.to(device=backend.device)
        equal(getattr(typed, name), True, f"{name} of a typed one on the device")


@check(called_by=STORAGES, without="old checkpoints' storages cannot be moved to the device")
def typed_storages_go_where_they_are_sent(backend: Backend) -> None:
    """TypedStorage.<name>() keeps the dtype and the values."""
    method = _method(backend, torch.TypedStorage)
    with current_device(backend, backend.device), warnings_are("ignore"):
        moved = method(torch.TypedStorage([1, 2, 3], dtype=torch.int64))
        equal(type(moved), torch.TypedStorage, "the class")
        look = (moved.device, moved.dtype, len(moved))
        equal(look, (backend.device, torch.int64, 3), "its device, dtype and length")
        equal(moved.cpu().tolist(), [1, 2, 3], "the values")


# ---- all of them


def the_class_has_the_name(backend: Backend, owner: type, prefix: str) -> None:
    """The class has the method, or the property."""
    found = _method(backend, owner, prefix)
    if prefix:
        assert isinstance(found, property) or hasattr(found, "__get__"), f"{found} is no property"
    else:
        assert callable(found), f"{found} cannot be called"


OWNERS = {
    "Tensor": torch.Tensor,
    "Module": torch.nn.Module,
    "PackedSequence": PackedSequence,
    "UntypedStorage": torch.UntypedStorage,
    "TypedStorage": torch.TypedStorage,
}
NAMES: list[Check] = variants(
    Check(
        the_class_has_the_name,
        called_by=GENERATOR,
        without="programs written as for CUDA raise AttributeError",
    ),
    the_class_has_the_name,
    {
        (f"{owner}.is_name" if prefix else f"{owner}.name"): (OWNERS[owner], prefix)
        for owner in OWNERS
        for prefix in ("", "is_")
        if not (owner == "Module" and prefix)
    },
)


@check(
    called_by=GENERATOR,
    without="a second package replaces the methods unseen",
    alone=True,
)
def generating_again_is_refused(backend: Backend) -> None:
    """PyTorch's generator refuses to make the methods a second time, and leaves the first."""
    method = _method(backend, torch.Tensor)
    with refused(RuntimeError, what="a second generation"):
        torch.utils.generate_methods_for_privateuse1_backend()
    assert getattr(torch.Tensor, backend.name) is method, "the method was replaced"
