"""Hooks and guard: what PyTorch's C++ asks of a backend, as Python sees it"""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch

from ..backend import Backend
from ..check import Skipped, Unsupported, check
from ..current import current_device, need_accelerator
from ..expect import equal, on, refused, same

HOOKS = "torch/include/ATen/detail/PrivateUse1HooksInterface.h"
ANY_HOOKS = "torch/include/ATen/detail/AcceleratorHooksInterface.h"
GUARD = "torch/include/c10/core/impl/DeviceGuardImplInterface.h"
CPU = torch.device("cpu")
WRONG_DEVICE = (RuntimeError, ValueError, IndexError)


def _current() -> int:
    return torch._C._accelerator_getDeviceIndex()


def _function(name: str) -> Callable:
    """One of PyTorch's functions, Unsupported where the hook behind it is not implemented."""
    found = getattr(torch._C, name, None)
    if found is None:
        raise Skipped(f"this torch has no torch._C.{name}")

    def call(*arguments: int) -> object:
        try:
            return found(*arguments)
        except RuntimeError as error:
            if "Backend doesn't support" in str(error):  # the text of the interface's defaults
                raise Unsupported(str(error)) from error
            raise

    return call


# ---- the hooks' devices


@check(
    called_by="torch/__init__.py: get_device_module",
    without="FSDP, c10d's barriers and get_device_module() take the CPU",
)
def the_hooks_say_that_it_is_available(backend: Backend) -> None:
    """PyTorch's C++ takes the device for the accelerator, by isAvailable()."""
    need_accelerator(backend)
    equal(torch._C._get_accelerator(), torch.device(backend.name), "torch._C._get_accelerator()")


@check(called_by=f"{ANY_HOOKS}: deviceCount", without="torch::manual_seed leaves devices unseeded")
def the_hooks_count_devices(backend: Backend) -> None:
    """deviceCount() is the number of devices that Python sees."""
    need_accelerator(backend)
    count = _function("_accelerator_hooks_device_count")()
    equal(count, backend.count, "the hooks' deviceCount()")


@check(called_by=f"{ANY_HOOKS}: setCurrentDevice", without="C++ code for any device has its own")
def the_hooks_and_the_guard_have_one_device(backend: Backend) -> None:
    """A device set by the hooks is the guard's, and one set by the guard is the hooks'."""
    need_accelerator(backend)
    get = _function("_accelerator_hooks_get_current_device")
    put = _function("_accelerator_hooks_set_current_device")
    with current_device(backend, backend.device):
        for index in reversed(range(backend.count)):
            put(index)
            equal((_current(), get()), (index, index), "the guard's and the hooks' device")
            on(torch.ones(1, device=backend.name), torch.device(backend.name, index))
        for index in range(backend.count):
            torch._C._accelerator_setDeviceIndex(index)
            equal(get(), index, "the hooks' getCurrentDevice()")


@check(called_by=f"{ANY_HOOKS}: exchangeDevice", without="generic code returns to another device")
def the_hooks_exchange_devices(backend: Backend) -> None:
    """exchangeDevice() gives the device before; maybeExchangeDevice(-1) changes nothing."""
    need_accelerator(backend)
    exchange = _function("_accelerator_hooks_exchange_device")
    maybe = _function("_accelerator_hooks_maybe_exchange_device")
    here, last = backend.device.index, backend.count - 1
    with current_device(backend, backend.device):
        equal(exchange(last), here, "what exchangeDevice() gives")
        equal(_current(), last, "the device after exchangeDevice()")
        equal(maybe(here), last, "what maybeExchangeDevice() gives")
        equal(_current(), here, "the device after maybeExchangeDevice()")
        maybe(-1)
        equal(_current(), here, "the device after maybeExchangeDevice(-1)")


