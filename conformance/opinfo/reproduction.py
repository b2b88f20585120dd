"""A program that shows the failure of an operator, with nothing but torch and the backend."""

from __future__ import annotations

from typing import Any, Protocol

from .exemptions import Exemptions
from .settings import Settings

_FORMS = ("noncontiguous", "empty", "zero_dim", "conj_neg")
_OF_GRADIENTS = ("backward", "forward_ad", *_FORMS)
_SEARCHED = 20  # samples, for the form that fails

_HEAD = """\
# {id} on {device}: {message}
import itertools
import random

import numpy
import torch
{imports}from {module} import {attribute} as op_db
from torch.utils._pytree import tree_leaves, tree_map

NAME, DTYPE, DEVICE = {name!r}, torch.{dtype}, torch.device({device!r})


def name_of(op):
    return ".".join(filter(None, (op.name, op.variant_test_name.replace(" ", "_"))))


def copy(t, device):
    if t.is_conj():
        return copy(t.conj(), device).conj()
    if t.is_neg():
        return torch._neg_view(copy(torch._neg_view(t), device))
    if t.layout != torch.strided or (t.is_contiguous() and not t.storage_offset()):
        return t.to(device, copy=True)
    flat = torch.empty(0, dtype=t.dtype).set_(t.untyped_storage()).to(device, copy=True)
    return flat.as_strided(t.size(), t.stride(), t.storage_offset())


def place(value, device):
    if isinstance(value, torch.Tensor):
        return copy(value.detach(), device).requires_grad_(value.requires_grad)
    if isinstance(value, torch.nn.Module):
        return value.to(device)
    return device if isinstance(value, (str, torch.device)) and str(value) == "cpu" else value


def tensors(tree):
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def cotangents(outputs):
    drawn = (
        torch.randn(t.shape, generator=torch.Generator().manual_seed(i), dtype=t.dtype)
        for i, t in enumerate(outputs)
    )
    return [each.to(t.device) for each, t in zip(drawn, outputs)]


"""
_CALL = """\
def answer(sample, device, form=None):
    given = (sample.input, sample.args, sample.kwargs)
    input, args, kwargs = {placed}
    torch.manual_seed(0)
{body}

"""
_PLACED = "tree_map(lambda leaf: place(leaf, device), given)"
_PLACED_INPUT = (
    "(tree_map(lambda leaf: place(leaf, device), given[0]), "
    'tree_map(lambda leaf: place(leaf, "cpu"), given[1]), given[2])'
)
_RESULT = """\
    results = {function}(input, *args, **kwargs)
    {aliasing}return sample.output_process_fn_grad(results), (input, args, kwargs)
"""
_ALIASING = """\
owners = [t.untyped_storage().data_ptr() for t in tensors((input, args, kwargs))]
    shared = [[t.untyped_storage().data_ptr() == o for o in owners] for t in tensors(results)]
    if shared:
        print(f"{device}: of each result, which arguments it shares memory with: {shared}")
        return shared
    """
