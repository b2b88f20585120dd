"""Data on the device: how it gets there and back, and how a tensor is shown, asked and compared."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import torch

from ..apart import need_device
from ..backend import Backend
from ..busy import every_stream, keep_busy, stays_where_it_is
from ..check import check, variants

DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
)


def numbers(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.arange(24).reshape(4, 6).to(dtype)


def same(actual: torch.Tensor, expected: torch.Tensor, device: torch.device) -> None:
    """As on the CPU, and on the device."""
    assert actual.device == device, f"on {actual.device}, expected {device}"
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    assert torch.equal(actual.cpu(), expected.resolve_conj().resolve_neg()), "other numbers"


# ---- to the device and back


def goes_there_and_back(backend: Backend, dtype: torch.dtype) -> None:
    """Numbers of a dtype go to the device and come back as they were: all of a tensor, parts of it,
    one, and none."""
    x = numbers(dtype)
    views = {
        "all": lambda x: x,
        "transposed": lambda x: x.t(),
        "every other": lambda x: x[::2, 1::2],
        "one row": lambda x: x[2],
        "expanded": lambda x: x[:1].expand(3, 6),
        "one": lambda x: x[1, 1],
        "none": lambda x: x[:0],
    }
    for name, view in views.items():
        for non_blocking in (False, True):
            there = view(x).to(backend.device, non_blocking=non_blocking)
            same(there, view(x), backend.device)
        back = view(x.to(backend.device)).cpu()
        assert back.device.type == "cpu" and back.dtype == dtype
        assert torch.equal(back, view(x)), f"{name}: other numbers"
        target = torch.zeros_like(view(x).contiguous())
        target.copy_(view(x.to(backend.device)))
        assert torch.equal(target, view(x)), f"{name}, by copy_: other numbers"
        onto = view(torch.zeros_like(x).to(backend.device)) if name != "expanded" else None
        if onto is not None:
            onto.copy_(view(x))
            assert torch.equal(onto.cpu(), view(x)), f"{name}, onto a view: other numbers"


moved = variants(
    check(
        called_by="torch/include/ATen/ops/_copy_from.h: _copy_from",
        without="data is other data on the device",
    )(goes_there_and_back),
    goes_there_and_back,
    {str(dtype).removeprefix("torch."): (dtype,) for dtype in DTYPES},
)


@check(
    called_by="torch/_C/__init__.pyi: to",
    without="programs that move data in one of torch's ways fail",
)
def every_form_of_to_moves(backend: Backend) -> None:
    """`to` takes a device as an object, a string and another tensor, with a dtype, a memory format
    and copy, and copies only where it has to."""
    x, device, other = numbers(), backend.device, backend.other_float
    there = torch.ones(1, dtype=other, device=device)
    calls: dict[str, Callable[[], torch.Tensor]] = {
        "to(device)": lambda: x.to(device),
        "to('name:i')": lambda: x.to(str(device)),
        "to('name')": lambda: x.to(backend.name),
        "to(device=)": lambda: x.to(device=device),
        "to(device, dtype)": lambda: x.to(device, other),
        "to(device, dtype, non_blocking)": lambda: x.to(device, torch.int64, True),
        "to(dtype=, device=)": lambda: x.to(dtype=torch.float16, device=device),
        "to(other)": lambda: x.to(there),
        "to(copy=True)": lambda: x.to(device, copy=True),
        "type_as": lambda: x.type_as(there),
    }
    dtypes = {
        "to(device, dtype)": other,
        "to(device, dtype, non_blocking)": torch.int64,
        "to(dtype=, device=)": torch.float16,
        "to(other)": other,
        "type_as": other,
    }
    for name, call in calls.items():
        made = call()
        assert made.device == device, f"{name}: on {made.device}"
        assert made.dtype == dtypes.get(name, torch.float32), f"{name}: {made.dtype}"
        assert torch.equal(made.cpu().float(), x), f"{name}: other numbers"
    y = x.to(device)
    assert y.to(device) is y and y.to(backend.device, torch.float32) is y and y.to(y) is y
    copied = y.to(device, copy=True)
    assert copied is not y and copied.data_ptr() != y.data_ptr()
    assert torch.equal(copied, y)
    last = numbers().reshape(1, 4, 2, 3).to(device, memory_format=torch.channels_last)
    assert last.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(last.cpu(), numbers().reshape(1, 4, 2, 3))
    kept = numbers().reshape(1, 4, 2, 3).to(memory_format=torch.channels_last).to(device)
    assert kept.stride() == last.stride(), "the strides were lost on the way"
    assert x.to(device).cpu().to(other).to(device).dtype == other


@check(
    called_by="torch/include/ATen/ops/_copy_from.h: _copy_from",
    without="data is other data on a second device",
)
def devices_exchange_data(backend: Backend) -> None:
    """Tensors and views go from one device to another and back, by `to` and by copy_, in every
    layout, and neither changes the current device."""
    other = backend.other_device
    x = numbers().to(backend.device)
    for view in (lambda x: x, lambda x: x.t(), lambda x: x[::2, 1:], lambda x: x[:0]):
        there = view(x).to(other)
        same(there, view(numbers()), other)
        same(there.to(backend.device), view(numbers()), backend.device)
        target = torch.zeros_like(view(x).contiguous(), device=other)
        target.copy_(view(x))
        same(target, view(numbers()), other)
        strided = view(torch.zeros(4, 6, device=other))
        strided.copy_(view(x))
        same(strided, view(numbers()), other)
    assert x.to(other, torch.int32).dtype == torch.int32
    assert torch.accelerator.current_device_index() == backend.device.index


@check(
    called_by="torch/include/ATen/native/ComplexHelper.h: view_tensor",
    without="lazy conjugates and negatives lose their sign on the way",
)
def lazy_conjugates_and_negatives_arrive(backend: Backend) -> None:
    """Conjugates and negatives that are only noted arrive with the right values, in either
    direction and onto each other."""
    z = torch.complex(numbers(), numbers() + 1)
    there = z.to(backend.device)
    assert torch.equal(z.conj().to(backend.device).cpu(), z.conj().resolve_conj())
    assert torch.equal(there.conj().cpu(), z.conj().resolve_conj())
    assert torch.equal(there.conj().imag.cpu(), -z.imag)
    assert torch.equal(z.conj().imag.to(backend.device).cpu(), -z.imag)
    target = torch.zeros_like(there)
    target.conj().copy_(z)
    assert torch.equal(target.cpu(), z.conj().resolve_conj())
    target.copy_(there.conj())
    assert torch.equal(target.cpu(), z.conj().resolve_conj())
    host = torch.zeros_like(z)
    host.conj().copy_(there)
    assert torch.equal(host, z.conj().resolve_conj())
    negative = torch._neg_view(there)
    assert torch.equal(negative.cpu(), -z)
    assert there.conj()[0, 1].item() == z[0, 1].item().conjugate()
    assert there.conj().resolve_conj().tolist() == z.conj().tolist()


@check(
    called_by="torch/include/ATen/ops/_copy_from.h: _copy_from",
    without="numbers are cut off or rounded otherwise than on the CPU",
)
def copies_convert_as_the_cpu_does(backend: Backend) -> None:
    """A copy between dtypes, on the device and from and to the CPU, gives the CPU's numbers."""
    sources = (torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64)
    targets = (torch.float64, torch.float16, torch.int32, torch.bool, torch.complex128)
    x = numbers()
    for source in backend.having(sources):
        for target in backend.having(targets):
            if source.is_complex and not target.is_complex:
                continue
            a = x.to(source)
            expected = a.to(target)
            there = a.to(backend.device)
            same(there.to(target), expected, backend.device)
            same(
                torch.zeros(4, 6, dtype=target, device=backend.device).copy_(a),
                expected,
                there.device,
            )
            back = torch.zeros(4, 6, dtype=target).copy_(there)
            assert torch.equal(back, expected), f"{source} to {target}"