@check(called_by=f"{ANY_HOOKS}: setCurrentDevice", without="a wrong index is another device's")
def the_hooks_refuse_what_is_not_there(backend: Backend) -> None:
    """The hooks refuse an index out of range, and the device stays."""
    need_accelerator(backend)
    with current_device(backend, backend.device):
        for name in (
            "_accelerator_hooks_set_current_device",
            "_accelerator_hooks_exchange_device",
            "_accelerator_hooks_maybe_exchange_device",
        ):
            for index in (backend.count, 99):
                with refused(*WRONG_DEVICE, what=f"torch._C.{name}({index})"):
                    _function(name)(index)
                equal(_current(), backend.device.index, "the current device")


# ---- the guard's devices


@check(called_by=f"{GUARD}: exchangeDevice", without="every DeviceGuard returns to another device")
def the_guard_exchanges_devices(backend: Backend) -> None:
    """The guard gives the device before, and the new one is current."""
    need_accelerator(backend)
    here, last = backend.device.index, backend.count - 1
    with current_device(backend, backend.device):
        equal(torch._C._accelerator_exchangeDevice(last), here, "what exchangeDevice() gives")
        equal(_current(), last, "the device afterwards")
        torch._C._accelerator_maybeExchangeDevice(here)
        equal(_current(), here, "the device in the end")


@check(called_by=f"{GUARD}: setDevice", without="a wrong index is another device's")
def the_guard_refuses_what_is_not_there(backend: Backend) -> None:
    """The guard refuses an index out of range, and the device stays."""
    need_accelerator(backend)
    with current_device(backend, backend.device):
        for set_device in (
            torch._C._accelerator_setDeviceIndex,
            torch._C._accelerator_exchangeDevice,
        ):
            for index in (backend.count, 99, 127):
                with refused(*WRONG_DEVICE, what=f"{set_device.__name__}({index})"):
                    set_device(index)
                equal(_current(), backend.device.index, "the current device")


def _on_another_device(other: torch.device) -> dict[str, Callable[[], object]]:
    matrix = torch.arange(6.0, device=other).view(2, 3)
    return {
        "empty": lambda: torch.empty(3, device=other),
        "arange": lambda: torch.arange(3, device=other),
        "add": lambda: matrix + matrix,
        "add a number": lambda: matrix + 1,
        "in place": lambda: matrix.add_(0),
        "matmul": lambda: matrix @ matrix.t(),
        "sum": lambda: matrix.sum(0),
        "sort": lambda: matrix.sort().values,
        "indexing": lambda: matrix[:, [0, 2]],
        "nonzero": lambda: matrix.nonzero(),
        "cat": lambda: torch.cat([matrix, matrix]),
        "view": lambda: matrix.view(-1)[2:],
        "clone": lambda: matrix.t().contiguous(),
        "to another dtype": lambda: matrix.half(),
        "from the CPU": lambda: torch.ones(2).to(other),
        "rand": lambda: torch.rand(2, device=other),
        "where": lambda: torch.where(matrix > 2, matrix, 0.0),
        "foreach": lambda: torch._foreach_add([matrix, matrix], 1)[1],
        "softmax": lambda: matrix.softmax(0),
        "unique": lambda: matrix.unique(),
        "relu": lambda: matrix.relu(),
        "exp": lambda: matrix.exp(),
        "neg": lambda: -matrix,
        "1 - x": lambda: 1 - matrix,
        "mean": lambda: matrix.mean(),
        "argmax": lambda: matrix.argmax(),
        "gelu": lambda: torch.nn.functional.gelu(matrix),
        "layer_norm": lambda: torch.nn.functional.layer_norm(matrix, (3,)),
        "conv1d": lambda: torch.nn.functional.conv1d(matrix, torch.ones(1, 2, 1, device=other)),
        "embedding": lambda: torch.nn.functional.embedding(matrix[0].long(), matrix.t()),
        "gather": lambda: matrix.gather(0, torch.zeros(1, 3, dtype=torch.int64, device=other)),
        "masked_fill": lambda: matrix.masked_fill(matrix > 2, 0.0),
        "one_hot": lambda: torch.nn.functional.one_hot(matrix.long()),
        "stack": lambda: torch.stack([matrix, matrix]),
        "randperm": lambda: torch.randperm(5, device=other),
        "eye": lambda: torch.eye(3, device=other),
        "fft": lambda: torch.fft.fft(matrix),
        "inv": lambda: torch.linalg.inv(torch.eye(2, device=other)),
    }


