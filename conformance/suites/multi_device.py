"""Several devices: copies between them, their streams and gradients, and whose turn it is"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from ..backend import Backend
from ..check import Check, Unsupported, check, variants
from ..current import current_device, need_accelerator
from ..expect import equal, on, refused, same

GUARD = "torch/include/c10/core/impl/DeviceGuardImplInterface.h: exchangeDevice"
COPY = "torch/include/ATen/ops/_copy_from.h: _copy_from"
BACKWARD = "torch/autograd/graph.py: _engine_run_backward"
EVENTS = "torch/include/c10/core/impl/DeviceGuardImplInterface.h: block"
COUNT = 1000

Pair = tuple[torch.device, torch.device]


def _pairs(backend: Backend) -> list[Pair]:
    """Both ways between the device and another one."""
    need_accelerator(backend)
    other = backend.other_device
    return [(backend.device, other), (other, backend.device)]


def _stays(backend: Backend) -> None:
    current = torch.accelerator.current_device_index()
    equal(current, backend.device.index, "the current device")


# ---- copies


COPIES: dict[str, Callable[[torch.Tensor, torch.device], torch.Tensor]] = {
    "to": lambda t, d: t.to(d),
    "to, not blocking": lambda t, d: t.to(d, non_blocking=True),
    "to, with a copy": lambda t, d: t.to(d, copy=True),
    "copy_": lambda t, d: torch.empty(t.shape, device=d).copy_(t),
    "copy_, not blocking": lambda t, d: torch.empty(t.shape, device=d).copy_(t, non_blocking=True),
    "copy_ to a transposed": lambda t, d: torch.empty(t.t().shape, device=d).t().copy_(t),
    "copy_ to a slice": lambda t, d: torch.zeros(40, 100, device=d)[5:25, ::2].copy_(t),
    "of a transposed": lambda t, d: t.t().to(d).t(),
    "of a slice": lambda t, d: torch.cat([t, t])[: len(t)].to(d),
    "of every other column": lambda t, d: t.repeat_interleave(2, 1)[:, ::2].to(d),
    "of an expanded": lambda t, d: t[None].expand(3, -1, -1).to(d)[2],
    "to another dtype and back": lambda t, d: t.to(d, torch.int32).float(),
    "with a change of dtype": lambda t, d: torch.empty(t.shape, device=d).copy_(t.int()),
    "with a change of layout": lambda t, d: t[None, None]
    .to(d, memory_format=torch.channels_last)
    .squeeze(),
    "an assigned slice": lambda t, d: _assigned(t, d),
    "by way of a third": lambda t, d: t.cpu().to(d),
    "of a conjugated": lambda t, d: torch.complex(t, t).conj().to(d).conj().real,
    "foreach": lambda t, d: _foreach_copied(t, d),
    "in a thread": lambda t, d: _copied_in_a_thread(t, d),
}


def _assigned(source: torch.Tensor, device: torch.device) -> torch.Tensor:
    target = torch.zeros(source.shape, device=device)
    target[:] = source
    return target


def _foreach_copied(source: torch.Tensor, device: torch.device) -> torch.Tensor:
    targets = [torch.zeros(source.shape, device=device) for _ in range(2)]
    torch._foreach_copy_(targets, [source, source])
    return targets[1]


def _copied_in_a_thread(source: torch.Tensor, device: torch.device) -> torch.Tensor:
    found: list[torch.Tensor] = []
    thread = threading.Thread(target=lambda: found.append(source.to(device)))
    thread.start()
    thread.join()
    return found[0]


def copies_arrive(backend: Backend, copy: Callable) -> None:
    """The copy is on the other device with the same values, both ways, whichever is current, and
    the current device stays."""
    expected = torch.arange(COUNT, dtype=torch.float32).view(20, 50)
    for source, target in _pairs(backend):
        with current_device(backend, backend.device):
            tensor = expected.to(source)
            found = copy(tensor, target)
            same(found, expected, target, f"the copy from {source}")
            same(tensor, expected, source, "the original")
            _stays(backend)
            found.fill_(-1)
            same(tensor, expected, source, "the original after a change of the copy")


COPIED: list[Check] = variants(
    Check(copies_arrive, called_by=COPY, without="a model split over devices computes nonsense"),
    copies_arrive,
    {name: (copy,) for name, copy in COPIES.items()},
)


@check(called_by=COPY, without="values are rounded or garbled on their way")
def every_dtype_is_copied(backend: Backend) -> None:
    """Tensors of each dtype, without values and without dimensions, arrive as they were."""
    for source, target in _pairs(backend):
        dtypes = (
            torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
            torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128,
        )  # fmt: skip
        for dtype in backend.having(dtypes):
            expected = torch.arange(11).to(dtype)
            same(expected.to(source).to(target), expected, target, f"a tensor of {dtype}")
        same(torch.tensor(7, device=source).to(target), torch.tensor(7), target, "a value")
        same(torch.ones(0, 3, device=source).to(target), torch.ones(0, 3), target, "no values")


@check(called_by=COPY, without="a copy takes what the source will be, or was")
def copies_are_in_order(backend: Backend) -> None:
    """A copy has what was computed before it, and nothing of what is computed after it."""
    for source, target in _pairs(backend):
        tensor = torch.zeros(100_000, device=source)
        copies = []
        for step in range(10):
            tensor.fill_(step)
            copies.append(tensor.to(target, non_blocking=True))
        tensor.fill_(-1)
        for step, found in enumerate(copies):
            same(found, torch.full((100_000,), float(step)), target, f"copy {step}")


@check(called_by=COPY, without="memory of a copy's source is reused before the copy is made")
def sources_live_until_they_are_copied(backend: Backend) -> None:
    """A copy is right although its source is freed, and its memory used again, at once."""
    for source, target in _pairs(backend):
        copies = []
        for step in range(10):
            copies.append(torch.full((50_000,), float(step), device=source).to(target))
            torch.full((50_000,), -1.0, device=source)
        for step, found in enumerate(copies):
            same(found, torch.full((50_000,), float(step)), target, f"copy {step}")


@check(called_by=COPY, without="the same memory is said to be another device's")
def tensors_of_two_devices_are_apart(backend: Backend) -> None:
    """Tensors of two devices have memory of their own: a change of one is no change of the
    other."""
    devices = (backend.device, backend.other_device)
    need_accelerator(backend)
    tensors = [torch.full((COUNT,), float(device.index), device=device) for device in devices]
    for tensor, device in zip(tensors, devices, strict=True):
        same(tensor, torch.full((COUNT,), float(device.index)), device)
    tensors[0].fill_(9)
    same(tensors[1], torch.full((COUNT,), float(devices[1].index)), devices[1], "the other one")


# ---- operators


@check(called_by=GUARD, without="a layer of the second device runs on the first")
def models_run_where_they_are(backend: Backend) -> None:
    """A model on a device that is not current runs there, forward, backward and its step."""
    other = backend.other_device
    need_accelerator(backend)

    def trained(device: torch.device) -> tuple[torch.Tensor, torch.nn.Module]:
        network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        with torch.no_grad():
            for number, parameter in enumerate(network.parameters()):
                values = torch.arange(parameter.numel()) % 5 - number
                parameter.copy_(values.view_as(parameter) / 8)
        network.to(device)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
        source = (torch.arange(12.0).view(3, 4) / 8).to(device)
        for _ in range(2):
            optimizer.zero_grad()
            loss = (network(source) ** 2).mean()
            loss.backward()
            optimizer.step()
        return loss, network

    expected, reference = trained(torch.device("cpu"))
    with current_device(backend, backend.device):
        loss, network = trained(other)
        same(loss, expected, other, "the loss", rtol=1e-4, atol=1e-5)
        for found, parameter in zip(network.parameters(), reference.parameters(), strict=True):
            same(found, parameter, other, "a parameter", rtol=1e-4, atol=1e-5)
            on(found.grad, other, "a gradient")
        _stays(backend)


MIXED: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "add": lambda a, b: a + b,
    "mul_": lambda a, b: a.mul_(b),
    "mm": lambda a, b: a @ b,
    "addmm": lambda a, b: torch.addmm(a, a, b),
    "cat": lambda a, b: torch.cat([a, b]),
    "where": lambda a, b: torch.where(a > 0, a, b),
    "linear": lambda a, b: F.linear(a, b),
    "out=": lambda a, b: torch.add(a, a, out=b),
    "an index": lambda a, b: a[b.long() % 2],
    "gather": lambda a, b: a.gather(0, b.long() % 2),
    "index_select": lambda a, b: a.index_select(0, b.long()[0] % 2),
    "masked_fill": lambda a, b: a.masked_fill(b > 0, 0.0),
    "mse_loss": lambda a, b: F.mse_loss(a, b),
    "equal": lambda a, b: torch.equal(a, b),
    "a value without dimensions": lambda a, b: a + b[0, 0],
    "foreach": lambda a, b: torch._foreach_add([a], [b]),
}


def two_devices_are_refused(backend: Backend, call: Callable) -> None:
    """The operator refuses tensors of two devices, both ways, and changes neither."""
    expected = torch.arange(1.0, 5.0).view(2, 2)
    for left, right in _pairs(backend):
        first, second = expected.to(left), expected.to(right)
        with refused(RuntimeError, ValueError, what=f"tensors of {left} and {right}"):
            call(first, second)
        same(first, expected, left, "the first afterwards")
        same(second, expected, right, "the second afterwards")


REFUSED: list[Check] = variants(
    Check(
        two_devices_are_refused,
        called_by="torch/include/c10/core/DeviceGuard.h: DeviceGuard",
        without="a kernel of one device reads the memory of another",
    ),
    two_devices_are_refused,
    {name: (call,) for name, call in MIXED.items()},
)


@check(called_by=GUARD, without="nobody finds out which of the two was meant")
def errors_name_both_devices(backend: Backend) -> None:
    """The refusal of add, mm and cat names both devices."""
    for left, right in _pairs(backend):
        first, second = torch.ones(2, 2, device=left), torch.ones(2, 2, device=right)
        for name, call in {
            "add": lambda a, b: a + b,
            "mm": lambda a, b: a @ b,
            "cat": lambda a, b: torch.cat([a, b]),
        }.items():
            with refused(RuntimeError, naming=(str(left), str(right)), what=name):
                call(first, second)


# ---- autograd


@check(called_by=BACKWARD, without="a model split over devices cannot be trained")
def gradients_go_between_devices(backend: Backend) -> None:
    """Gradients flow back over copies between devices, each to the device of its leaf."""
    for left, right in _pairs(backend):
        with current_device(backend, backend.device):
            first = torch.tensor([1.0, 2.0], device=left, requires_grad=True)
            second = torch.tensor([3.0, 4.0], device=right, requires_grad=True)
            out = ((first * 2).to(right) * second).to(left) * first
            out.sum().backward()
            same(first.grad, torch.tensor([12.0, 32.0]), left, "the first gradient")
            same(second.grad, torch.tensor([2.0, 8.0]), right, "the second gradient")
            _stays(backend)


@check(called_by=BACKWARD, without="gradients of two branches are lost or added on a wrong device")
def branches_on_two_devices_are_added(backend: Backend) -> None:
    """A leaf that is used on two devices has the sum of both gradients, on its own device."""
    for left, right in _pairs(backend):
        leaf = torch.ones(COUNT, device=left, requires_grad=True)
        for _ in range(2):
            here = (leaf * 2).sum()
            there = (leaf.to(right) * 3).sum()
            (here + there.to(left)).backward()
        same(leaf.grad, torch.full((COUNT,), 10.0), left, "the gradient")


@check(called_by=BACKWARD, without="hooks of one device run on another")
def each_device_has_its_own_thread(backend: Backend) -> None:
    """In backward each device's part runs with that device current, and with its current stream."""
    seen: dict[torch.device, tuple[int, torch.device]] = {}
    for left, right in _pairs(backend):
        seen.clear()

        def note(gradient: torch.Tensor) -> None:
            seen[gradient.device] = (
                torch.accelerator.current_device_index(),
                torch.accelerator.current_stream().device,
            )

        with current_device(backend, backend.device):
            first = torch.ones(2, device=left, requires_grad=True)
            middle = first * 2
            other = middle.to(right) * 3
            middle.register_hook(note)
            other.register_hook(note)
            other.sum().backward()
        expected = {device: (device.index, device) for device in (left, right)}
        equal(seen, expected, "the current device and stream by gradient")


