"""A view keeps the memory that it shows: every operator that returns one, in every mode."""

import contextlib

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

pytestmark = [
    pytest.mark.turns_on_memory,
    pytest.mark.filterwarnings("ignore:Sparse"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
    pytest.mark.filterwarnings("ignore:.*quantize"),
    pytest.mark.filterwarnings("ignore:The use of"),
]

REFUSALS = (AttributeError, RuntimeError, TypeError, ValueError)
MODES = {
    "grad": contextlib.nullcontext,
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
}


def numbers(device, dtype=torch.float32):
    return torch.arange(24.0, device=device).to(dtype).view(4, 6)


def needs_grad(device):
    # A leaf in every mode but inference.
    return numbers(device).requires_grad_(not torch.is_inference_mode_enabled())


def quantized(device):
    return torch.quantize_per_tensor(numbers(device), 0.5, 1, torch.quint8)


def per_channel(device):
    scales, zeros = torch.full((4,), 0.5, device=device), torch.ones(4, device=device)
    return torch.quantize_per_channel(numbers(device), scales, zeros.long(), 0, torch.qint8)


def nested(device):
    parts = [numbers(device), numbers(device)[:2]]
    return torch.nested.nested_tensor(parts).detach()


def jagged(device):
    parts = [numbers(device), numbers(device)[:2]]
    return torch.nested.nested_tensor(parts, layout=torch.jagged).detach()


def whole(x):
    return [x]


PLAIN = {
    "alias": lambda x: torch.ops.aten.alias(x),
    "detach": lambda x: x.detach(),
    "as_strided": lambda x: x.as_strided((2, 2), (6, 1), 1),
    "view": lambda x: x.view(-1),
    "view of a dtype": lambda x: x.view(torch.int32 if x.dtype == torch.float32 else torch.int64),
    "_unsafe_view": lambda x: torch.ops.aten._unsafe_view(x, [24]),
    "_reshape_alias": lambda x: torch.ops.aten._reshape_alias(x, [24], [1]),
    "reshape": lambda x: x.reshape(2, 12),
    "flatten": lambda x: x.flatten(),
    "unflatten": lambda x: x.unflatten(1, (2, 3)),
    "expand": lambda x: x[:1].expand(5, -1),
    "expand_as": lambda x: x[0].expand_as(x),
    "transpose": lambda x: x.transpose(0, 1),
    "t": lambda x: x.t(),
    "permute": lambda x: x.permute(1, 0),
    "movedim": lambda x: x.movedim(0, 1),
    "squeeze": lambda x: x[:1].squeeze(),
    "squeeze of a dim": lambda x: x[:1].squeeze(0),
    "squeeze of dims": lambda x: x[:1, :1].squeeze((0, 1)),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "slice": lambda x: x[1:, ::2],
    "narrow": lambda x: x.narrow(1, 2, 3),
    "slice_inverse": lambda x: torch.ops.aten.slice_inverse(x[1:], x, 0, 1),
    "select": lambda x: x[1],
    "unbind": lambda x: x.unbind(),
    "split": lambda x: x.split(2),
    "split with sizes": lambda x: x.split([1, 3]),
    "unsafe_split": lambda x: torch.unsafe_split(x, 2),
    "chunk": lambda x: x.chunk(2),
    "tensor_split": lambda x: x.tensor_split(3),
    "diagonal": lambda x: x.diagonal(),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "lift_fresh": lambda x: torch.ops.aten.lift_fresh(x.detach()),
    "_conj": lambda x: torch.ops.aten._conj(x.detach()),
    "_neg_view": lambda x: torch.ops.aten._neg_view(x),
    "real": lambda x: x.real,
    "view_as_complex": lambda x: torch.view_as_complex(x.view(4, 3, 2)),
    "contiguous": lambda x: x.contiguous(),
    "to itself": lambda x: x.to(x.device),
    "set_": lambda x: torch.empty(0, dtype=x.dtype, device=x.device).set_(x.detach()),
    "a parameter": lambda x: torch.nn.Parameter(x.detach()),
    "data": lambda x: x.data,
    "functional view": lambda x: torch.func.functionalize(lambda y: y[1:].t())(x.detach()),
    "vmap": lambda x: torch.func.vmap(lambda y: y[1:])(x),
}
COMPLEX = {
    "conj": lambda x: x.conj(),
    "imag": lambda x: x.imag,
    "imag of conj": lambda x: x.conj().imag,
    "view_as_real": lambda x: torch.view_as_real(x),
    "adjoint": lambda x: x.adjoint(),
}
QUANTIZED = {
    "itself": lambda x: x,
    "alias": lambda x: torch.ops.aten.alias(x),
    "detach": lambda x: x.detach(),
    "as_strided": lambda x: x.as_strided((2, 2), (6, 1), 1),
    "view": lambda x: x.view(24),
    "reshape": lambda x: x.reshape(2, 12),
    "expand": lambda x: x[:1].expand(5, -1),
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "squeeze": lambda x: x[:1].squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "slice": lambda x: x[1:],
    "select": lambda x: x[1],
    "unbind": lambda x: x.unbind(),
    "split": lambda x: x.split(2),
    "unfold": lambda x: x.unfold(1, 2, 1),
}
NESTED = {
    "itself": lambda x: x,
    "index": lambda x: x[0],
    "alias": lambda x: torch.ops.aten.alias(x),
    "detach": lambda x: x.detach(),
    "unbind": lambda x: x.unbind(),
    "select": lambda x: x.select(0, 1),
    "values": lambda x: x.values(),
    "transpose": lambda x: x.transpose(1, 2),
    "squeeze": lambda x: x.unsqueeze(1).squeeze(1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "view": lambda x: x.view(2, -1, 2, 3),
    "reshape": lambda x: x.reshape(2, -1, 2, 3),
    "split": lambda x: x.split(3, -1),
    "chunk": lambda x: x.chunk(2, -1),
    "narrow": lambda x: x.narrow(-1, 0, 2),
    "a parameter": lambda x: torch.nn.Parameter(x),
    "from a buffer": lambda x: torch.ops.aten._nested_view_from_buffer(
        x.values(),
        x._nested_tensor_size(),
        x._nested_tensor_strides(),
        x._nested_tensor_storage_offsets(),
    ),
}
SPARSE = {
    "itself": lambda x: x,
    "detach": lambda x: x.detach(),
    "values": lambda x: x.values(),
    "_values": lambda x: x._values(),
    "indices": lambda x: x.indices(),
    "_indices": lambda x: x._indices(),
    "crow_indices": lambda x: x.crow_indices(),
    "col_indices": lambda x: x.col_indices(),
    "ccol_indices": lambda x: x.ccol_indices(),
    "row_indices": lambda x: x.row_indices(),
    "transpose": lambda x: x.transpose(0, 1),
    "select": lambda x: x.select(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "alias": lambda x: torch.ops.aten.alias(x),
    "_sparse_broadcast_to": lambda x: torch.ops.aten._sparse_broadcast_to(x, [2, 4, 6]),
}
KINDS = {
    "plain": (numbers, PLAIN),
    "leaf": (needs_grad, PLAIN),
    "complex": (lambda d: numbers(d, torch.cfloat), PLAIN | COMPLEX),
    "quantized": (quantized, QUANTIZED),
    "quantized by channel": (per_channel, QUANTIZED),
    "nested": (nested, NESTED),
    "jagged": (jagged, NESTED),
    "coo": (lambda d: numbers(d).to_sparse(), SPARSE),
    "csr": (lambda d: numbers(d).to_sparse_csr(), SPARSE),
    "csc": (lambda d: numbers(d).to_sparse_csc(), SPARSE),
    "bsr": (lambda d: numbers(d).to_sparse_bsr((2, 2)), SPARSE),
    "bsc": (lambda d: numbers(d).to_sparse_bsc((2, 2)), SPARSE),
}
CASES = {
    f"{kind}: {name}": (make, call)
    for kind, (make, calls) in KINDS.items()
    for name, call in calls.items()
}


def tensors_of(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


def strided_parts(x):
    """The strided tensors on the CPU that say all that `x` holds."""
    x = x.detach()
    if x.is_nested:
        return [part for each in x.unbind() for part in strided_parts(each)]
    x = x.int_repr().cpu() if x.is_quantized else x.cpu()
    if x.layout == torch.strided:
        return [x.resolve_conj().resolve_neg()]
    if x.layout == torch.sparse_coo:
        return [x._indices(), x._values()]
    rows = x.layout in (torch.sparse_csr, torch.sparse_bsr)
    compressed = (
        [x.crow_indices(), x.col_indices()] if rows else [x.ccol_indices(), x.row_indices()]
    )
    return [*compressed, x.values()]


def assert_shows(views, expected):
    for view, want in zip(views, expected, strict=True):
        assert view.is_acme
        for part, wanted in zip(strided_parts(view), want, strict=True):
            assert torch.equal(part, wanted)


def overwrite_what_is_free(held_before):
    """Memory that was given back is handed out again, to tensors full of something else."""
    others = [
        torch.full((2 ** (i % 10 + 4),), 119, dtype=torch.uint8, device="acme") for i in range(40)
    ]
    assert torch.acme.memory_allocated() > held_before
    return others


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize(("make", "call"), CASES.values(), ids=CASES)
def test_a_view_shows_the_same_when_what_it_was_made_of_is_gone(make, call, mode):
    with mode():
        try:
            expected = [strided_parts(view) for view in tensors_of(call(make("cpu")))]
        except REFUSALS as refused:
            with pytest.raises(type(refused)):
                call(make("acme"))
            return
        views = tensors_of(call(make("acme")))
        others = overwrite_what_is_free(torch.acme.memory_allocated())
        assert_shows(views, expected)
        del others
        torch.acme.empty_cache()  # unmapped, where memory is apart
        assert_shows(views, expected)


class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen.add(function.name())
        return function(*args, **(kwargs or {}))


# What returns a view by its schema, is composed of nothing, and is not tried above.
NOT_TRIED = {
    "aten::_fw_primal": "autograd's own",
    "aten::_make_dual": "autograd's own",
    "aten::_test_autograd_multiple_dispatch_view": "of PyTorch's tests",
    "aten::_has_same_storage_numel": "no view",
}


def view_operators():
    """Those that reach a backend: by schema they return a part of an argument, unwritten."""
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        if not name.startswith("aten::"):
            continue
        if not any(it.alias_info and not it.alias_info.is_write for it in schema.returns):
            continue
        has = torch._C._dispatch_has_kernel_for_dispatch_key
        if torch._C._dispatch_has_kernel(name) and not has(name, "CompositeImplicitAutograd"):
            yield name


def test_every_view_operator_is_tried():
    worked = set()
    with Recorder() as recorder:
        for case, (make, call) in CASES.items():
            with contextlib.suppress(*REFUSALS):
                call(make("cpu"))
                worked.add(case.partition(": ")[2])
    assert worked == {case.partition(": ")[2] for case in CASES}, "a call that works on no kind"
    missing = set(view_operators()) - recorder.seen - set(NOT_TRIED)
    assert not missing, sorted(missing)


KEPT = []


@torch.library.custom_op("outback_views::keeps", mutates_args=(), device_types="cpu")
def keeps(x: torch.Tensor) -> torch.Tensor:
    KEPT.append(x)
    return x + 1


# How a tensor may lose the memory that it had.
LOSSES = {
    "gone": lambda x: None,
    "set to another": lambda x: x.set_(torch.ones(2, device="acme")),
    "given other data": lambda x: setattr(x, "data", torch.ones(2, device="acme")),
    "resized": lambda x: x.resize_(100000),
    "without a storage": lambda x: x.untyped_storage().resize_(0),
    "grown as a result": lambda x: torch.cumsum(torch.ones(100000, device="acme"), 0, out=x),
}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_a_kernel_may_keep_what_it_was_lent(lose):
    x = numbers("acme")
    assert torch.equal(keeps(x).cpu(), numbers("cpu") + 1)
    lose(x)
    del x
    held = torch.acme.memory_allocated()
    others = overwrite_what_is_free(held)
    torch.acme.empty_cache()
    assert torch.equal(KEPT.pop(), numbers("cpu"))
    del others


def test_a_quantizer_keeps_its_scales():
    scales = torch.full((4,), 0.5, dtype=torch.double, device="acme")
    zeros = torch.ones(4, dtype=torch.long, device="acme")
    x = torch.quantize_per_channel(numbers("acme"), scales, zeros, 0, torch.qint8)
    scales.resize_(100000)
    zeros.untyped_storage().resize_(0)
    others = overwrite_what_is_free(torch.acme.memory_allocated())
    torch.acme.empty_cache()
    assert torch.equal(x.dequantize().cpu(), numbers("cpu"))
    del others
