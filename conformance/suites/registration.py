"""Registration and names: one device type, known everywhere by the same name"""

from __future__ import annotations

import copy
import importlib
import importlib.metadata
import os
import pickle
import subprocess
import sys
import types

import torch

from ..backend import Backend
from ..check import Skipped, Unsupported, check
from ..current import current_device, need_accelerator, need_privateuse1
from ..expect import equal, on, refused
from ..running import interpreter

RENAME = "torch/utils/backend_registration.py: rename_privateuse1_backend"
LOOKUP = "torch/__init__.py: get_device_module"
REGISTER_MODULE = "torch/__init__.py: _register_device_module"
PARSER = "torch/include/c10/core/Device.h: Device"
AUTOLOAD = "torch/__init__.py: _import_device_backends"


@check(
    called_by="torch/serialization.py: _backend_tag",
    without="some thirty places in PyTorch leave the device out of their lists of devices",
)
def the_privateuse1_key_has_the_name(backend: Backend) -> None:
    """The C++ name of PrivateUse1 is the name of the device."""
    need_privateuse1(backend)
    equal(torch._C._get_privateuse1_backend_name(), backend.name, "the name of PrivateUse1")


@check(
    called_by="torch/nn/modules/transformer.py: TransformerEncoder.forward",
    without="a rename in C++ alone hides the device from attention's fast path and torch.norm",
)
def the_python_name_is_the_same(backend: Backend) -> None:
    """The name that Python keeps for TorchScript is the one that C++ has."""
    need_privateuse1(backend)
    found = torch.utils.backend_registration._privateuse1_backend_name
    equal(found, torch._C._get_privateuse1_backend_name(), "torch.utils.backend_registration's")


@check(
    called_by="torch/library.py: register_autocast",
    without="operators registered from Python for the device's name go to another key",
)
def the_name_leads_to_its_dispatch_keys(backend: Backend) -> None:
    """The name and a tensor of the device both lead to the same dispatch key."""
    key = torch._C._dispatch_key_for_device(backend.name)
    tensor = torch.empty(2, device=backend.device)
    assert torch._C._dispatch_keys(tensor).has(getattr(torch._C.DispatchKey, key)), (
        f"a tensor of {backend.name} has {torch._C._dispatch_keys(tensor)}, without {key}"
    )
    autograd = getattr(torch._C.DispatchKey, f"Autograd{key}")
    assert torch._C._dispatch_keys(tensor).has(autograd), f"a tensor is without Autograd{key}"


@check(
    called_by=PARSER,
    without="torch.device cannot parse the name, so no program can ask for the device",
)
def the_name_is_made_of_lower_case_letters(backend: Backend) -> None:
    """The name has what the parser of device strings takes: lower-case letters and underscores."""
    letters = set("abcdefghijklmnopqrstuvwxyz_")
    assert set(backend.name) <= letters, f"{backend.name!r} has other characters"


@check(called_by=PARSER, without="programs that take a device from a command line cannot name it")
def device_strings_are_parsed(backend: Backend) -> None:
    """Every spelling of a device gives the same device, with the index that was written."""
    name = backend.name
    equal(torch.device(name).type, name, "the type")
    equal(torch.device(name).index, None, "the index of a device without one")
    for index in (0, 1, 7):
        for device in (
            torch.device(f"{name}:{index}"),
            torch.device(name, index),
            torch.device(type=name, index=index),
            torch.device(torch.device(name, index)),
        ):
            equal((device.type, device.index), (name, index), "the type and the index")
            equal(str(device), f"{name}:{index}", "the text")
    assert torch.device(name) != torch.device(name, 0), "a device without an index equals index 0"
    assert torch.device(name, 0) != torch.device("meta", 0), "two types of devices are equal"


