"""Strictness: tensors of two devices are refused where CUDA refuses them, and nothing is written

A CPU tensor with a dimension is refused in every position of every operator of the table; one
without dimensions is taken where CUDA takes it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from ..backend import Backend
from ..check import Check, check, variants
from ..current import need_accelerator
from ..expect import equal, on, refused, same

ITERATOR = "torch/include/ATen/TensorIterator.h: allow_cpu_scalars_"
COMMON = "torch/include/c10/core/impl/DeviceGuardImplInterface.h: exchangeDevice"
SILENT = "a tensor that was forgotten on the CPU slows every step, or is not updated"
CPU = torch.device("cpu")


def _floats(*shape: int) -> torch.Tensor:
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float32) % 7 + 1).view(shape) / 8


X, Y, M = _floats(3), _floats(3) + 1, _floats(3, 3)
INDICES, MASK = torch.tensor([0, 2, 1]), torch.tensor([True, False, True])
SQUARE = _floats(3, 3) + 3 * torch.eye(3)

Operands = list[torch.Tensor]

# The operands, all of them on one device, and the call.
OPERATORS: dict[str, tuple[Operands, Callable]] = {
    "add": ([X, Y], torch.add),
    "sub": ([X, Y], torch.sub),
    "mul": ([X, Y], torch.mul),
    "div": ([X, Y], torch.div),
    "pow": ([X, Y], torch.pow),
    "fmod": ([X, Y], torch.fmod),
    "remainder": ([X, Y], torch.remainder),
    "maximum": ([X, Y], torch.maximum),
    "atan2": ([X, Y], torch.atan2),
    "hypot": ([X, Y], torch.hypot),
    "copysign": ([X, Y], torch.copysign),
    "eq": ([X, Y], torch.eq),
    "lt": ([X, Y], torch.lt),
    "logical_and": ([MASK, ~MASK], torch.logical_and),
    "bitwise_or": ([INDICES, INDICES], torch.bitwise_or),
    "clamp": ([X, X, Y], torch.clamp),
    "where": ([MASK, X, Y], torch.where),
    "lerp": ([X, Y, X], torch.lerp),
    "addcmul": ([X, Y, X], torch.addcmul),
    "addcdiv": ([X, Y, Y], torch.addcdiv),
    "add_": ([X, Y], lambda a, b: a.add_(b)),
    "mul_": ([X, Y], lambda a, b: a.mul_(b)),
    "addcmul_": ([X, Y, X], lambda a, b, c: a.addcmul_(b, c)),
    "masked_fill_": ([X, MASK], lambda a, b: a.masked_fill_(b, 0.0)),
    "add, out=": ([X, Y, torch.zeros(3)], lambda a, b, o: torch.add(a, b, out=o)),
    "exp, out=": ([X, torch.zeros(3)], lambda a, o: torch.exp(a, out=o)),
    "mm, out=": ([M, M, torch.zeros(3, 3)], lambda a, b, o: torch.mm(a, b, out=o)),
    "sum, out=": ([M, torch.zeros(3)], lambda a, o: torch.sum(a, 0, out=o)),
    "cat, out=": ([X, Y, torch.zeros(6)], lambda a, b, o: torch.cat([a, b], out=o)),
    "mm": ([M, M], torch.mm),
    "mv": ([M, X], torch.mv),
    "dot": ([X, Y], torch.dot),
    "outer": ([X, Y], torch.outer),
    "bmm": ([M[None], M[None]], torch.bmm),
    "addmm": ([M, M, M], torch.addmm),
    "addmm_": ([M, M, M], lambda a, b, c: a.addmm_(b, c)),
    "addmv": ([X, M, X], torch.addmv),
    "addr": ([M, X, Y], torch.addr),
    "baddbmm": ([M[None], M[None], M[None]], torch.baddbmm),
    "matmul": ([M, X], torch.matmul),
    "einsum": ([M, M], lambda a, b: torch.einsum("ij,jk->ik", a, b)),
    "tensordot": ([M, M], lambda a, b: torch.tensordot(a, b, dims=1)),
    "linalg.solve": ([SQUARE, X], torch.linalg.solve),
    "linear": ([M, M, X], F.linear),
    "bilinear": ([M, M, M[None], X[:1]], F.bilinear),
    "conv1d": ([M[None], M[None], X[:1]], F.conv1d),
    "conv2d": ([M[None, None], M[None, None], X[:1]], F.conv2d),
    "layer_norm": ([M, X, Y], lambda a, w, b: F.layer_norm(a, (3,), w, b)),
    "group_norm": ([M, X, Y], lambda a, w, b: F.group_norm(a, 1, w, b)),
    "prelu": ([M, X], F.prelu),
    "embedding": ([INDICES, M], F.embedding),
    "attention": ([M[None], M[None], M[None]], F.scaled_dot_product_attention),
    "mse_loss": ([X, Y], F.mse_loss),
    "l1_loss": ([X, Y], F.l1_loss),
    "cross_entropy": ([M, INDICES], F.cross_entropy),
    "nll_loss": ([M, INDICES, X], lambda a, t, w: F.nll_loss(a, t, w)),
    "binary_cross_entropy": ([X, X], F.binary_cross_entropy),
    "cat": ([X, Y], lambda a, b: torch.cat([a, b])),
    "stack": ([X, Y], lambda a, b: torch.stack([a, b])),
    "gather": ([X, INDICES], lambda a, i: a.gather(0, i)),
    "scatter_": ([X, INDICES, Y], lambda a, i, b: a.scatter_(0, i, b)),
    "scatter_add_": ([X, INDICES, Y], lambda a, i, b: a.scatter_add_(0, i, b)),
    "index_select": ([M, INDICES], lambda a, i: a.index_select(0, i)),
    "index_add_": ([X, INDICES, Y], lambda a, i, b: a.index_add_(0, i, b)),
    "index_copy_": ([X, INDICES, Y], lambda a, i, b: a.index_copy_(0, i, b)),
    "take_along_dim": ([X, INDICES], lambda a, i: a.take_along_dim(i)),
    "masked_select": ([X, MASK], lambda a, b: a.masked_select(b)),
    "masked_scatter_": ([X, MASK, Y], lambda a, b, c: a.masked_scatter_(b, c)),
    "searchsorted": ([X, Y], torch.searchsorted),
    "bucketize": ([X, Y], torch.bucketize),
    "isin": ([INDICES, INDICES], torch.isin),
    "equal": ([X, Y], torch.equal),
    "cdist": ([M, M], torch.cdist),
    "complex": ([X, Y], torch.complex),
    "_foreach_add": ([X, Y], lambda a, b: torch._foreach_add([a], [b])),
    "_foreach_mul_": ([X, Y], lambda a, b: torch._foreach_mul_([a], [b])),
    "cosine_similarity": ([X, Y], lambda a, b: F.cosine_similarity(a, b, dim=0)),
    "grid_sample": (
        [M[None, None], _floats(1, 2, 2, 2)],
        lambda a, g: F.grid_sample(a, g, align_corners=False),
    ),
}


def mixed_devices_are_refused(backend: Backend, operands: Operands, call: Callable) -> None:
    """The operator refuses a CPU tensor in each position, and none of its operands has changed."""
    need_accelerator(backend)
    call(*[operand.to(backend.device, copy=True) for operand in operands])
    for position in range(len(operands)):
        for misplaced in ({position}, set(range(len(operands))) - {position}):
            if len(misplaced) == len(operands) or not misplaced:
                continue
            given = [
                operand.clone() if place in misplaced else operand.to(backend.device, copy=True)
                for place, operand in enumerate(operands)
            ]
            where = ", ".join(str(tensor.device) for tensor in given)
            with refused(RuntimeError, ValueError, what=f"({where})"):
                call(*given)
            for place, (tensor, operand) in enumerate(zip(given, operands, strict=True)):
                same(tensor, operand, tensor.device, f"operand {place} of ({where}) afterwards")


MIXED: list[Check] = variants(
    Check(mixed_devices_are_refused, called_by=COMMON, without=SILENT),
    mixed_devices_are_refused,
    OPERATORS,
)


# ---- the CPU's numbers


NUMBER = torch.tensor(0.5)

TAKEN: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "x + s": lambda x, i: x + NUMBER,
    "s - x": lambda x, i: NUMBER - x,
    "s / x": lambda x, i: NUMBER / x,
    "s ** x": lambda x, i: NUMBER**x,
    "x.mul_(s)": lambda x, i: x.mul_(NUMBER),
    "div, out=": lambda x, i: torch.div(NUMBER, x, out=torch.empty_like(x)),
    "x < s": lambda x, i: x < NUMBER,
    "maximum": lambda x, i: torch.maximum(x, NUMBER),
    "atan2": lambda x, i: torch.atan2(x, NUMBER),
    "logical_or": lambda x, i: torch.logical_or(x > 9, NUMBER > 0),
    "where, one": lambda x, i: torch.where(x > 0.25, NUMBER, x),
    "where, both": lambda x, i: torch.where(x > 0.25, NUMBER, 2 * NUMBER),
    "lerp, the weight": lambda x, i: torch.lerp(x, x + 1, NUMBER),
    "addcmul, the second": lambda x, i: torch.addcmul(x, x, NUMBER),
    "masked_fill": lambda x, i: x.masked_fill(x > 0.25, NUMBER),
    "index_fill": lambda x, i: x.index_fill(0, i, NUMBER),
    "fill_": lambda x, i: x.fill_(NUMBER),
    "copy_": lambda x, i: x.copy_(NUMBER),
    "x[i] = s": lambda x, i: x.index_put((i,), NUMBER),
    "x[s]": lambda x, i: x[torch.tensor(1)],
    "x[:] = s": lambda x, i: x.__setitem__(slice(None), NUMBER) or x,
    "_foreach_mul": lambda x, i: torch._foreach_mul([x], NUMBER)[0],
    "of another dtype": lambda x, i: x + torch.tensor(2, dtype=torch.float64),
    "of integers": lambda x, i: i * torch.tensor(3),
}


def cpu_numbers_are_taken(backend: Backend, call: Callable) -> None:
    """A CPU tensor without dimensions is taken as a number is: the result is on the device, with
    the dtype and the values of the CPU's."""
    need_accelerator(backend)
    expected = call(X.clone(), INDICES.clone())
    found = call(X.to(backend.device, copy=True), INDICES.to(backend.device, copy=True))
    same(found, expected, backend.device, rtol=1e-5, atol=1e-6)