@check(
    called_by="torch/_C/_VariableFunctions.pyi: as_tensor",
    without="data of lists, numpy and bytes cannot be put on the device",
)
def every_factory_makes_it_there(backend: Backend) -> None:
    """Each of torch's factories makes its tensor on the device that was asked for, with the CPU's
    numbers."""
    import array

    numpy = torch.arange(3).numpy()
    calls: dict[str, Callable[..., torch.Tensor]] = {
        "tensor": lambda **o: torch.tensor([[1.0, 2], [3, 4]], **o),
        "tensor of a number": lambda **o: torch.tensor(5, **o),
        "tensor of nothing": lambda **o: torch.tensor([], **o),
        "as_tensor": lambda **o: torch.as_tensor([1, 2], **o),
        "as_tensor of numpy": lambda **o: torch.as_tensor(numpy, **o),
        "as_tensor of a tensor": lambda **o: torch.as_tensor(torch.ones(2), **o),
        "asarray": lambda **o: torch.asarray([1, 2], **o),
        "asarray of numpy": lambda **o: torch.asarray(numpy, **o),
        "frombuffer": lambda device: torch.frombuffer(
            array.array("f", [1, 2, 3]), dtype=torch.float32
        ).to(device),
        "scalar_tensor": lambda **o: torch.scalar_tensor(2.5, **o),
        "zeros": lambda **o: torch.zeros(2, 3, **o),
        "ones": lambda **o: torch.ones((2, 3), dtype=torch.int32, **o),
        "full": lambda **o: torch.full((2,), 7.5, **o),
        "arange": lambda **o: torch.arange(1, 10, 3, **o),
        "range of floats": lambda **o: torch.arange(0, 1, 0.25, **o),
        "linspace": lambda **o: torch.linspace(0, 1, 5, **o),
        "logspace": lambda **o: torch.logspace(0, 2, 3, **o),
        "eye": lambda **o: torch.eye(3, 2, **o),
        "tril_indices": lambda **o: torch.tril_indices(3, 3, **o),
        "hann_window": lambda **o: torch.hann_window(5, **o),
        "complex": lambda **o: torch.tensor([1 + 2j], **o),
        "bool": lambda **o: torch.tensor([True, False], **o),
        "zeros_like": lambda **o: torch.zeros_like(torch.ones(2, 2), **o),
        "full_like": lambda **o: torch.full_like(torch.ones(2, 2), 3, **o),
        "new_tensor": lambda **o: torch.ones(1).new_tensor([1, 2], **o),
        "new_zeros": lambda **o: torch.ones(1).new_zeros(3, **o),
        "new_full": lambda **o: torch.ones(1).new_full((2,), 9, **o),
    }
    wrong = []
    for name, call in calls.items():
        expected, actual = call(device="cpu"), call(device=backend.device)
        if (
            actual.device != backend.device
            or actual.dtype != expected.dtype
            or not torch.allclose(actual.cpu(), expected)
        ):
            wrong.append(name)
    assert not wrong, f"not as on the CPU: {', '.join(wrong)}"


