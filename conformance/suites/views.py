"""Views and lifetimes: every result keeps its memory, and writes to it as PyTorch promises

A view outlives its base here, other tensors are made on memory that a backend may have freed, and
the view must still have its values. The CPU is the oracle for values, strides and writes.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from typing import Any

import torch

from ..backend import Backend
from ..check import Check, check, variants
from ..current import need_accelerator
from ..expect import equal, on, refused, same
from ..warned import warnings_are

KEEPS = "torch/include/c10/core/TensorImpl.h: storage_"
VIEW = "torch/include/ATen/native/Resize.h: setStrided"
CPU = torch.device("cpu")

MODES: dict[str, Callable[[], contextlib.AbstractContextManager]] = {
    "grad": torch.enable_grad,
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
}


def _place(backend: Backend) -> torch.device:
    """The device as tensors name it: the CPU has no index."""
    return CPU if backend.name == "cpu" else backend.device


def _overwrite_what_is_free(place: torch.device, count: int) -> None:
    """Makes tensors of the size of a freed one, with values that no check expects."""
    gc.collect(0)
    kept = [torch.full((count,), -99.0, device=place) for _ in range(8)]
    kept += [torch.full((count,), -98, device=place, dtype=torch.int64) for _ in range(4)]
    del kept


# Each gives one tensor of a base of shape (2, 3, 4), in float32.
VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "detach": lambda t: t.detach(),
    "data": lambda t: t.data,
    "alias": lambda t: torch.ops.aten.alias(t),
    "view": lambda t: t.view(6, 4),
    "view of a dtype": lambda t: t.view(torch.int32),
    "view_as": lambda t: t.view_as(torch.empty(4, 6)),
    "reshape": lambda t: t.reshape(-1),
    "flatten": lambda t: t.flatten(1),
    "ravel": lambda t: t.ravel(),
    "unflatten": lambda t: t.unflatten(2, (2, 2)),
    "contiguous": lambda t: t.contiguous(),
    "to": lambda t: t.to(torch.float32),
    "as_strided": lambda t: t.as_strided((3, 2), (1, 4), 5),
    "transpose": lambda t: t.transpose(0, 2),
    "t": lambda t: t[0].t(),
    "mT": lambda t: t.mT,
    "permute": lambda t: t.permute(2, 0, 1),
    "movedim": lambda t: t.movedim(0, -1),
    "swapaxes": lambda t: t.swapaxes(0, 1),
    "select": lambda t: t.select(1, 2),
    "index": lambda t: t[1, -1],
    "slice": lambda t: t[:, 1:, ::2],
    "slice of None": lambda t: t[None, ..., -2:],
    "narrow": lambda t: t.narrow(2, 1, 2),
    "unfold": lambda t: t.unfold(2, 3, 1),
    "expand": lambda t: t[:, :1].expand(2, 5, 4),
    "expand_as": lambda t: t[0].expand_as(torch.empty(7, 3, 4)),
    "broadcast_to": lambda t: t[:1].broadcast_to(3, 3, 4),
    "diagonal": lambda t: t.diagonal(0, 1, 2),
    "squeeze": lambda t: t[:1].squeeze(0),
    "squeeze of several": lambda t: t[:1, :1].squeeze((0, 1)),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "unbind": lambda t: t.unbind(0)[1],
    "iteration": lambda t: next(iter(t)),
    "split": lambda t: t.split(2, 1)[1],
    "split with sizes": lambda t: t.split([1, 2], 1)[1],
    "chunk": lambda t: t.chunk(2, 2)[1],
    "tensor_split": lambda t: t.tensor_split(3, 2)[2],
    "hsplit": lambda t: t.hsplit(3)[1],
    "vsplit": lambda t: t.vsplit(2)[1],
    "view_as_complex": lambda t: torch.view_as_complex(t.view(2, 3, 2, 2)),
    "real": lambda t: torch.view_as_complex(t.view(2, 3, 2, 2)).real,
    "imag": lambda t: torch.view_as_complex(t.view(2, 3, 2, 2)).imag,
    "conj": lambda t: torch.view_as_complex(t.view(2, 3, 2, 2)).conj(),
    "view_as_real": lambda t: torch.view_as_real(torch.view_as_complex(t.view(2, 3, 2, 2))),
    "view of a view": lambda t: t.view(6, 4)[2:].t()[1:3],
    "Parameter": lambda t: torch.nn.Parameter(t.detach()),
    "set_": lambda t: t.new_empty(0).set_(t.detach()),
    "storage": lambda t: t.new_empty(0).set_(t.untyped_storage(), 3, (5,), (4,)),
    "as_subclass": lambda t: t.as_subclass(torch.Tensor),
}


def _base(place: torch.device) -> torch.Tensor:
    return torch.arange(24.0).view(2, 3, 4).to(place, copy=True)


def views_outlive_their_base(backend: Backend, make: Callable) -> None:
    """The view is the only one to keep the memory, in each grad mode, and has its values, shape
    and strides as on the CPU."""
    place = _place(backend)
    for mode, context in MODES.items():
        with context():
            expected = make(_base(CPU))
            base = _base(place)
            found = make(base)
            del base
            _overwrite_what_is_free(place, 24)
            on(found, place)
            equal(found.stride(), expected.stride(), f"the strides with {mode}")
            equal(found.storage_offset(), expected.storage_offset(), f"the offset with {mode}")
            same(found.resolve_conj(), expected.resolve_conj(), place, f"the view with {mode}")


def views_of_leaves_outlive_them(backend: Backend, make: Callable) -> None:
    """A view of a leaf that requires a gradient keeps its memory too, and the leaf's gradient is
    that of the CPU."""
    place = _place(backend)
    gradients = []
    for device in (CPU, place):
        leaf = _base(device).requires_grad_()
        found = make(leaf * 1)
        _overwrite_what_is_free(device, 24)
        on(found, device)
        if found.requires_grad and not found.is_leaf:
            weights = torch.arange(found.numel(), device=device).view(found.shape)
            (torch.abs(found) * weights).sum().backward()
        gradients.append(leaf.grad)
    if gradients[0] is None:
        equal(gradients[1], None, "the gradient")
    else:
        assert gradients[1] is not None, "the leaf has no gradient"
        same(gradients[1], gradients[0], place, "the gradient", rtol=1e-5, atol=1e-6)


def writes_go_through(backend: Backend, make: Callable) -> None:
    """What is written through the view is seen in the base, and the other way about, just where
    it is on the CPU."""
    place = _place(backend)
    pairs = []
    for device in (CPU, place):
        base = _base(device)
        with torch.no_grad():
            found = make(base)
            if 0 not in found.stride():  # a view that repeats elements cannot be written to
                found.mul_(2)
            base.add_(1)
        pairs.append((base, found.detach(), base._version))
    same(pairs[1][0], pairs[0][0], place, "the base")
    same(pairs[1][1].resolve_conj(), pairs[0][1].resolve_conj(), place, "the view")
    equal(pairs[1][2], pairs[0][2], "the version of the base")


def _each(function: Callable, called_by: str, without: str, names: dict) -> list[Check]:
    template = Check(function, called_by=called_by, without=without)
    return variants(template, function, {name: (make,) for name, make in names.items()})


OUTLIVING = _each(
    views_outlive_their_base, KEEPS, "a result changes when other tensors are made", VIEWS
)
WITH_GRADIENT = _each(
    views_of_leaves_outlive_them, KEEPS, "gradients are wrong, or of freed memory", VIEWS
)
WRITING = _each(writes_go_through, VIEW, "an update in place is lost", VIEWS)


# ---- results that are several tensors


SEVERAL: dict[str, Callable[[torch.Tensor], tuple[torch.Tensor, ...]]] = {
    "unbind": lambda t: t.unbind(1),
    "split": lambda t: t.split(2, 2),
    "chunk": lambda t: t.chunk(3, 1),
    "tensor_split": lambda t: t.tensor_split((1, 3), 2),
    "dsplit": lambda t: t.dsplit(2),
}


def each_part_outlives_the_others(backend: Backend, make: Callable) -> None:
    """Each part keeps the memory when the base and all other parts are gone."""
    place = _place(backend)
    for context in MODES.values():
        for position, expected in enumerate(make(_base(CPU))):
            with context():
                found = make(_base(place))[position]
                _overwrite_what_is_free(place, 24)
            same(found, expected, place, f"part {position}")


PARTS = _each(each_part_outlives_the_others, KEEPS, "parts of a batch change", SEVERAL)


@check(called_by="torch/autograd/graph.py: Node", without="autograd misses an update, in silence")
def parts_cannot_be_changed_in_place(backend: Backend) -> None:
    """A change in place of one of several views of a leaf's result is refused, as on the CPU."""
    for device in (CPU, _place(backend)):
        part = (torch.ones(2, 3, device=device, requires_grad=True) * 1).unbind(0)[0]
        with refused(RuntimeError, what=f"a change of a part on {device}"):
            part.add_(1)