NUMBERS_TAKEN: list[Check] = variants(
    Check(
        cpu_numbers_are_taken,
        called_by=ITERATOR,
        without="programs that run on CUDA raise here, or get results on the CPU",
    ),
    cpu_numbers_are_taken,
    {name: (call,) for name, call in TAKEN.items()},
)

REFUSED: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "addmm": lambda m, i: torch.addmm(NUMBER, m, m),
    "addmm, out=": lambda m, i: torch.addmm(NUMBER, m, m, out=m[:]),
    "addmv": lambda m, i: torch.addmv(NUMBER, m, m[0]),
    "addcdiv_": lambda m, i: m.addcdiv_(m, NUMBER),
    "addcmul_, the first": lambda m, i: m.addcmul_(NUMBER, m),
    "lerp_, the end": lambda m, i: m.lerp_(NUMBER, 0.5),
    "clamp_": lambda m, i: m.clamp_(NUMBER, 2 * NUMBER),
    "logaddexp": lambda m, i: torch.logaddexp(m, NUMBER),
    "nextafter_": lambda m, i: m.nextafter_(NUMBER),
    "complex": lambda m, i: torch.complex(m, NUMBER),
    "equal": lambda m, i: torch.equal(m, NUMBER),
    "abs, out=": lambda m, i: torch.abs(NUMBER, out=m[0, 0]),
    "cat": lambda m, i: torch.cat([m[0], NUMBER[None]]),
    "stack": lambda m, i: torch.stack([m[0, 0], NUMBER]),
}