@check(
    called_by="torch/utils/_device.py: DeviceContext",
    without="models are made on the CPU in spite of a default device",
)
def the_default_device_is_used(backend: Backend) -> None:
    """torch.set_default_device and `with torch.device(...)` put new tensors and modules on the
    device, and end where they should."""
    need_device(backend)
    before = torch.get_default_device()
    try:
        torch.set_default_device(backend.device)
        assert torch.get_default_device() == backend.device
        for made in (torch.ones(2), torch.tensor([1]), torch.rand(2), torch.nn.Linear(1, 1).weight):
            assert made.device == backend.device, f"on {made.device}"
        assert torch.ones(1, device="cpu").device.type == "cpu"
    finally:
        torch.set_default_device(None)
    assert torch.get_default_device() == before and torch.ones(1).device.type == "cpu"
    for device in (backend.device, torch.device(backend.name)):
        with device:
            assert torch.empty(1).device == backend.device
            with torch.device("cpu"):
                assert torch.empty(1).device.type == "cpu"
            assert torch.arange(2).device == backend.device
    assert torch.empty(1).device.type == "cpu"
    for index in range(backend.count):
        with torch.device(backend.name, index):
            assert torch.empty(1).device.index == index


@check(
    called_by="torch/accelerator/__init__.py: device_index",
    without="tensors are made on the wrong device",
)
def no_index_means_the_current_device(backend: Backend) -> None:
    """A device without an index is the current one, for factories, moves and modules."""
    other = backend.other_device
    with stays_where_it_is(backend):
        torch.accelerator.set_device_index(other.index)
        assert torch.ones(1, device=backend.name).device == other
        assert torch.ones(1).to(backend.name).device == other
        assert torch.nn.Linear(1, 1).to(backend.name).weight.device == other
        here = torch.ones(1, device=backend.device)
        assert here.device == backend.device and (here + 1).device == backend.device
        assert torch.zeros_like(here).device == backend.device
        assert torch.accelerator.current_device_index() == other.index, "an operator moved it"


# ---- what a tensor says of itself