# ---- the memory itself


@check(called_by=KEEPS, without="memory grows with each view, until there is none")
def memory_is_freed_with_the_last_view(backend: Backend) -> None:
    """A storage goes with the last of its tensors, and not before."""
    need_accelerator(backend)
    allocated = torch.accelerator.memory_allocated
    base = torch.ones(1_000_000, device=backend.device)
    whole, address = allocated(backend.device), base.untyped_storage().data_ptr()
    view = base.detach()[10:]
    del base
    equal(allocated(backend.device), whole, "what is allocated while a view lives")
    equal(view.untyped_storage().data_ptr(), address, "the address of what is kept")
    equal(view.untyped_storage().nbytes(), 4_000_000, "the size of what is kept")
    del view
    freed = whole - allocated(backend.device)
    assert freed >= 4_000_000, f"{freed} bytes of 4000000 were freed with the last view"


@check(called_by=KEEPS, without="one row of a batch reads freed memory")
def a_chain_of_views_keeps_memory(backend: Backend) -> None:
    """A view of a view of a view keeps the memory of the first when all between are gone."""
    place = _place(backend)
    for context in MODES.values():
        with context():
            tensor = torch.arange(1000.0, device=place)
            for _ in range(100):
                tensor = tensor[1:].view(-1).detach()
            _overwrite_what_is_free(place, 1000)
            same(tensor, torch.arange(100.0, 1000.0), place)