_BODIES = {
    "forward": _RESULT.replace("{function}", "op"),
    "inplace": _RESULT.replace("{function}", "op.get_inplace()"),
    "backward": """\
    results = op.gradcheck_wrapper(op, input, *args, **kwargs)
    outputs = [t for t in tensors(sample.output_process_fn_grad(results)) if t.requires_grad]
    inputs = [t for t in tensors((input, args, kwargs)) if t.requires_grad]
    return torch.autograd.grad(outputs, inputs, cotangents(outputs), allow_unused=True)
""",
    "forward_ad": """\
    from torch.autograd import forward_ad

    inputs = [t for t in tensors((input, args, kwargs)) if t.requires_grad]
    with forward_ad.dual_level():
        values = [t.detach() for t in inputs]
        duals = {id(t): forward_ad.make_dual(v, c)
                 for t, v, c in zip(inputs, values, cotangents(values))}
        given = (input, args, kwargs)
        input, args, kwargs = tree_map(lambda leaf: duals.get(id(leaf), leaf), given)
        results = op.gradcheck_wrapper(op, input, *args, **kwargs)
        found = tensors(sample.output_process_fn_grad(results))
        return [forward_ad.unpack_dual(t).tangent for t in found]
""",
    "out": """\
    like = op(*tree_map(lambda leaf: place(leaf, "cpu"), given[:1]), *given[1], **given[2])
    out = tree_map(lambda t: copy(form(t), device), like)
    out = out if isinstance(out, (torch.Tensor, list)) else tuple(tree_leaves(out))
    results = op(input, *args, **kwargs, out=out)
    returned = [r is o for r, o in zip(tree_leaves(results), tree_leaves(out))]
    return results, out, returned, [t.stride() for t in tensors(out)]
""",
    "form": """\
    results = op(input, *args, **kwargs)
    found = [sample.output_process_fn_grad(results)]
    outputs = [t for t in tensors(found) if t.requires_grad]
    inputs = [t for t in tensors((input, args, kwargs)) if t.requires_grad]
    if outputs and inputs:
        found.append(torch.autograd.grad(outputs, inputs, cotangents(outputs), allow_unused=True))
    return found
""",
}
# Each yields functions that make a tensor another one.
_FORM_CODE = {
    "noncontiguous": """\
from torch.testing._internal.common_utils import noncontiguous_like


def forms(sample):
    yield noncontiguous_like
""",
    "empty": """\
def forms(sample):
    for size in {*next(iter(tensors((sample.input, sample.args, sample.kwargs)))).shape} - {0}:
        yield lambda t: t.new_empty([0 if n == size else n for n in t.shape])
""",
    "zero_dim": """\
def forms(sample):
    scalar = lambda t: t.flatten()[0].clone() if t.dim() and t.numel() else t
    first = {id(t) for t in tensors(sample.input)}
    yield lambda t: scalar(t) if id(t) in first else t
    yield scalar
""",
    "conj_neg": """\
def forms(sample):
    if DTYPE.is_complex:
        yield lambda t: t.conj().resolve_conj().conj() if t.dtype == DTYPE else t
    yield lambda t: torch._neg_view(t.neg()) if t.dtype == DTYPE else t
""",
}
_CHECK = """\
def check(sample, form=None):
    expected = {asked_cpu}
    actual = {asked_device}
    for mine, cpus in zip(tree_leaves(actual), tree_leaves(expected), strict=True):
        if not isinstance(cpus, torch.Tensor):
            assert mine == cpus, f"{{mine}}, on the CPU {{cpus}}"
            continue
        assert mine.device == DEVICE, f"a result is on {{mine.device}}"
        torch.testing.assert_close(mine.cpu(), cpus, equal_nan=True, check_stride=False)


op = next(op for op in op_db if name_of(op) == NAME)
random.seed({seed})
numpy.random.seed({seed})
torch.manual_seed({seed})
samples = op.sample_inputs("cpu", DTYPE, requires_grad={requires_grad})
"""
_DEVICE = "answer(sample, DEVICE, form)"
_CPU = 'answer(sample, torch.device("cpu"), form)'
_SAID = """\
def said(*asked):
    try:
        return answer(*asked)
    except Exception as error:
        print(f"{asked[1]} raises {type(error).__name__}: {error}")
        return type(error).__name__


"""
_ONE = "check(next(itertools.islice(samples, {number}, None)))\n"
_OUT = """\
sample = next(itertools.islice(samples, {number}, None))
check(sample, lambda t: torch.empty(0, dtype=t.dtype))
turn = lambda t: t.permute(tuple(range(t.dim()))[::-1])
check(sample, lambda t: turn(torch.ones(t.shape[::-1], dtype=t.dtype)))
"""
_EACH = """\
for sample in itertools.islice(samples, {searched}):
    for form in forms(sample):

        def formed(t):
            if not isinstance(t, torch.Tensor) or t.layout != torch.strided:
                return t
            with torch.no_grad():
                return form(t).detach().requires_grad_(t.requires_grad)

        check(sample.transform(formed))
"""


class Item(Protocol):
    """An operator's entry."""

    id: str
    name: str
    dtype: str
    phase: str


def program(settings: Settings, item: Item, entry: dict[str, Any]) -> str:
    """Runs as pasted: what fails raises, or ends the process as it has ended the worker."""
    module, _, attribute = settings.op_db.partition(":")
    device = settings.device if ":" in settings.device else f"{settings.device}:0"
    device = "cpu" if settings.device == "cpu" else device
    message = entry["message"]
    head = _HEAD.format(
        id=item.id,
        message=" ".join(message.split()),
        name=item.name,
        module=module,
        attribute=attribute,
        device=device,
        dtype=item.dtype,
        imports="".join(f"import {name}\n" for name in settings.imports),
    )
    is_form = item.phase in _FORMS
    body = _BODIES["form" if is_form else item.phase]
    body = body.replace("{aliasing}", _ALIASING if message.startswith("aliasing") else "")
    placed = _PLACED_INPUT if _wants_arguments_on_cpu(settings, item) else _PLACED
    call = _CALL.format(placed=placed, body=body)
    refused = "the CPU raises" in message or is_form or item.phase == "out"
    asked = {"asked_cpu": _CPU, "asked_device": _DEVICE}
    if refused:
        asked = {name: text.replace("answer", "said") for name, text in asked.items()}
    check = _CHECK.format(
        **asked, seed=settings.seed, requires_grad=item.phase in _OF_GRADIENTS and _floats(item)
    )
    end = (_OUT if item.phase == "out" else _ONE).format(number=entry.get("sample", 1) - 1)
    if is_form:
        end = _EACH.format(searched=_SEARCHED)
        call = f"{_FORM_CODE[item.phase]}\n\n{call}"
    return head + call + (_SAID if refused else "") + check + end


def _floats(item: Item) -> bool:
    return item.dtype.startswith(("float", "bfloat", "complex"))


def _wants_arguments_on_cpu(settings: Settings, item: Item) -> bool:
    exempt = Exemptions.load(settings.exemptions).host_arguments
    names = [name for each in exempt for name in each.names]
    return item.name in names or item.name.rpartition(".")[0] in names