@check(
    called_by="torch/_tensor_str.py: _str",
    without="tensors cannot be looked at",
)
def tensors_are_printed(backend: Backend) -> None:
    """repr of a tensor is the CPU's with the device in it: of numbers, none, one, many, views,
    complex, bool, and gradients."""
    need_device(backend)
    tensors = {
        "floats": numbers() / 7,
        "whole": numbers(torch.int64),
        "bool": numbers() > 3,
        "complex": torch.complex(numbers(), numbers()),
        "half": numbers(torch.float16),
        "one": torch.tensor(3.5),
        "none": torch.empty(0, 3),
        "many": torch.arange(2000.0),
        "not a number": torch.tensor([float("nan"), float("inf"), 1e-9, 1e9]),
        "transposed": numbers().t(),
    }
    for name, x in tensors.items():
        text, expected = repr(x.to(backend.device)), repr(x)
        assert f"device='{backend.device}'" in text, f"{name}: no device in {text!r}"
        bare = text.replace(f"device='{backend.device}'", "").replace(" ", "").replace("\n", "")
        plain = expected.replace(" ", "").replace("\n", "")
        assert bare.replace(",,", ",").replace(",)", ")") == plain, f"{name}: {text} of {expected}"
    leaf = torch.ones(2, device=backend.device, requires_grad=True)
    assert "requires_grad=True" in repr(leaf) and "grad_fn=<Mul" in repr(leaf * 2)
    assert f"{torch.tensor(2.5, device=backend.device):.3f}" == "2.500"
    assert f"{torch.tensor(7, device=backend.device):04d}" == "0007"
    parameter = torch.nn.Parameter(torch.ones(1, device=backend.device))
    assert repr(parameter).startswith("Parameter containing")


@check(
    called_by="torch/_tensor.py: __array__",
    without="a mistake gives numbers from who knows where",
)
def numbers_come_out_as_pythons(backend: Backend) -> None:
    """item, tolist, bool, int, float, complex, index, len and iteration give Python's numbers as on
    the CPU; numpy wants force or cpu()."""
    need_device(backend)
    x = numbers(torch.int64).to(backend.device)
    assert x.tolist() == numbers(torch.int64).tolist() and x[1, 2].item() == 8
    assert len(x) == 4 and [row[0].item() for row in x] == [0, 6, 12, 18]
    assert int(x[0, 3]) == 3 and float(x[0, 3]) == 3.0 and bool(x[0, 0]) is False
    assert complex(x[0, 1]) == 1 + 0j and [10, 20, 30][x[0, 2]] == 30
    assert list(range(5))[x[0, 1] : x[0, 3]] == [1, 2]
    for dtype in backend.having(DTYPES):
        one = numbers(dtype)[0, 1]
        assert one.to(backend.device).item() == one.item(), dtype
        assert type(one.to(backend.device).item()) is type(one.item()), dtype
    assert x.numpy(force=True).tolist() == x.cpu().numpy().tolist() == x.tolist()
    try:
        x.numpy()
    except TypeError as error:
        assert "cpu" in str(error).lower(), error
    else:
        raise AssertionError("numpy() read memory of the device")
    for call in (lambda: bool(x), lambda: x.item(), lambda: int(x)):
        try:
            call()
        except (RuntimeError, ValueError, TypeError):
            continue
        raise AssertionError("many numbers were taken for one")


@check(
    called_by="torch/_tensor.py: __contains__",
    without="tensors cannot be compared, found or be keys",
)
def tensors_are_compared(backend: Backend) -> None:
    """Comparisons, torch.equal, allclose, `in` and hashes of the device's tensors answer as the
    CPU's."""
    x = numbers().to(backend.device)
    y = x.clone()
    assert torch.equal(x, y) and not torch.equal(x, y + 1) and not torch.equal(x, x[:2])
    assert (x == y).all() and (x == y).device == backend.device and not (x != y).any()
    assert (x < 3).sum().item() == 3 and (x >= y).all()
    assert torch.allclose(x, y + 1e-9) and not torch.allclose(x, y + 1)
    assert 5.0 in x and 100.0 not in x
    assert {x: 1}[x] == 1 and hash(x) != hash(y) and x is not y
    assert (x == None) is False  # noqa: E711
    assert torch.isclose(x, y).all() and torch.isnan(x / 0)[0, 0]
    assert x.is_same_size(y) and x.is_set_to(x) and not x.is_set_to(y)
    torch.testing.assert_close(x, y)
    try:
        torch.testing.assert_close(x, y + 1)
    except AssertionError as error:
        assert "not close" in str(error)
    else:
        raise AssertionError("assert_close took other numbers for close")