@check(called_by=PARSER, without="devices are lost as keys of dictionaries and between processes")
def a_device_survives_copies(backend: Backend) -> None:
    """A device is equal to its copies and hashes as they do."""
    for device in (backend.device, torch.device(backend.name)):
        for copied in (
            copy.deepcopy(device),
            pickle.loads(pickle.dumps(device)),
            torch.device(str(device)),
            eval(repr(device), {"device": torch.device}),
        ):
            equal(copied, device, "the copy")
            equal(hash(copied), hash(device), "the hash of the copy")


@check(called_by=PARSER, without="a typing error in a configuration runs on some other device")
def bad_device_strings_are_refused(backend: Backend) -> None:
    """A string that is nearly a device is refused."""
    name = backend.name
    for text in (f"{name}:", f"{name}:-1", f"{name}:x", f"{name}:0:1", f" {name}", f"{name}x"):
        with refused(RuntimeError, what=f"torch.device({text!r})"):
            torch.device(text)
    with refused(RuntimeError, what=f"torch.device({name!r}, -1)"):
        torch.device(name, -1)


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: setDevice",
    without="a job that asks for a device that is not there shares the first one with another",
)
def an_index_out_of_range_makes_no_tensor(backend: Backend) -> None:
    """A tensor on a device that does not exist is refused and the device named."""
    need_privateuse1(backend)
    for index in (backend.count, backend.count + 1, 99, 127):
        device = torch.device(backend.name, index)
        for make in (
            lambda d=device: torch.empty(2, device=d),
            lambda d=device: torch.ones(2, device=d),
            lambda d=device: torch.tensor([1.0], device=d),
            lambda d=device: torch.arange(3, device=d),
            lambda d=device: torch.ones(2).to(d),
        ):
            with refused(RuntimeError, ValueError, IndexError, what=f"a tensor on {device}"):
                on(make(), device)


@check(
    called_by="torch/accelerator/__init__.py: set_device_index",
    without="the rest of the program runs on a device that nobody chose",
)
def an_index_out_of_range_changes_nothing(backend: Backend) -> None:
    """After a refused index the current device is the one before, and it works."""
    need_privateuse1(backend)
    before = torch.accelerator.current_device_index()
    with refused(RuntimeError, ValueError, IndexError, what="torch.empty on device 99"):
        torch.empty(2, device=f"{backend.name}:99")
    equal(torch.accelerator.current_device_index(), before, "the current device")
    tensor = torch.ones(2, device=backend.name)
    on(tensor, torch.device(backend.name, before), "a tensor after the refusal")
    equal(tensor.tolist(), [1.0, 1.0], "its values")


@check(
    called_by="torch/accelerator/__init__.py: current_accelerator",
    without="code written for any accelerator takes the CPU",
)
def it_is_the_accelerator(backend: Backend) -> None:
    """torch.accelerator names the device, without an index."""
    need_privateuse1(backend)
    found = torch.accelerator.current_accelerator()
    equal(found, torch.device(backend.name), "torch.accelerator.current_accelerator()")
    equal(torch.accelerator.is_available(), True, "torch.accelerator.is_available()")


@check(
    called_by="torch/include/c10/core/Device.h: Device",
    without="device=0 means another device than in a program for CUDA",
)
def a_bare_index_means_the_accelerator(backend: Backend) -> None:
    """An integer as the device means this device with that index."""
    need_accelerator(backend)
    equal(torch.device(backend.device.index), backend.device, "torch.device of an integer")
    on(torch.ones(2, device=backend.device.index), backend.device)
    on(torch.ones(2).to(backend.device.index), backend.device)


@check(
    called_by="torch/_refs/__init__.py: empty",
    without="tensors of one device compare as tensors of two",
)
def a_tensor_always_has_an_index(backend: Backend) -> None:
    """A tensor made on a device without an index is on the current device and says which."""
    need_privateuse1(backend)
    with current_device(backend, backend.device):
        for tensor in (
            torch.empty(2, device=backend.name),
            torch.zeros(2, device=torch.device(backend.name)),
            torch.tensor([1], device=backend.name),
            torch.ones(2).to(backend.name),
            torch.ones(2, device=backend.name).clone(),
            torch.ones(2).new_ones(2, device=backend.name),
        ):
            on(tensor, backend.device)
            equal(tensor.get_device(), backend.device.index, "get_device()")