@check(
    called_by=f"{GUARD}: uncheckedSetDevice",
    without="a result is on the current device instead of that of its operands",
)
def tensors_of_another_device_stay_there(backend: Backend) -> None:
    """Operators on tensors of a device that is not current give tensors of that device."""
    need_accelerator(backend)
    other = backend.other_device
    with current_device(backend, backend.device):
        for name, call in _on_another_device(other).items():
            on(call(), other, f"the result of {name}")
            equal(_current(), backend.device.index, f"the current device after {name}")


@check(called_by="torch/_tensor.py: Tensor.__iter__", without="values of another device are read")
def values_of_another_device_are_read(backend: Backend) -> None:
    """item(), tolist(), copies and printing read the tensor's own device, and leave the current."""
    need_accelerator(backend)
    other = backend.other_device
    with current_device(backend, backend.device):
        decoy = torch.full((3,), -1.0, device=backend.device)
        tensor = torch.tensor([1.0, 2.0, 3.0], device=other)
        equal(tensor[1].item(), 2.0, "item()")
        equal(tensor.tolist(), [1.0, 2.0, 3.0], "tolist()")
        same(tensor.cpu(), torch.tensor([1.0, 2.0, 3.0]), CPU, "cpu()")
        assert "2." in repr(tensor) and str(other) in repr(tensor), f"repr() is {tensor!r}"
        equal(bool((tensor > 0).all()), True, "bool()")
        equal(decoy.tolist(), [-1.0] * 3, "the tensor of the current device")
        equal(_current(), backend.device.index, "the current device")


@check(
    called_by=f"{GUARD}: uncheckedSetDevice",
    without="an error that a program handles leaves it on another device",
)
def an_exception_restores_the_device(backend: Backend) -> None:
    """After an operator on another device has raised, the current device is the one before."""
    need_accelerator(backend)
    other = backend.other_device
    left, right = torch.ones(2, 3, device=other), torch.ones(2, 5, device=other)
    with current_device(backend, backend.device):
        for name, call in {
            "matmul": lambda: left @ right,
            "add": lambda: left + right,
            "cat": lambda: torch.cat([left, right]),
            "view": lambda: left.view(7),
            "copy_": lambda: left.copy_(right),
            "linear": lambda: torch.nn.functional.linear(left, right),
        }.items():
            with refused(RuntimeError, what=f"{name} of shapes that do not fit"):
                call()
            equal(_current(), backend.device.index, f"the current device after {name}")
            on(torch.ones(1, device=backend.name), backend.device)
    same(left, torch.ones(2, 3), other, "an operand of the refused operators")


@check(
    called_by="torch/autograd/graph.py: _engine_run_backward",
    without="backward of a model on another device runs on the current one",
)
def backward_runs_on_the_tensors_device(backend: Backend) -> None:
    """Backward of another device's tensors has that device current, and restores the caller's."""
    need_accelerator(backend)
    other = backend.other_device
    seen: list[int] = []
    with current_device(backend, backend.device):
        leaf = torch.tensor([1.0, 2.0], device=other, requires_grad=True)
        middle = leaf * 3
        middle.register_hook(lambda _: seen.append(_current()))
        (middle * middle).sum().backward()
        same(leaf.grad, torch.tensor([18.0, 36.0]), other, "the gradient")
        equal(seen, [other.index], "the current device during backward")
        equal(_current(), backend.device.index, "the current device afterwards")


