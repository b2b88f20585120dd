"""Errors: what the CPU refuses is refused, as the same error, and the device goes on"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from ..backend import Backend
from ..check import Check, Skipped, check, variants
from ..current import need_accelerator, need_privateuse1
from ..expect import equal, on, refused, same

SHAPES = "torch/include/ATen/TensorMeta.h: set_output_strided"
PLACES = "torch/include/c10/core/WrapDimMinimal.h: maybe_wrap_dim"
TYPES = "torch/include/ATen/native/TypeProperties.h: result_type"
OUT_OF_MEMORY = "torch/include/c10/util/Exception.h: OutOfMemoryError"
FILLED = "torch/utils/deterministic.py: _Deterministic"


def _place(backend: Backend) -> torch.device:
    """The device as tensors name it: the CPU has no index."""
    return torch.device("cpu") if backend.name == "cpu" else backend.device


def _ones(place: torch.device, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, device=place, dtype=dtype)


Wrong = Callable[[torch.device], object]

WRONG_SHAPES: dict[str, Wrong] = {
    "add": lambda d: _ones(d, 2, 3) + _ones(d, 2, 4),
    "mm": lambda d: _ones(d, 2, 3) @ _ones(d, 2, 3),
    "mm of a vector": lambda d: torch.mm(_ones(d, 2, 3), _ones(d, 3)),
    "bmm": lambda d: torch.bmm(_ones(d, 2, 3, 4), _ones(d, 3, 4, 5)),
    "addmm": lambda d: torch.addmm(_ones(d, 7), _ones(d, 2, 3), _ones(d, 3, 2)),
    "dot": lambda d: torch.dot(_ones(d, 2), _ones(d, 3)),
    "linear": lambda d: F.linear(_ones(d, 2, 3), _ones(d, 4, 5)),
    "conv2d": lambda d: F.conv2d(_ones(d, 1, 3, 4, 4), _ones(d, 1, 2, 3, 3)),
    "conv2d, the kernel": lambda d: F.conv2d(_ones(d, 1, 1, 2, 2), _ones(d, 1, 1, 3, 3)),
    "view": lambda d: _ones(d, 2, 3).view(5),
    "view of a transposed": lambda d: _ones(d, 2, 3).t().view(6),
    "reshape": lambda d: _ones(d, 2, 3).reshape(4, 2),
    "expand": lambda d: _ones(d, 2, 3).expand(4, 3),
    "cat": lambda d: torch.cat([_ones(d, 2, 3), _ones(d, 2, 4)]),
    "stack": lambda d: torch.stack([_ones(d, 2), _ones(d, 3)]),
    "split": lambda d: _ones(d, 5).split([2, 2]),
    "gather": lambda d: _ones(d, 2, 2).gather(0, _ones(d, 2, dtype=torch.int64)),
    "copy_": lambda d: _ones(d, 2).copy_(_ones(d, 3)),
    "in place": lambda d: _ones(d, 1).add_(_ones(d, 3)),
    "an assigned slice": lambda d: _ones(d, 4).__setitem__(slice(2), _ones(d, 3)),
    "a mask": lambda d: _ones(d, 3)[_ones(d, 4, dtype=torch.bool)],
    "layer_norm": lambda d: F.layer_norm(_ones(d, 2, 3), (4,)),
    "mse_loss": lambda d: F.mse_loss(_ones(d, 2, 3), _ones(d, 4, 3)),
    "cross_entropy": lambda d: F.cross_entropy(_ones(d, 2, 3), _ones(d, 3, dtype=torch.int64)),
    "a square of none": lambda d: torch.linalg.inv(_ones(d, 2, 3)),
    "item of many": lambda d: _ones(d, 2).item(),
    "item of none": lambda d: _ones(d, 0).item(),
    "bool of many": lambda d: bool(_ones(d, 2)),
    "a negative size": lambda d: torch.empty(-1, device=d),
    "max of none": lambda d: _ones(d, 0).max(),
    "unflatten": lambda d: _ones(d, 6).unflatten(0, (4, 2)),
    "resize_ of a view that needs a gradient": lambda d: _ones(d, 2).requires_grad_().resize_(3),
}

WRONG_PLACES: dict[str, Wrong] = {
    "sum": lambda d: _ones(d, 2, 3).sum(2),
    "softmax": lambda d: _ones(d, 2, 3).softmax(-3),
    "transpose": lambda d: _ones(d, 2, 3).transpose(0, 5),
    "select": lambda d: _ones(d, 2, 3).select(0, 2),
    "an index": lambda d: _ones(d, 2, 3)[2],
    "a negative index": lambda d: _ones(d, 2, 3)[-3],
    "too many indices": lambda d: _ones(d, 2)[0, 0],
    "narrow": lambda d: _ones(d, 5).narrow(0, 3, 4),
    "permute": lambda d: _ones(d, 2, 3).permute(0, 0),
    "unsqueeze": lambda d: _ones(d, 2).unsqueeze(5),
    "cat": lambda d: torch.cat([_ones(d, 2)], 3),
    "cumsum": lambda d: _ones(d, 2).cumsum(1),
    "unbind": lambda d: _ones(d, 2).unbind(2),
    "argmax": lambda d: _ones(d, 2).argmax(4),
    "topk": lambda d: _ones(d, 3).topk(5),
    "kthvalue": lambda d: _ones(d, 3).kthvalue(4),
    "diagonal": lambda d: _ones(d, 2).diagonal(),
    "unfold": lambda d: _ones(d, 3).unfold(0, 5, 1),
    "chunk": lambda d: _ones(d, 3).chunk(0),
    "flip": lambda d: _ones(d, 3).flip(1),
}

WRONG_TYPES: dict[str, Wrong] = {
    "mm of two dtypes": lambda d: _ones(d, 2, 2) @ _ones(d, 2, 2).half(),
    "conv1d of two dtypes": lambda d: F.conv1d(_ones(d, 1, 1, 3), _ones(d, 1, 1, 1).half()),
    "in place into integers": lambda d: _ones(d, 2).long().add_(0.5),
    "in place of a wider one": lambda d: _ones(d, 2).mul_(_ones(d, 2, dtype=torch.complex64)),
    "out= of integers": lambda d: torch.exp(_ones(d, 2), out=_ones(d, 2).long()),
    "bitwise_and of floats": lambda d: _ones(d, 2) & _ones(d, 2),
    "bitwise_not of floats": lambda d: ~_ones(d, 2),
    "an index of floats": lambda d: _ones(d, 2)[_ones(d, 2)],
    "gather of int32": lambda d: _ones(d, 2).gather(0, _ones(d, 1, dtype=torch.int16)),
    "masked_fill of floats": lambda d: _ones(d, 2).masked_fill(_ones(d, 2), 0),
    "masked_select of floats": lambda d: _ones(d, 2).masked_select(_ones(d, 2)),
    "embedding of floats": lambda d: F.embedding(_ones(d, 2), _ones(d, 3, 2)),
    "nll_loss of floats": lambda d: F.nll_loss(_ones(d, 2, 3), _ones(d, 2)),
    "requires_grad of integers": lambda d: torch.ones(
        2, device=d, dtype=torch.int64
    ).requires_grad_(),
    "mean of integers": lambda d: _ones(d, 2, dtype=torch.int64).mean(),
    "an order of complex": lambda d: _ones(d, 2, dtype=torch.complex64) < 1,
    "sub of booleans": lambda d: _ones(d, 2, dtype=torch.bool) - _ones(d, 2, dtype=torch.bool),
    "minus a boolean": lambda d: -_ones(d, 2, dtype=torch.bool),
    "randint": lambda d: torch.randint(5, 5, (2,), device=d),
    "normal_": lambda d: _ones(d, 2).normal_(0, -1),
    "arange": lambda d: torch.arange(5, 0, 1, device=d),
    "dropout": lambda d: F.dropout(_ones(d, 2), 1.5),
    "multinomial": lambda d: torch.multinomial(_ones(d, 2), 3),
    "a leaf in place": lambda d: _ones(d, 2).requires_grad_().add_(1),
    "cholesky": lambda d: torch.linalg.cholesky(-torch.eye(2, device=d)),
    "a singular matrix": lambda d: torch.linalg.inv(torch.zeros(2, 2, device=d)),
    "a second backward": lambda d: [_twice.backward() for _twice in [_squared(d)] * 2],
    "backward of many": lambda d: (_ones(d, 2).requires_grad_() * 2).backward(),
    "backward of a constant": lambda d: _ones(d, 2).sum().backward(),
}


def _squared(place: torch.device) -> torch.Tensor:
    leaf = _ones(place, 2).requires_grad_()
    return (leaf * leaf).sum()


def it_is_refused_as_on_the_cpu(backend: Backend, call: Wrong) -> None:
    """What the CPU refuses the device refuses as well, as an error of the same kind, and it goes
    on working."""
    place = _place(backend)
    try:
        call(torch.device("cpu"))
    except Exception as error:  # whatever the CPU says is what is expected
        kind = type(error)
    else:
        raise Skipped("this torch accepts it on the CPU")
    kinds = (kind, RuntimeError) if kind is NotImplementedError else (kind,)
    with refused(*kinds, what="what the CPU refuses"):
        call(place)
    same(torch.arange(3.0, device=place) + 1, torch.arange(3.0) + 1, place, "a sum afterwards")


def _listed(subject: str, called_by: str, without: str, calls: dict[str, Wrong]) -> list[Check]:
    template = Check(it_is_refused_as_on_the_cpu, called_by=called_by, without=without)
    named = {f"{subject}, {name}": (call,) for name, call in calls.items()}
    return variants(template, it_is_refused_as_on_the_cpu, named)


OF_SHAPES = _listed("shapes", SHAPES, "results of shapes that nobody asked for", WRONG_SHAPES)
OF_PLACES = _listed("places", PLACES, "results of another dimension or element", WRONG_PLACES)
OF_TYPES = _listed(
    "types and values", TYPES, "values are cut, or gradients are missing, in silence", WRONG_TYPES
)


@check(called_by=SHAPES, without="a program that handles an error goes on with half a result")
def a_refusal_writes_nothing(backend: Backend) -> None:
    """After a refused change in place, or a refused out=, everything is as before."""
    place = _place(backend)
    tensor, integers = torch.arange(4.0, device=place), torch.arange(4, device=place)
    for name, call in {
        "add_": lambda: tensor.add_(torch.ones(3, device=place)),
        "copy_": lambda: tensor.copy_(torch.ones(3, device=place)),
        "an assigned slice": lambda: tensor.__setitem__(slice(2), torch.ones(3, device=place)),
        "scatter_": lambda: tensor.scatter_(0, integers.float(), tensor),
        "masked_fill_": lambda: tensor.masked_fill_(tensor, 9.0),
        "out=": lambda: torch.mm(tensor, tensor, out=tensor),
        "integers": lambda: integers.mul_(0.5),
        "view": lambda: tensor.view(3),
    }.items():
        with refused(RuntimeError, IndexError, what=name):
            call()
        same(tensor, torch.arange(4.0), place, f"the tensor after {name}")
        same(integers, torch.arange(4), place, f"the integers after {name}")


# ---- indices on the device: the host cannot see them


def _beyond(place: torch.device) -> dict[str, Callable[[], torch.Tensor]]:
    matrix = torch.arange(6.0, device=place).view(3, 2)
    wrong = torch.tensor([0, 3], device=place)
    return {
        "index_select": lambda: matrix.index_select(0, wrong),
        "an index": lambda: matrix[wrong],
        "gather": lambda: matrix.gather(0, wrong[None]),
        "take": lambda: matrix.take(wrong * 10),
        "embedding": lambda: F.embedding(wrong, matrix),
        "scatter_": lambda: matrix.clone().scatter_(0, wrong[None], 1.0),
        "index_put_": lambda: matrix.clone().index_put_((wrong,), matrix[:2]),
        "index_add_": lambda: matrix.clone().index_add_(0, wrong, matrix[:2]),
        "index_copy_": lambda: matrix.clone().index_copy_(0, wrong, matrix[:2]),
        "nll_loss": lambda: F.nll_loss(matrix.t(), torch.tensor([0, 7], device=place)),
    }


NAMES = tuple(_beyond(torch.device("cpu")))


def an_index_behind_the_end_is_refused(backend: Backend, name: str) -> None:
    """An index behind the end is an error, at the latest when the device is waited for, and never
    a value of other memory."""
    call = _beyond(_place(backend))[name]
    with refused(IndexError, RuntimeError, what="an index behind the end"):
        call().cpu()


BEYOND: list[Check] = variants(
    Check(
        an_index_behind_the_end_is_refused,
        called_by="torch/nn/functional.py: embedding",
        without="a wrong token reads or overwrites another tensor's memory",
        alone=True,  # a device that stops at its own assertion does not go on
    ),
    an_index_behind_the_end_is_refused,
    {name: (name,) for name in NAMES},
)


@check(called_by="torch/include/ATen/TensorIndexing.h: index", without="negative indices are wrong")
def negative_indices_count_from_the_end(backend: Backend) -> None:
    """Negative indices, of Python and in tensors, count from the end."""
    place = _place(backend)
    base = torch.arange(5.0, device=place)
    same(base[-1], torch.tensor(4.0), place, "x[-1]")
    indices = torch.tensor([-1, 0, -5], device=place)
    same(base[indices], torch.tensor([4.0, 0.0, 0.0]), place, "x[[-1, 0, -5]]")
    base[indices[:1]] = 9.0
    same(base, torch.tensor([0.0, 1.0, 2.0, 3.0, 9.0]), place, "after x[[-1]] = 9")


# ---- memory


def _too_much(backend: Backend) -> int:
    """More bytes than the device has."""
    if not hasattr(torch.accelerator, "get_memory_info"):
        return 1 << 50
    return max(1 << 50, 8 * torch.accelerator.get_memory_info(backend.device)[1])


@check(called_by=OUT_OF_MEMORY, without="programs that halve their batch and try again end instead")
def out_of_memory_is_its_own_error(backend: Backend) -> None:
    """Too large a tensor is a torch.OutOfMemoryError that says how much was asked for."""
    need_accelerator(backend)
    for make in (
        lambda count: torch.empty(count, dtype=torch.uint8, device=backend.device),
        lambda count: torch.zeros(count, dtype=torch.uint8, device=backend.device),
        lambda count: torch.ones(1, device=backend.device).expand(count // 4).clone(),
        lambda count: torch.UntypedStorage(count, device=backend.device),
    ):
        with refused(torch.OutOfMemoryError, what="more than all memory"):
            make(_too_much(backend))


@check(called_by=OUT_OF_MEMORY, without="the current device is another one after a failure")
def out_of_memory_elsewhere_changes_no_device(backend: Backend) -> None:
    """Running out of memory on another device leaves the current one as it is."""
    need_accelerator(backend)
    other = backend.other_device
    before = torch.accelerator.current_device_index()
    with refused(torch.OutOfMemoryError, what="more than all memory"):
        torch.empty(_too_much(backend), dtype=torch.uint8, device=other)
    equal(torch.accelerator.current_device_index(), before, "the current device")


@check(called_by=OUT_OF_MEMORY, without="a size that wraps gives a small tensor for a large one")
def sizes_do_not_wrap(backend: Backend) -> None:
    """Sizes whose bytes do not fit 64 bits are refused, and negative ones."""
    place = _place(backend)
    for shape in ((1 << 62,), (1 << 40, 1 << 40), (1 << 33, 1 << 33), (1 << 31, 1 << 31, 4), (-1,)):
        with refused(RuntimeError, what=f"a tensor of shape {shape}"):
            torch.empty(shape, device=place)
        with refused(RuntimeError, what=f"zeros of shape {shape}"):
            torch.zeros(shape, device=place)


# ---- the words of errors


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: setDevice",
    without="a log does not say which device was wrong",
)
def a_wrong_index_is_in_the_error(backend: Backend) -> None:
    """The refusal of a device that is not there names it."""
    need_privateuse1(backend)
    with refused(RuntimeError, ValueError, IndexError, naming=("99",), what="device 99"):
        torch.ones(1, device=f"{backend.name}:99")


@check(called_by="torch/library.py: Library", without="nobody can tell what is missing")
def a_missing_kernel_names_its_operator(backend: Backend) -> None:
    """An operator that the device does not have is a NotImplementedError with its name."""
    place = _place(backend)
    library = torch.library.Library("conformance_errors", "FRAGMENT")
    try:
        library.define("nobody_has_this(Tensor x) -> Tensor")
        with refused(
            NotImplementedError, naming=("conformance_errors::nobody_has_this",), what="it"
        ):
            torch.ops.conformance_errors.nobody_has_this(torch.ones(1, device=place))
    finally:
        library._destroy()


@check(
    called_by="torch/utils/data/_utils/worker.py: _worker_loop",
    without="errors of workers cannot be told from others",
)
def an_error_of_a_hook_arrives(backend: Backend) -> None:
    """An exception in a hook of backward arrives as it was raised, and the next backward works."""
    place = _place(backend)
    leaf = torch.ones(2, device=place, requires_grad=True)

    def fail(_: torch.Tensor) -> None:
        raise LookupError("of the hook")

    middle = leaf * 2
    middle.register_hook(fail)
    with refused(LookupError, naming=("of the hook",), what="a hook that raises"):
        middle.sum().backward()
    (leaf * 3).sum().backward()
    same(leaf.grad, torch.full((2,), 3.0), place, "the gradient of the next backward")


@check(called_by=FILLED, without="results depend on what was in memory, and nobody sees it")
def uninitialised_memory_is_filled(backend: Backend) -> None:
    """In deterministic mode new memory is filled: NaN in floats, the largest value in integers."""
    place = _place(backend)
    before = torch.are_deterministic_algorithms_enabled()
    filled = torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        for name, tensor in {
            "empty": torch.empty(10, device=place),
            "empty_strided": torch.empty_strided((2, 5), (5, 1), device=place),
            "empty_like": torch.empty_like(torch.ones(10, device=place)),
            "new_empty": torch.ones(1, device=place).new_empty(10),
            "resize_": torch.empty(0, device=place).resize_(10),
        }.items():
            on(tensor, place)
            assert tensor.isnan().all().item(), f"{name} is not filled: {tensor}"
        for dtype in backend.having((torch.bfloat16, torch.float64, torch.complex64)):
            made = torch.empty(10, device=place, dtype=dtype)
            assert made.isnan().all().item(), f"{dtype} is not filled: {made}"
        for dtype in (torch.int64, torch.int32, torch.uint8):
            integers = torch.empty(10, device=place, dtype=dtype)
            assert (integers == torch.iinfo(dtype).max).all().item(), f"it is {integers}"
        assert torch.empty(3, device=place, dtype=torch.bool).all().item()
        grown = torch.ones(2, device=place).resize_(4).cpu()
        assert grown[:2].tolist() == [1, 1] and grown[2:].isnan().all(), f"it is {grown}"
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = filled
        torch.use_deterministic_algorithms(before)