@check(called_by=LOOKUP, without="Adam.step(), torch.compile and checkpointing raise")
def the_device_module_is_found(backend: Backend) -> None:
    """torch.<name>, an import and torch.get_device_module give one and the same module."""
    module = backend.module
    for device in (backend.name, f"{backend.name}:0", torch.device(backend.name), backend.device):
        found = torch.get_device_module(device)
        assert found is module, f"torch.get_device_module({device!r}) is {found}"
    assert sys.modules.get(f"torch.{backend.name}") is module, "sys.modules has another module"
    assert importlib.import_module(f"torch.{backend.name}") is module, "an import gives another"


@check(called_by=LOOKUP, without="FSDP and the tests of PyTorch take the CPU's module")
def the_module_is_found_without_a_device(backend: Backend) -> None:
    """torch.get_device_module() without a device gives the module of the accelerator."""
    need_accelerator(backend)
    found = torch.get_device_module()
    assert found is backend.module, f"torch.get_device_module() is {found}"


@check(
    called_by="torch/_utils.py: _get_available_device_type",
    without="DataParallel and gradient scaling see no device",
)
def it_is_the_available_device_type(backend: Backend) -> None:
    """PyTorch's own search for a device ends at this one, with all of its indices."""
    need_accelerator(backend)
    equal(torch._utils._get_available_device_type(), backend.name, "the available device type")
    equal(torch._utils._get_all_device_indices(), list(range(backend.count)), "all indices")


@check(
    called_by=REGISTER_MODULE,
    without="a second backend takes the place of the first while its tensors live",
    alone=True,
)
def a_second_module_is_refused(backend: Backend) -> None:
    """A second module for the device is refused, and the first stays."""
    module = backend.module
    with refused(RuntimeError, what="a second module"):
        torch._register_device_module(backend.name, types.ModuleType("another"))
    assert backend.module is module, "the refused module took the place of the first"


@check(
    called_by=RENAME,
    without="two packages give the key two names, and tensors of the first have none",
    alone=True,
)
def a_second_name_is_refused(backend: Backend) -> None:
    """Another name is refused whole; the same name again is accepted and changes nothing."""
    need_privateuse1(backend)
    with refused(RuntimeError, what="a second name"):
        torch.utils.rename_privateuse1_backend("another")
    equal(torch._C._get_privateuse1_backend_name(), backend.name, "the name in C++")
    found = torch.utils.backend_registration._privateuse1_backend_name
    equal(found, backend.name, "the name in Python")
    with refused(RuntimeError, what="torch.device('another')"):
        torch.device("another")
    torch.utils.rename_privateuse1_backend(backend.name)
    equal(torch.empty(1, device=backend.device).device, backend.device, "a tensor's device")


@check(
    called_by="torch/_inductor/utils.py: _do_bench_using_profiling",
    without="the profiler and Inductor's benchmarks do not know the device",
)
def enumerations_have_the_name(backend: Backend) -> None:
    """ProfilerActivity and DeviceType have the name in upper case, for PrivateUse1."""
    need_privateuse1(backend)
    if not hasattr(torch.utils.backend_registration, "_rename_profiler_activity"):
        raise Skipped("this torch gives the enumerations no further names")
    for kind in (torch._C._profiler.ProfilerActivity, torch._C._autograd.DeviceType):
        found = getattr(kind, backend.name.upper(), None)
        equal(found, kind.PrivateUse1, f"{kind.__name__}.{backend.name.upper()}")