def cpu_numbers_are_refused(backend: Backend, call: Callable) -> None:
    """A CPU tensor without dimensions is refused where CUDA refuses it, and nothing has changed."""
    need_accelerator(backend)
    matrix, indices = M.to(backend.device, copy=True), INDICES.to(backend.device, copy=True)
    with refused(RuntimeError, ValueError, what="the CPU's number"):
        call(matrix, indices)
    same(matrix, M, backend.device, "the device's operand afterwards")
    equal(NUMBER.item(), 0.5, "the CPU's number afterwards")


NUMBERS_REFUSED: list[Check] = variants(
    Check(cpu_numbers_are_refused, called_by=ITERATOR, without=SILENT),
    cpu_numbers_are_refused,
    {name: (call,) for name, call in REFUSED.items()},
)


@check(called_by=ITERATOR, without="a result is on the CPU although all is on the device")
def python_numbers_stay_on_the_device(backend: Backend) -> None:
    """With a number of Python's on either side the result is on the device, as on the CPU."""
    need_accelerator(backend)
    for name, call in {
        "1 + x": lambda x: 1 + x,
        "1 - x": lambda x: 1 - x,
        "2 / x": lambda x: 2 / x,
        "2 ** x": lambda x: 2**x,
        "x % 2": lambda x: x % 2,
        "2 // x": lambda x: 2 // x,
        "1 < x": lambda x: x > 1,
        "rsub": lambda x: torch.rsub(x, 1),
        "minimum of a new tensor": lambda x: torch.minimum(x, x.new_tensor(0.5)),
        "comparison": lambda x: torch.eq(x, 0.5),
    }.items():
        same(call(X.to(backend.device)), call(X), backend.device, name, rtol=1e-5, atol=1e-6)