@check(called_by=f"{GUARD}: setDevice", without="threads for several devices use each other's")
def the_guards_device_is_the_threads_own(backend: Backend) -> None:
    """The guard's device is a thread's own: two threads keep different ones at the same time."""
    need_accelerator(backend)
    devices = [backend.device, backend.other_device]
    meeting = threading.Barrier(2, timeout=30)
    seen: dict[int, list[torch.device]] = {}

    def run(device: torch.device) -> None:
        torch._C._accelerator_setDeviceIndex(device.index)
        meeting.wait()
        found = [torch.ones(1, device=backend.name).device for _ in range(3)]
        meeting.wait()
        seen[device.index] = [*found, torch.device(backend.name, _current())]

    threads = [threading.Thread(target=run, args=(device,)) for device in devices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for device in devices:
        equal(seen.get(device.index), [device] * 4, f"the devices of the thread on {device}")


# ---- the storage's size


@check(
    called_by="torch/distributed/fsdp/_fully_shard/_fsdp_param.py: free_storage",
    without="FSDP runs out of memory that it thinks it has freed",
)
def a_storage_can_be_emptied(backend: Backend) -> None:
    """UntypedStorage.resize_(0) frees the memory, and a later resize_ makes it usable again."""
    need_accelerator(backend)
    tensor = torch.ones(1024 * 1024, device=backend.device)
    before = torch.accelerator.memory_allocated(backend.device)
    tensor.untyped_storage().resize_(0)
    equal(tensor.untyped_storage().nbytes(), 0, "nbytes()")
    freed = before - torch.accelerator.memory_allocated(backend.device)
    assert freed >= tensor.nbytes, f"{freed} bytes of {tensor.nbytes} were freed"
    tensor.untyped_storage().resize_(tensor.nbytes)
    tensor.fill_(3)
    equal(tensor.sum().item(), 3.0 * tensor.numel(), "the sum of a tensor on the new memory")


@check(called_by=f"{HOOKS}: resizePrivateUse1Bytes", without="a resized storage moves elsewhere")
def a_storage_of_another_device_is_resized_there(backend: Backend) -> None:
    """resize_() of another device's storage stays on that device and keeps the current one."""
    need_accelerator(backend)
    other = backend.other_device
    with current_device(backend, backend.device):
        tensor = torch.arange(4.0, device=other)
        tensor.untyped_storage().resize_(4096)
        equal(tensor.untyped_storage().device, other, "the storage's device")
        same(tensor, torch.arange(4.0), other)
        equal(_current(), backend.device.index, "the current device")


# ---- the hooks' generators


@check(called_by=f"{HOOKS}: getDefaultGenerator", without="a seed goes to another device")
def the_default_generator_is_the_current_devices(backend: Backend) -> None:
    """Operators without an index draw from the current device's generator, with one from its."""
    need_accelerator(backend)
    get, put = backend.need("get_rng_state"), backend.need("set_rng_state")
    indices = range(backend.count)
    states = [get(index) for index in indices]
    for index in indices:
        with current_device(backend, torch.device(backend.name, index)):
            torch.rand(8, device=backend.name)
        moved = [not torch.equal(get(i), states[i]) for i in indices]
        equal(moved, [i == index for i in indices], f"which states moved by device {index}'s draw")
        put(states[index], index)


@check(called_by=f"{HOOKS}: getNewGenerator", without="torch.Generator is of another device")
def new_generators_are_of_their_device(backend: Backend) -> None:
    """torch.Generator(device) is on that device, its numbers too, apart from the default one."""
    for index in range(backend.count if backend.name != "cpu" else 1):
        device = torch.device(backend.name, index) if backend.name != "cpu" else CPU
        generator = torch.Generator(device)
        equal(generator.device, device, "the generator's device")
        drawn = torch.rand(8, device=device, generator=generator.manual_seed(7))
        on(drawn, device)
        torch.rand(8, device=device)
        again = torch.rand(8, device=device, generator=torch.Generator(device).manual_seed(7))
        same(again, drawn.cpu(), device, "the numbers of the same seed")


@check(called_by=f"{HOOKS}: getNewGenerator", without="a wrong index is another device's generator")
def generators_of_no_device_are_refused(backend: Backend) -> None:
    """torch.Generator() refuses an index out of range."""
    need_accelerator(backend)
    for index in (backend.count, 99):
        with refused(*WRONG_DEVICE, what=f"torch.Generator of device {index}"):
            torch.Generator(torch.device(backend.name, index))