@check(
    called_by="torch/utils/_device.py: DeviceContext",
    without="models are built on the CPU although their program chose the device",
)
def it_can_be_the_default_device(backend: Backend) -> None:
    """Inside `with torch.device(...)` factories and layers are on the device, and not after."""
    need_privateuse1(backend)
    before = torch.get_default_device()
    with backend.device:
        equal(torch.get_default_device(), backend.device, "torch.get_default_device()")
        for tensor in (
            torch.empty(2),
            torch.ones(2, 3),
            torch.tensor([1, 2]),
            torch.arange(4),
            torch.eye(2),
            torch.nn.Linear(2, 2).weight,
        ):
            on(tensor, backend.device)
        on(torch.ones(2, device="cpu"), torch.device("cpu"), "a tensor that asks for the CPU")
    equal(torch.get_default_device(), before, "the default device afterwards")
    on(torch.ones(2), before, "a tensor made afterwards")


@check(
    called_by="torch/_tensor_str.py: _str_intern",
    without="a tensor that is printed does not say where it is",
)
def a_printed_tensor_names_its_device(backend: Backend) -> None:
    """repr() of a tensor has its values and its device, with the index."""
    need_privateuse1(backend)
    text = repr(torch.tensor([1.5, 2.5], device=backend.device))
    for part in ("1.5", "2.5", f"device='{backend.device}'"):
        assert part in text, f"{part} is not in {text}"
    empty = repr(torch.empty(0, 3, device=backend.device))
    assert f"device='{backend.device}'" in empty, f"the device is not in {empty}"


@check(
    called_by="torch/_tensor.py: Tensor.__reduce_ex__",
    without="`tensor.type()` gives a name that `tensor.type(name)` does not take",
)
def a_tensor_has_a_type_name(backend: Backend) -> None:
    """type() of a tensor names the device's module, as torch.cuda.FloatTensor does."""
    need_privateuse1(backend)
    for dtype, name in ((torch.float32, "FloatTensor"), (torch.int64, "LongTensor")):
        tensor = torch.empty(1, device=backend.device, dtype=dtype)
        equal(tensor.type(), f"torch.{backend.name}.{name}", f"type() of {dtype}")
        equal(torch.empty(1, dtype=dtype).type(), f"torch.{name}", f"type() of a CPU's {dtype}")


def _entry_points(backend: Backend) -> list[importlib.metadata.EntryPoint]:
    need_privateuse1(backend)
    found = list(importlib.metadata.entry_points(group="torch.backends"))
    if not found:
        raise Unsupported("no package has an entry point in the group torch.backends")
    return found


@check(
    called_by=AUTOLOAD,
    without="`import torch` itself raises for everybody who has the package installed",
)
def entry_points_can_be_called(backend: Backend) -> None:
    """Each entry point of the group torch.backends gives something that can be called."""
    for entry in _entry_points(backend):
        loaded = entry.load()
        assert callable(loaded), f"the entry point {entry.name} ({entry.value}) is {loaded!r}"


FRESH = """
import torch
name = {name!r}
assert torch._C._get_privateuse1_backend_name() == name, "import torch does not load the backend"
assert torch.{name}.is_available() in (True, False)
print(torch.device(name, 0), torch.accelerator.current_accelerator())
"""


@check(
    called_by=AUTOLOAD,
    without="every program has to import the backend's package by name",
    level="standard",
)
def import_torch_is_enough(backend: Backend) -> None:
    """`import torch` alone registers the device, without a word on standard error."""
    _entry_points(backend)
    environment = {k: v for k, v in os.environ.items() if k != "TORCH_DEVICE_BACKEND_AUTOLOAD"}
    path = os.pathsep.join(part for part in sys.path if part)
    done = subprocess.run(
        interpreter.program(FRESH.format(name=backend.name)),
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    equal(done.returncode, 0, f"the exit code, after {done.stderr[-600:]}, ")
    equal(done.stdout.split(), [f"{backend.name}:0", backend.name], "what it printed")
    equal(done.stderr.strip(), "", "what it wrote on standard error")