@check(called_by=ITERATOR, without="numbers of the device are read in silence, once in each step")
def the_devices_numbers_do_not_come_to_the_cpu(backend: Backend) -> None:
    """A tensor of the device without dimensions is refused among the CPU's tensors."""
    need_accelerator(backend)
    number = NUMBER.to(backend.device)
    for name, call in {
        "add": lambda: X + number,
        "mul": lambda: number * X,
        "maximum": lambda: torch.maximum(X, number),
        "where": lambda: torch.where(MASK, X, number),
        "add_": lambda: X.clone().add_(number),
    }.items():
        with refused(RuntimeError, what=f"{name} of the CPU's tensor and the device's number"):
            call()


@check(called_by="torch/include/ATen/TensorIndexing.h: index", without="masks from the CPU raise")
def cpu_indices_are_taken(backend: Backend) -> None:
    """Indices and masks of the CPU are taken by x[...], as CUDA takes them; those of the device
    are refused by tensors of the CPU."""
    need_accelerator(backend)
    matrix = M.to(backend.device)
    for name, index in {"indices": INDICES, "a mask": MASK, "a mask of all": M > 0.5}.items():
        same(matrix[index], M[index], backend.device, f"x[{name}]")
        written, expected = matrix.clone(), M.clone()
        written[index] = 0.0
        expected[index] = 0.0
        same(written, expected, backend.device, f"x[{name}] = 0.0")
        with refused(RuntimeError, what=f"{name} of the device, for the CPU's tensor"):
            M[index.to(backend.device)]


@check(called_by=COMMON, without="nobody finds out which tensor is on the wrong device")
def errors_name_both_devices(backend: Backend) -> None:
    """The refusal of add, mm and cat names the device and the CPU, in either order."""
    need_accelerator(backend)
    there, matrix = X.to(backend.device), M.to(backend.device)
    names = (str(backend.device), "cpu")
    for name, call in {
        "add": lambda: there + Y,
        "add, the other way": lambda: Y + there,
        "mul_": lambda: there.mul_(Y),
        "mm": lambda: matrix @ M,
        "mm, the other way": lambda: M @ matrix,
        "cat": lambda: torch.cat([there, Y]),
        "linear": lambda: F.linear(matrix, M),
    }.items():
        with refused(RuntimeError, naming=names, what=name):
            call()


@check(
    called_by="torch/autograd/graph.py: _engine_run_backward",
    without="a learned scale on the CPU is never updated",
)
def gradients_of_cpu_numbers_arrive(backend: Backend) -> None:
    """The gradient of a CPU's number that was taken is a CPU's number."""
    need_accelerator(backend)
    scale = torch.tensor(2.0, requires_grad=True)
    source = X.to(backend.device).requires_grad_()
    (source * scale).sum().backward()
    same(scale.grad, X.sum(), CPU, "the gradient of the number")
    same(source.grad, torch.full((3,), 2.0), backend.device, "the gradient of the tensor")


@check(called_by=COMMON, without="gradients of one device are added to those of another")
def gradients_of_another_device_are_refused(backend: Backend) -> None:
    """`tensor.grad = ...` refuses a gradient of another device, and backward() one too."""
    need_accelerator(backend)
    leaf = torch.ones(3, device=backend.device, requires_grad=True)
    with refused(RuntimeError, what="a gradient of the CPU"):
        leaf.grad = torch.ones(3)
    equal(leaf.grad, None, "the gradient")
    with refused(RuntimeError, what="backward() with a gradient of the CPU"):
        (leaf * 2).backward(torch.ones(3))


@check(called_by="torch/optim/optimizer.py: _use_grad_for_differentiable", without=SILENT)
def optimizers_refuse_another_devices_state(backend: Backend) -> None:
    """A fused or foreach step with a state on the CPU is refused, not made by halves."""
    need_accelerator(backend)
    weight = torch.ones(3, device=backend.device, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    weight.grad = torch.ones(3, device=backend.device)
    optimizer.step()
    kept = weight.detach().cpu()
    optimizer.state[weight]["momentum_buffer"] = torch.ones(3)
    with refused(RuntimeError, what="a step with a state on the CPU"):
        optimizer.step()
    same(weight, kept, backend.device, "the weight after the refused step")


@check(
    called_by="torch/nn/modules/module.py: Module.load_state_dict",
    without="moving data is refused too",
)
def copies_between_devices_are_no_mistake(backend: Backend) -> None:
    """copy_(), assignment to a slice and to() go between devices, both ways, with broadcasting."""
    need_accelerator(backend)
    for source, target in ((CPU, backend.device), (backend.device, CPU)):
        tensor = torch.zeros(2, 3, device=target)
        tensor.copy_(X.to(source))
        same(tensor, X.expand(2, 3), target, "copy_()")
        tensor[1] = Y.to(source)
        same(tensor[1], Y, target, "an assigned slice")
        tensor[:, 1] = INDICES[:2].to(source)
        same(tensor[:, 1], INDICES[:2].float(), target, "an assigned column of another dtype")
        on(tensor, target)