@check(called_by="torch/storage.py: UntypedStorage", without="a storage without a tensor is empty")
def a_storage_outlives_its_tensors(backend: Backend) -> None:
    """A storage keeps its bytes when its tensors are gone."""
    place = _place(backend)
    storage = torch.arange(100.0, device=place).untyped_storage()
    _overwrite_what_is_free(place, 100)
    found = torch.empty(0, device=place).set_(storage)
    same(found, torch.arange(100.0), place)


@check(
    called_by="torch/autograd/graph.py: saved_tensors_hooks",
    without="gradients are computed from freed memory",
)
def saved_tensors_keep_their_memory(backend: Backend) -> None:
    """What autograd has saved lives until backward, with no Python name left for it."""
    place = _place(backend)
    leaf = torch.arange(1.0, 101.0, device=place, requires_grad=True)
    out = ((leaf * 2).view(10, 10).t()[1:].sqrt() ** 4).sum()
    _overwrite_what_is_free(place, 100)
    out.backward()
    expected = (torch.arange(1.0, 101.0) * 8).view(10, 10)
    expected[:, 0] = 0
    same(leaf.grad, expected.view(-1), place, "the gradient", rtol=1e-4, atol=1e-3)


@check(called_by=KEEPS, without="two results share memory, and one changes the other")
def results_are_not_views(backend: Backend) -> None:
    """Results of operators that compute have memory of their own."""
    place = _place(backend)
    base = _base(place)
    for name, call in {
        "add": lambda: base + 0,
        "clone": lambda: base.clone(),
        "contiguous of a transposed": lambda: base.transpose(0, 2).contiguous(),
        "reshape of a transposed": lambda: base.transpose(0, 2).reshape(-1),
        "index": lambda: base[[0, 1]],
        "masked_select": lambda: base[base >= 0],
        "to another dtype": lambda: base.half(),
        "to with copy": lambda: base.to(place, copy=True),
        "relu": lambda: base.relu(),
        "cat": lambda: torch.cat([base]),
        "repeat": lambda: base.repeat(1, 1, 1),
    }.items():
        call().fill_(-1)
        same(base, _base(CPU), place, f"the operand after a change of the result of {name}")