@check(
    called_by="torch/_tensor.py: __deepcopy__",
    without="models cannot be copied or kept",
)
def tensors_are_copied_and_pickled(backend: Backend) -> None:
    """copy, deepcopy and pickle keep numbers, device, strides and whether there is a gradient, and
    deepcopy what is shared."""
    x = numbers().to(backend.device)
    shared = {"whole": x, "row": x[1], "leaf": x.clone().requires_grad_()}
    deep, pickled = copy.deepcopy(shared), pickle.loads(pickle.dumps(shared))
    for again in (deep, pickled):
        for name, tensor in shared.items():
            made = again[name]
            assert made.device == backend.device and made.stride() == tensor.stride()
            assert torch.equal(made, tensor) and made.requires_grad == tensor.requires_grad
        again["whole"].zero_()
    assert deep["row"].eq(0).all(), "what was shared is not any more"
    assert torch.equal(x.cpu(), numbers()), "the copy was the tensor itself"
    assert copy.copy(x).data_ptr() == x.data_ptr()


@check(
    called_by="torch/include/ATen/MemoryOverlap.h: assert_no_internal_overlap",
    without="copies of a tensor onto itself give nonsense",
)
def overlapping_memory_is_refused(backend: Backend) -> None:
    """Writing into a tensor whose elements share memory, or onto a shifted part of itself, is an
    error as on the CPU."""
    x = numbers().to(backend.device)
    for call in (
        lambda: torch.zeros(1, device=backend.device).expand(4).add_(1),
        lambda: torch.add(x[0, :5], 1, out=x[0, 1:]),
    ):
        try:
            call()
        except RuntimeError as error:
            assert "memory location" in str(error), error
        else:
            raise AssertionError("memory that overlaps was written to")
    x[0, :] = x[1, :]
    x.copy_(x)
    assert x[0].tolist() == x[1].tolist() == [6, 7, 8, 9, 10, 11]


@check(
    called_by="torch/include/ATen/TensorIndexing.h: get_item",
    without="assignments go to the wrong place",
)
def indices_read_and_write(backend: Backend) -> None:
    """Slices, numbers, lists, masks, None and Ellipsis read and write as on the CPU, with values of
    the device, of the CPU where it is one number, and with Python's."""
    indices: dict[str, Any] = {
        "row": 1,
        "negative": -1,
        "slice": slice(1, 3),
        "step": (slice(None), slice(0, 6, 2)),
        "list": [0, 2],
        "pair": ([0, 1], [2, 3]),
        "ellipsis": (..., 2),
        "none": (None, 1),
    }
    for name, index in indices.items():
        x, y = numbers(), numbers().to(backend.device)
        same(y[index], x[index], backend.device)
        x[index], y[index] = 7.0, 7.0
        same(y, x, backend.device)
        x[index] = x[index] * 2
        y[index] = y[index] * 2
        assert torch.equal(y.cpu(), x), name
        y[index] = torch.tensor(5.0)
        x[index] = 5.0
        assert torch.equal(y.cpu(), x), f"{name}, with a number of the CPU"
    x, y = numbers(), numbers().to(backend.device)
    same(y[y > 5], x[x > 5], backend.device)
    x[x > 5], y[y > 5] = 0.0, 0.0
    same(y, x, backend.device)
    y[torch.tensor([0, 1], device=backend.device)] = torch.ones(2, 6, device=backend.device)
    x[torch.tensor([0, 1])] = torch.ones(2, 6)
    same(y, x, backend.device)
    try:
        y[7]
    except IndexError:
        assert y.shape == (4, 6)
    else:
        raise AssertionError("a row that is not there was read")


@check(
    called_by="torch/include/ATen/ops/_copy_from.h: _copy_from",
    without="wrong numbers reach the device or the CPU, now and then",
)
def large_data_arrives_whole(backend: Backend) -> None:
    """Some megabytes go there and back while the device is busy, on each stream, and nothing is
    missing."""
    need_device(backend)
    x = torch.randint(0, 1 << 30, (1 << 20,))
    for stream in every_stream(backend):
        with stream:
            keep_busy(backend, 10)
            y = x.to(backend.device)
            z = y.flip(0)
            keep_busy(backend, 10)
            assert torch.equal(z.cpu(), x.flip(0))
            assert torch.equal(y[1::2].cpu(), x[1::2])