# ---- streams and events


def _need_streams(backend: Backend) -> None:
    need_accelerator(backend)
    backend.need("Stream")
    backend.need("Event")


@check(called_by=EVENTS, without="work of one device does not wait for that of another")
def a_stream_waits_for_another_devices_event(backend: Backend) -> None:
    """An event of one device can be waited for by a stream of the other."""
    _need_streams(backend)
    for left, right in _pairs(backend):
        with current_device(backend, backend.device):
            source, target = torch.Stream(device=left), torch.Stream(device=right)
            found = torch.zeros(COUNT, device=right)
            torch.accelerator.synchronize(right)
            with source:
                made = torch.full((COUNT,), 5.0, device=left)
                event = source.record_event()
            with target:
                target.wait_event(event)
                found.copy_(made)
            target.synchronize()
            same(found, torch.full((COUNT,), 5.0), right)
            equal((source.device, target.device), (left, right), "the streams' devices")
            equal(event.device.index, left.index, "the event's device")


@check(called_by=EVENTS, without="streams of two devices cannot be chained")
def a_stream_waits_for_another_devices_stream(backend: Backend) -> None:
    """wait_stream() takes a stream of the other device, and query() and synchronize() work on
    both."""
    _need_streams(backend)
    for left, right in _pairs(backend):
        source, target = torch.Stream(device=left), torch.Stream(device=right)
        target.wait_stream(source)
        source.wait_stream(target)
        for stream in (source, target):
            stream.synchronize()
            equal(stream.query(), True, "query() after synchronize()")