@check(called_by=KEEPS, without="a loop over batches doubles memory, or changes a kept batch")
def no_copy_is_made_of_what_is_right(backend: Backend) -> None:
    """contiguous(), to() and reshape() of what is right already share its memory."""
    place = _place(backend)
    base = _base(place)
    for name, call in {
        "contiguous": lambda: base.contiguous(),
        "to": lambda: base.to(place),
        "to a dtype": lambda: base.to(torch.float32),
        "float": lambda: base.float(),
        "reshape": lambda: base.reshape(24),
        "flatten": lambda: base.flatten(),
        "as_tensor": lambda: torch.as_tensor(base, device=place),
        "asarray": lambda: torch.asarray(base),
    }.items():
        equal(call().data_ptr(), base.data_ptr(), f"the address of {name}'s result")


# ---- versions and autograd


@check(
    called_by="torch/autograd/graph.py: allow_mutation_on_saved_tensors",
    without="wrong gradients instead of an error",
)
def a_changed_saved_tensor_is_an_error(backend: Backend) -> None:
    """Backward is refused after a saved tensor, or a view of it, was changed in place."""
    place = _place(backend)
    for change in (lambda t: t.add_(1), lambda t: t[0].fill_(3), lambda t: t.view(-1).zero_()):
        leaf = torch.ones(4, device=place, requires_grad=True)
        middle = leaf * 2
        out = (middle * middle).sum()
        with torch.no_grad():
            change(middle)
        with refused(RuntimeError, naming=("inplace operation",), what="backward"):
            out.backward()


@check(
    called_by="torch/autograd/graph.py: allow_mutation_on_saved_tensors",
    without="backward is refused for no reason, or not where it should be",
)
def versions_count_changes(backend: Backend) -> None:
    """Each change in place counts once, for all views and detached ones, and not for .data."""
    tensor = torch.zeros(4, device=_place(backend))
    view, detached, data = tensor[1:], tensor.detach(), tensor.data
    equal((tensor._version, view._version, detached._version), (0, 0, 0), "the versions")
    view.add_(1)
    equal((tensor._version, view._version, detached._version), (1, 1, 1), "after a view's change")
    detached.mul_(2)
    equal((tensor._version, view._version), (2, 2), "after a detached one's change")
    data.fill_(3)
    equal(tensor._version, 2, "the version after a change of .data")
    same(tensor, torch.full((4,), 3.0), _place(backend), "the tensor")
    torch.add(tensor, 1, out=tensor)
    equal(tensor._version, 3, "the version after out=")
    tensor.copy_(torch.ones(4))
    equal(tensor._version, 4, "the version after copy_()")


@check(called_by="torch/_tensor.py: Tensor", without="gradients of sliced updates are wrong")
def changes_of_views_are_differentiated(backend: Backend) -> None:
    """A change in place of a view is part of the base's history: the gradient is the CPU's."""
    place = _place(backend)
    for change in (
        lambda t: t[0].mul_(3),
        lambda t: t[:, 1].fill_(0),
        lambda t: t.view(-1)[::2].copy_(t.view(-1)[1::2] * 5),
        lambda t: t.t()[1].exp_(),
        lambda t: t.diagonal().add_(t.sum()),
        lambda t: t.unsqueeze(0).squeeze(0).masked_fill_(t > 2, 7.0),
    ):
        gradients: list[Any] = []
        for device in (CPU, place):
            leaf = torch.arange(4.0, device=device).view(2, 2).requires_grad_()
            middle = leaf * 1
            change(middle)
            (middle * torch.arange(1.0, 5.0, device=device).view(2, 2)).sum().backward()
            gradients.append(leaf.grad)
        same(gradients[1], gradients[0], place, "the gradient", rtol=1e-5, atol=1e-6)