@check(
    called_by="torch/accelerator/__init__.py: set_stream",
    without="a program for two devices changes the stream of the first with that of the second",
)
def each_device_has_its_own_current_stream(backend: Backend) -> None:
    """A stream made current on one device leaves the other device's as it was, and `with stream`
    brings device and stream back."""
    _need_streams(backend)
    current = torch.accelerator.current_stream
    for left, right in _pairs(backend):
        with current_device(backend, backend.device):
            before = current(left), current(right)
            stream = torch.Stream(device=right)
            if stream == before[1]:
                raise Unsupported("a new torch.Stream is the device's current one")
            with stream:
                equal(torch.accelerator.current_device_index(), right.index, "the device inside")
                equal(current(right), stream, "the stream inside")
                equal(current(left), before[0], "the other device's stream inside")
                on(torch.ones(1, device=backend.name), right)
            equal((current(left), current(right)), before, "the streams afterwards")
            _stays(backend)


# ---- what is counted by device


@check(
    called_by="torch/nn/utils/clip_grad.py: clip_grad_norm_",
    without="models split over devices cannot be clipped",
)
def norms_of_two_devices_are_taken_together(backend: Backend) -> None:
    """clip_grad_norm_() of parameters on two devices takes one norm and scales each in place."""
    devices = _pairs(backend)[0]
    weights = [torch.zeros(2, device=device, requires_grad=True) for device in devices]
    weights[0].grad = torch.tensor([3.0, 0.0], device=devices[0])
    weights[1].grad = torch.tensor([0.0, 4.0], device=devices[1])
    total = torch.nn.utils.clip_grad_norm_(weights, 1.0)
    equal(round(total.item(), 4), 5.0, "the norm")
    for weight, expected, device in zip(weights, ([0.6, 0.0], [0.0, 0.8]), devices, strict=True):
        same(weight.grad, torch.tensor(expected), device, "a gradient", rtol=1e-4, atol=1e-5)