@check(
    called_by="torch/_tensor.py: Tensor", without="hooks and graphs take a view for a new tensor"
)
def views_know_their_base(backend: Backend) -> None:
    """_is_view() and _base are as on the CPU: the root, however long the chain."""
    base = _base(_place(backend)).requires_grad_() * 1
    for view in (base[0], base.view(-1), base[0].t()[1:], base.unbind(0)[1], base.diagonal()):
        assert view._is_view(), "a view does not know that it is one"
        assert view._base is base, "the base of a view is another tensor"
    for other in (base, base.detach() + 1, base.clone()):
        assert not other._is_view(), "a tensor that is no view says that it is"


@check(
    called_by="torch/autograd/grad_mode.py: inference_mode", without="inference_mode is of no use"
)
def inference_tensors_stay_inference_tensors(backend: Backend) -> None:
    """Tensors and views made in inference_mode are such, and autograd refuses them."""
    place = _place(backend)
    normal = torch.ones(3, device=place)
    with torch.inference_mode():
        made = torch.ones(3, device=place)
        assert made.is_inference(), "a new tensor is none of inference"
        assert made[1:].is_inference(), "a view of it is none of inference"
        assert not normal[1:].is_inference(), "a view of an ordinary tensor is one of inference"
        normal.add_(1)
    same(normal, torch.full((3,), 2.0), place)
    with refused(RuntimeError, what="a change of an inference tensor outside"):
        made.add_(1)
    leaf = torch.ones(3, device=place, requires_grad=True)
    with refused(RuntimeError, what="saving an inference tensor for backward"):
        leaf * made


@check(
    called_by="torch/nn/modules/module.py: Module._apply",
    without="programs that swap weights swap nothing",
)
def data_can_be_exchanged(backend: Backend) -> None:
    """`parameter.data = tensor` takes the tensor's memory, and keeps it."""
    place = _place(backend)
    parameter = torch.nn.Parameter(torch.zeros(3, device=place))
    fresh = torch.arange(5.0, device=place)
    parameter.data = fresh
    equal(parameter.data_ptr(), fresh.data_ptr(), "the parameter's address")
    del fresh
    _overwrite_what_is_free(place, 5)
    same(parameter, torch.arange(5.0), place, "the parameter")
    parameter.sum().backward()
    same(parameter.grad, torch.ones(5), place, "its gradient")


@check(called_by="torch/_utils.py: _rebuild_tensor_v2", without="swapped modules read freed memory")
def tensors_can_be_swapped(backend: Backend) -> None:
    """torch.utils.swap_tensors exchanges two tensors, and each keeps its memory."""
    place = _place(backend)
    first, second = torch.arange(3.0, device=place), torch.arange(7.0, device=place)
    torch.utils.swap_tensors(first, second)
    same(first, torch.arange(7.0), place, "the first")
    same(second, torch.arange(3.0), place, "the second")
    del first
    _overwrite_what_is_free(place, 7)
    same(second, torch.arange(3.0), place, "the second when the first is gone")


# ---- other layouts


def _coo(place: torch.device) -> torch.Tensor:
    indices = torch.tensor([[0, 1, 2], [2, 0, 1]]).to(place)
    return torch.sparse_coo_tensor(indices, torch.tensor([3.0, 4.0, 5.0]).to(place), (3, 3))


def _csr(place: torch.device) -> torch.Tensor:
    rows, columns = torch.tensor([0, 1, 2, 3]).to(place), torch.tensor([2, 0, 1]).to(place)
    return torch.sparse_csr_tensor(rows, columns, torch.tensor([3.0, 4.0, 5.0]).to(place), (3, 3))


def _bsr(place: torch.device) -> torch.Tensor:
    rows, columns = torch.tensor([0, 1, 2]).to(place), torch.tensor([1, 0]).to(place)
    return torch.sparse_bsr_tensor(rows, columns, torch.ones(2, 2, 2).to(place), (4, 4))


def _nested(place: torch.device, layout: torch.layout) -> torch.Tensor:
    parts = [torch.arange(2.0).to(place), torch.arange(3.0).to(place)]
    return torch.nested.nested_tensor(parts, layout=layout)


LAYOUTS: dict[str, Callable[[torch.device], torch.Tensor]] = {
    "COO, whole": lambda d: _coo(d).to_dense(),
    "COO, coalesced": lambda d: _coo(d).coalesce().to_dense(),
    "COO, indices": lambda d: _coo(d)._indices(),
    "COO, values": lambda d: _coo(d)._values(),
    "COO, coalesced values": lambda d: _coo(d).coalesce().values(),
    "COO, detached": lambda d: _coo(d).detach().to_dense(),
    "COO, of a dense one": lambda d: _coo(d).to_dense().to_sparse()._values(),
    "CSR, whole": lambda d: _csr(d).to_dense(),
    "CSR, crow_indices": lambda d: _csr(d).crow_indices(),
    "CSR, col_indices": lambda d: _csr(d).col_indices(),
    "CSR, values": lambda d: _csr(d).values(),
    "CSR, detached values": lambda d: _csr(d).detach().values(),
    "BSR, values": lambda d: _bsr(d).values(),
    "nested, part": lambda d: _nested(d, torch.strided).unbind()[1],
    "nested, padded": lambda d: _nested(d, torch.strided).to_padded_tensor(0.0),
    "jagged, values": lambda d: _nested(d, torch.jagged).values(),
    "jagged, offsets": lambda d: _nested(d, torch.jagged).offsets(),
    "jagged, part": lambda d: _nested(d, torch.jagged).unbind()[1],
    "complex, conj": lambda d: torch.tensor([1 + 2j, 3 - 4j]).to(d).conj().resolve_conj(),
    "complex, imag of conj": lambda d: torch.tensor([1 + 2j]).to(d).conj().imag.resolve_neg(),
    "channels_last": lambda d: torch.arange(24.0)
    .view(1, 2, 3, 4)
    .to(d)
    .contiguous(memory_format=torch.channels_last)[:, 1:],
    "quantized": lambda d: torch.quantize_per_tensor(
        torch.tensor([0.5, 1.5]).to(d), 0.5, 1, torch.quint8
    ).int_repr(),
}


def other_layouts_keep_their_memory(backend: Backend, make: Callable) -> None:
    """What is taken of a tensor of this layout outlives it, in each grad mode."""
    place = _place(backend)
    for mode, context in MODES.items():
        with context(), warnings_are("ignore"):
            expected = make(CPU)
            found = make(place)
            for count in (2, 3, 5, 6, 8, 9):
                _overwrite_what_is_free(place, count)
            same(found, expected, place, f"it with {mode}")


OTHER_LAYOUTS = _each(
    other_layouts_keep_their_memory, KEEPS, "parts of sparse and nested tensors change", LAYOUTS
)


def _on_parts(device: torch.device) -> dict[str, torch.Tensor]:
    """What operators make of small parts of a larger tensor, and that tensor afterwards."""
    x = torch.arange(4096.0, device=device)
    grown, beyond = x[500:500], torch.arange(100.0, device=device)
    end = beyond[96:96]
    with warnings_are("ignore"):
        found = {
            "one value": torch.tensor(x[1000].item()),
            "two parts": x[1000:1005] + x[3000:3005],
            "parts that overlap": x[100:110] * x[105:115],
            "a part by columns": x[2048:2112].view(8, 8).t() + 1,
            "a part with gaps": x[7:1000:99] - 1,
            "bytes of the middle": x.view(torch.uint8)[1001:1004] + 1,
            "in place": x[1200:1205].sub_(1),
            "in place, with gaps": x[1301:1400:7].mul_(2),
            "in place, from another part": x[1500:1504].add_(x[3500:3504]),
            "a result": torch.add(x[10:14], 1, out=x[2000:2004]),
            "an empty result that grows": torch.add(x[:10], 1, out=grown),
            "a result that grows beyond": torch.add(x[:10], 1, out=end),
            "what it was a part of": beyond[:96],
        }
    return {**found, "the tensor": x}


@check(without="operators on a part of a tensor read or overwrite what is beside it")
def operators_stay_within_parts(backend: Backend) -> None:
    """Operators that read or write small parts of a larger tensor, several of them in one call too,
    compute what the CPU does and leave the rest as it was."""
    place = _place(backend)
    found = _on_parts(place)
    for name, expected in _on_parts(CPU).items():
        same(found[name].cpu(), expected, CPU, name)