@check(
    called_by="torch/optim/optimizer.py: Optimizer.step",
    without="one optimizer cannot serve a model on two devices",
)
def optimizers_step_on_two_devices(backend: Backend) -> None:
    """One optimizer steps on both devices, with its state beside each parameter."""
    devices = _pairs(backend)[0]
    for kind in (torch.optim.SGD, torch.optim.Adam):
        options: dict[str, Any] = {"momentum": 0.9} if kind is torch.optim.SGD else {}
        weights = [torch.ones(3, device=device, requires_grad=True) for device in devices]
        reference = torch.ones(3, requires_grad=True)
        for tensors in (weights, [reference]):
            optimizer = kind(tensors, lr=0.1, **options)
            for _ in range(2):
                for tensor in tensors:
                    tensor.grad = torch.full((3,), 2.0, device=tensor.device)
                optimizer.step()
            for tensor in tensors:
                for value in optimizer.state[tensor].values():
                    if value.dim():
                        on(value, tensor.device, f"a state of {kind.__name__}")
        for weight, device in zip(weights, devices, strict=True):
            same(weight, reference, device, f"a weight of {kind.__name__}", rtol=1e-5, atol=1e-6)


@check(called_by=GUARD, without="threads, one for each device, disturb each other")
def devices_are_used_at_once(backend: Backend) -> None:
    """Threads that use two devices at the same time get right results on their own device."""
    devices = _pairs(backend)[0]
    failures: list[BaseException] = []

    def work(device: torch.device) -> None:
        try:
            torch.accelerator.set_device_index(device.index)
            for step in range(20):
                leaf = torch.full((COUNT,), float(step), device=backend.name, requires_grad=True)
                (leaf * leaf).sum().backward()
                same(leaf.grad, torch.full((COUNT,), 2.0 * step), device, f"gradient {step}")
        except BaseException as error:  # handed to the thread that checks
            failures.append(error)

    threads = [threading.Thread(target=work, args=(device,)) for device in devices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@check(
    called_by="torch/nn/parallel/replicate.py: replicate",
    without="a copy of a model on the second device trains the first",
)
def a_model_is_moved_between_devices(backend: Backend) -> None:
    """A model that goes from device to device, and back, has its weights each time."""
    layer = torch.nn.Linear(3, 2)
    expected = {name: value.clone() for name, value in layer.state_dict().items()}
    first, second = _pairs(backend)[0]
    for device in (first, second, first, torch.device("cpu"), second):
        layer.to(device)
        for name, value in layer.state_dict().items():
            same(value, expected[name], device, f"{name} on {device}")


@check(called_by=GUARD, without="a result of the first device is on the second")
def results_follow_their_operands(backend: Backend) -> None:
    """*_like, new_* and results are on the operand's device, whichever is current."""
    for device, current in [*_pairs(backend), (backend.other_device, backend.other_device)]:
        with current_device(backend, current):
            tensor = torch.arange(6.0, device=device).view(2, 3)
            for name, found in {
                "zeros_like": torch.zeros_like(tensor),
                "rand_like": torch.rand_like(tensor),
                "new_full": tensor.new_full((2,), 3.0),
                "new_tensor": tensor.new_tensor([1.0]),
                "sum": tensor.sum(),
                "max": tensor.max(0).indices,
                "sort": tensor.sort().values,
                "matmul": tensor @ tensor.t(),
                "nonzero": tensor.nonzero(),
                "sparse": tensor.to_sparse(),
                "conv1d": F.conv1d(tensor[None], torch.ones(1, 2, 1, device=device)),
                "dropout": F.dropout(tensor),
                "one_hot": F.one_hot(tensor.long()),
                "tril_indices": torch.tril_indices(3, 3, device=device),
                "linalg.qr": torch.linalg.qr(tensor).Q,
            }.items():
                on(found, device, name)


@check(
    called_by="torch/nn/parallel/comm.py: gather",
    without="results of several devices cannot be brought together",
)
def parts_are_brought_together(backend: Backend) -> None:
    """A batch that is split over all devices, and brought together on one, is as before."""
    need_accelerator(backend)
    backend.other_device  # noqa: B018 - Skipped with one device
    devices = [torch.device(backend.name, index) for index in range(backend.count)]
    batch = torch.arange(float(6 * len(devices))).view(-1, 3)
    parts = [
        part.to(device) * 2 for part, device in zip(batch.chunk(len(devices)), devices, strict=True)
    ]
    for target in (devices[-1], torch.device("cpu")):
        same(torch.cat([part.to(target) for part in parts]), batch * 2, target)
