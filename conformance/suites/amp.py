"""Autocast and GradScaler: which operators run in which dtype, and steps without infinities

The dtypes are those of PyTorch's own lists for CUDA and the devices like it. An operator that the
backend has given no rule is counted as unsupported.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from ..backend import Backend
from ..check import Check, Skipped, Unsupported, check, variants
from ..current import need_privateuse1
from ..expect import equal, on, refused, same
from ..warned import warnings_are

RULES = "torch/include/ATen/autocast_mode.h: AT_FORALL_LOWER_PRECISION_FP"
FP32_RULES = "torch/include/ATen/autocast_mode.h: AT_FORALL_FP32"
PROMOTE_RULES = "torch/include/ATen/autocast_mode.h: AT_FORALL_PROMOTE"
AUTOCAST = "torch/amp/autocast_mode.py: autocast.__init__"
ENTER = "torch/amp/autocast_mode.py: autocast.__enter__"
SCALER = "torch/amp/grad_scaler.py: GradScaler"


def _dtypes(backend: Backend) -> list[torch.dtype]:
    """The dtypes that autocast takes on this device."""
    if torch._C._dispatch_key_for_device(backend.name) != "PrivateUse1":
        return [torch.bfloat16]
    dtypes = backend.need("get_amp_supported_dtype")()
    return [dtype for dtype in dtypes if dtype.itemsize == 2] or list(dtypes)


def _need_rule(backend: Backend, operator: str) -> None:
    """Unsupported where the backend has no rule of its own for the operator."""
    need_privateuse1(backend)
    name = f"aten::{operator}"
    if not torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutocastPrivateUse1"):
        raise Unsupported(f"{name} has no rule on AutocastPrivateUse1")


def _place(backend: Backend) -> torch.device:
    """The device as tensors name it: the CPU has no index."""
    return torch.device("cpu") if backend.name == "cpu" else backend.device


def _dense_encoder(dtype: torch.dtype) -> torch.nn.Module:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval().to(dtype)


def _without_fast_path(call: Callable[[], torch.Tensor]) -> torch.Tensor:
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        return call()
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


# ---- switching on and off


@check(called_by=AUTOCAST, without="autocast raises, or is off in silence")
def autocast_can_be_switched_on(backend: Backend) -> None:
    """Autocast is available for the device, on inside the context with its dtype, and off after."""
    equal(torch.amp.is_autocast_available(backend.name), True, "is_autocast_available()")
    equal(torch.is_autocast_enabled(backend.name), False, "is_autocast_enabled() before")
    default = torch.get_autocast_dtype(backend.name)
    for dtype in _dtypes(backend):
        with warnings_are("error"), torch.autocast(backend.name, dtype=dtype):
            equal(torch.is_autocast_enabled(backend.name), True, "is_autocast_enabled()")
            equal(torch.get_autocast_dtype(backend.name), dtype, "get_autocast_dtype()")
        equal(torch.is_autocast_enabled(backend.name), False, "is_autocast_enabled() afterwards")
        equal(torch.get_autocast_dtype(backend.name), default, "the dtype afterwards")


@check(called_by=AUTOCAST, without="autocast() without a dtype is switched off with a warning")
def the_default_dtype_is_supported(backend: Backend) -> None:
    """autocast(device) without a dtype is on, without a warning."""
    with warnings_are("error"), torch.autocast(backend.name):
        equal(torch.is_autocast_enabled(backend.name), True, "is_autocast_enabled()")


@check(called_by=ENTER, without="an exception leaves the rest of the program in half precision")
def contexts_nest(backend: Backend) -> None:
    """Contexts inside contexts are undone from the inside out, after an error too."""
    place = _place(backend)
    matrix = torch.eye(4, device=place)
    for dtype in _dtypes(backend):
        with torch.autocast(backend.name, dtype=dtype):
            equal((matrix @ matrix).dtype, dtype, "the outer dtype")
            with torch.autocast(backend.name, enabled=False):
                equal((matrix @ matrix).dtype, torch.float32, "the dtype where it is off")
                for other in _dtypes(backend):
                    with torch.autocast(backend.name, dtype=other):
                        equal((matrix @ matrix).dtype, other, "the innermost dtype")
            equal((matrix @ matrix).dtype, dtype, "the outer dtype again")
            with refused(LookupError, what="an error inside"):
                with torch.autocast(backend.name, enabled=False):
                    raise LookupError
            equal((matrix @ matrix).dtype, dtype, "the dtype after an error")
        equal((matrix @ matrix).dtype, torch.float32, "the dtype in the end")


@check(called_by=AUTOCAST, without="a dtype that the device lacks fails in the first layer")
def an_unsupported_dtype_is_warned_of(backend: Backend) -> None:
    """A dtype that is not among the supported ones warns, and autocast is off."""
    need_privateuse1(backend)
    supported = backend.need("get_amp_supported_dtype")()
    for wrong in (torch.int64, torch.complex64, torch.float64):
        if wrong in supported:
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with torch.autocast(backend.name, dtype=wrong):
                equal(torch.is_autocast_enabled(backend.name), False, "is_autocast_enabled()")
        assert any("not supported" in str(w.message) for w in caught), f"no word of {wrong}"


@check(called_by=ENTER, without="the CPU's part of a program changes its dtype")
def other_devices_are_left_alone(backend: Backend) -> None:
    """Autocast of the device leaves the CPU's tensors as they are."""
    need_privateuse1(backend)
    matrix = torch.eye(3)
    with torch.autocast(backend.name, dtype=_dtypes(backend)[0]):
        equal((matrix @ matrix).dtype, torch.float32, "the dtype of a product of the CPU")
        equal(torch.is_autocast_enabled("cpu"), False, "autocast of the CPU")


@check(
    called_by="torch/include/ATen/autocast_mode.h: KERNEL_PRIVATEUSEONE",
    without="any operator without a rule raises inside of autocast",
)
def operators_without_a_rule_work(backend: Backend) -> None:
    """Operators that no list names run inside autocast as they do outside."""
    place = _place(backend)
    tensor = torch.tensor([1.0, -2.0, 4.0], device=place)
    calls: dict[str, Callable[[], torch.Tensor]] = {
        "add": lambda: tensor + 1,
        "relu": lambda: tensor.relu(),
        "view": lambda: tensor.view(3, 1),
        "sort": lambda: tensor.sort().values,
        "where": lambda: torch.where(tensor > 0, tensor, 0.0),
        "arange": lambda: torch.arange(3.0, device=place),
        "clone": lambda: tensor.clone(),
        "integers": lambda: torch.arange(3, device=place) * 2,
        "to the CPU": lambda: tensor.cpu(),
    }
    for name, call in calls.items():
        expected = call()
        with torch.autocast(backend.name, dtype=_dtypes(backend)[0]):
            try:
                found = call()
            except NotImplementedError as error:
                raise AssertionError(f"{name} raises inside of autocast: {error}") from error
        same(found, expected.cpu(), expected.device, f"{name} inside of autocast")


# ---- layers of torch.nn with a fast path for inference, which asks for CUDA's autocast


@check(
    called_by="torch/nn/modules/transformer.py: TransformerEncoderLayer.forward",
    without="encoders and attention raise under autocast in inference, or leave it out",
)
def layers_with_a_fast_path_are_cast(backend: Backend) -> None:
    """MultiheadAttention and TransformerEncoder have under autocast the dtype and the numbers that
    they have where their fast paths are switched off, whatever the dtype of their weights."""
    need_privateuse1(backend)
    torch.manual_seed(1)
    source = torch.randn(2, 5, 16).to(backend.device)
    for lower in _dtypes(backend):
        for weights in (torch.float32, lower):
            encoder = _dense_encoder(weights).to(backend.device)
            layers: Any = encoder.layers
            attention = layers[0].self_attn
            calls = {
                "TransformerEncoder": lambda encoder=encoder: encoder(source),
                "MultiheadAttention": lambda attention=attention: attention(*[source] * 3)[0],
            }
            for name, call in calls.items():
                what = f"{name} with weights of {weights}"
                with torch.inference_mode(), torch.autocast(backend.name, dtype=lower):
                    found, expected = call(), _without_fast_path(call)
                equal(found.dtype, expected.dtype, f"the dtype of {what}")
                same(found, expected.cpu(), backend.device, what, rtol=0.05, atol=0.05)


# ---- the lists


def _inputs(place: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A square matrix, a batch of two and an image, in float32."""
    matrix = torch.arange(1.0, 10.0, device=place).view(3, 3) / 8
    return matrix, matrix.expand(2, 3, 3).contiguous(), matrix.view(1, 1, 3, 3)


Call = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]

LOWER: dict[str, Call] = {
    "mm": lambda m, b, i: torch.mm(m, m),
    "mv": lambda m, b, i: torch.mv(m, m[0]),
    "bmm": lambda m, b, i: torch.bmm(b, b),
    "matmul": lambda m, b, i: torch.matmul(m, m),
    "addmm": lambda m, b, i: torch.addmm(m, m, m),
    "addmv": lambda m, b, i: torch.addmv(m[0], m, m[0]),
    "addr": lambda m, b, i: torch.addr(m, m[0], m[0]),
    "baddbmm": lambda m, b, i: torch.baddbmm(b, b, b),
    "addbmm": lambda m, b, i: torch.addbmm(m, b, b),
    "linear": lambda m, b, i: F.linear(m, m, m[0]),
    "conv1d": lambda m, b, i: F.conv1d(i[0], i[0]),
    "conv2d": lambda m, b, i: F.conv2d(i, i),
    "conv3d": lambda m, b, i: F.conv3d(i[None], i[None]),
    "conv_transpose2d.input": lambda m, b, i: F.conv_transpose2d(i, i),
    "prelu": lambda m, b, i: F.prelu(m, m[0, :1]),
    "einsum": lambda m, b, i: torch.einsum("ij,jk->ik", m, m),
    "linalg_multi_dot": lambda m, b, i: torch.linalg.multi_dot([m, m, m]),
    "scaled_dot_product_attention": lambda m, b, i: F.scaled_dot_product_attention(b, b, b),
}

FP32: dict[str, Call] = {
    "exp": lambda m, b, i: m.exp(),
    "expm1": lambda m, b, i: m.expm1(),
    "log": lambda m, b, i: m.log(),
    "log2": lambda m, b, i: m.log2(),
    "log10": lambda m, b, i: m.log10(),
    "log1p": lambda m, b, i: m.log1p(),
    "pow.Tensor_Scalar": lambda m, b, i: m.pow(1.5),
    "pow.Tensor_Tensor": lambda m, b, i: m.pow(m),
    "reciprocal": lambda m, b, i: m.reciprocal(),
    "rsqrt": lambda m, b, i: m.rsqrt(),
    "sinh": lambda m, b, i: m.sinh(),
    "tan": lambda m, b, i: m.tan(),
    "erfinv": lambda m, b, i: (m / 4).erfinv(),
    "softplus": lambda m, b, i: F.softplus(m),
    "layer_norm": lambda m, b, i: F.layer_norm(m, (3,)),
    "group_norm": lambda m, b, i: F.group_norm(i, 1),
    "softmax.int": lambda m, b, i: m.softmax(-1),
    "log_softmax.int": lambda m, b, i: m.log_softmax(-1),
    "sum": lambda m, b, i: m.sum(),
    "sum.dim_IntList": lambda m, b, i: m.sum(0),
    "prod": lambda m, b, i: m.prod(),
    "cumsum": lambda m, b, i: m.cumsum(0),
    "cumprod": lambda m, b, i: m.cumprod(0),
    "logsumexp": lambda m, b, i: m.logsumexp(0),
    "norm.Scalar": lambda m, b, i: m.norm(),
    "linalg_vector_norm": lambda m, b, i: torch.linalg.vector_norm(m),
    "cosine_similarity": lambda m, b, i: F.cosine_similarity(m, m),
    "dist": lambda m, b, i: torch.dist(m, m + 1),
    "mse_loss": lambda m, b, i: F.mse_loss(m, m + 1),
    "l1_loss": lambda m, b, i: F.l1_loss(m, m + 1),
    "smooth_l1_loss": lambda m, b, i: F.smooth_l1_loss(m, m + 1),
    "huber_loss": lambda m, b, i: F.huber_loss(m, m + 1),
    "kl_div": lambda m, b, i: F.kl_div(m, m.float(), reduction="sum"),
    "nll_loss": lambda m, b, i: F.nll_loss(m, torch.tensor([0, 1, 2], device=m.device)),
    "binary_cross_entropy_with_logits": lambda m, b, i: F.binary_cross_entropy_with_logits(m, m),
    "upsample_nearest2d": lambda m, b, i: F.interpolate(i, scale_factor=2),
}

PROMOTE: dict[str, Call] = {
    "addcmul": lambda m, b, i: torch.addcmul(m, b[0], m),
    "addcdiv": lambda m, b, i: torch.addcdiv(m, b[0], m),
    "atan2": lambda m, b, i: torch.atan2(m, b[0]),
    "cross": lambda m, b, i: torch.cross(m, b[0], dim=1),
    "dot": lambda m, b, i: torch.dot(m[0], b[0, 0]),
    "vdot": lambda m, b, i: torch.vdot(m[0], b[0, 0]),
    "tensordot": lambda m, b, i: torch.tensordot(m, b[0], dims=1),
    "scatter_add": lambda m, b, i: m.scatter_add(
        0, torch.zeros(1, 3, dtype=torch.int64, device=m.device), b[0]
    ),
    "index_put": lambda m, b, i: m.index_put((torch.tensor([0], device=m.device),), b[0, 0]),
}


def it_runs_in_the_lower_dtype(backend: Backend, operator: str, call: Call) -> None:
    """Inside autocast the operator takes float32 and gives the lower dtype, with its values."""
    _need_rule(backend, operator)
    inputs = _inputs(backend.device)
    expected = call(*inputs)
    equal(expected.dtype, torch.float32, "the dtype outside")
    for dtype in _dtypes(backend):
        with torch.autocast(backend.name, dtype=dtype):
            found = call(*inputs)
        equal(found.dtype, dtype, "the dtype inside")
        same(found.float(), expected.cpu(), backend.device, rtol=0.05, atol=0.05)


def it_runs_in_float32(backend: Backend, operator: str, call: Call) -> None:
    """Inside autocast the operator takes the lower dtype and gives float32, with its values."""
    _need_rule(backend, operator)
    for dtype in _dtypes(backend):
        inputs = [tensor.to(dtype) for tensor in _inputs(backend.device)]
        expected = call(*[tensor.float() for tensor in inputs])
        with torch.autocast(backend.name, dtype=dtype):
            found = call(*inputs)
        equal(found.dtype, torch.float32, "the dtype inside")
        same(found, expected.cpu(), backend.device, rtol=1e-3, atol=1e-3)


def it_takes_the_widest_dtype(backend: Backend, operator: str, call: Call) -> None:
    """Inside autocast the operator takes mixed dtypes and gives the widest of them."""
    _need_rule(backend, operator)
    for dtype in _dtypes(backend):
        matrix, batch, image = _inputs(backend.device)
        lower = batch.to(dtype)
        expected = call(matrix, lower.float(), image)
        with torch.autocast(backend.name, dtype=dtype):
            found = call(matrix, lower, image)
            narrow = call(matrix.to(dtype), lower, image)
        equal(found.dtype, torch.float32, "the dtype of float32 and a lower one")
        equal(narrow.dtype, dtype, "the dtype of lower ones alone")
        same(found, expected.cpu(), backend.device, rtol=1e-3, atol=1e-3)


def _listed(function: Callable, called_by: str, without: str, calls: dict) -> list[Check]:
    template = Check(function, called_by=called_by, without=without)
    return variants(template, function, {name: (name, call) for name, call in calls.items()})


IN_LOWER = _listed(
    it_runs_in_the_lower_dtype, RULES, "autocast makes this operator no faster", LOWER
)
IN_FP32 = _listed(
    it_runs_in_float32, FP32_RULES, "this operator overflows, or loses digits, in autocast", FP32
)
IN_WIDEST = _listed(
    it_takes_the_widest_dtype, PROMOTE_RULES, "this operator refuses mixed dtypes", PROMOTE
)


@check(called_by=RULES, without="integer arithmetic is rounded")
def integers_and_doubles_are_left_alone(backend: Backend) -> None:
    """Tensors of float64 and of integers keep their dtype inside autocast."""
    place = _place(backend)
    with torch.autocast(backend.name, dtype=_dtypes(backend)[0]):
        if backend.has(torch.float64):
            double = torch.eye(3, dtype=torch.float64, device=place)
            equal((double @ double).dtype, torch.float64, "the dtype of a product of float64")
        integers = torch.arange(9, device=place).view(3, 3)
        equal((integers + integers).dtype, torch.int64, "the dtype of a sum of int64")


# ---- the cache of casts and autograd


@check(
    called_by="torch/include/ATen/autocast_mode.h: cached_cast",
    without="weights are cast again in each layer that shares them",
)
def weights_are_cast_once(backend: Backend) -> None:
    """The cast of a leaf that requires a gradient is made once in a context, and used twice."""
    place = _place(backend)
    dtype = _dtypes(backend)[0]
    weight = torch.eye(4, device=place, requires_grad=True)
    casts: dict[bool, int] = {}
    for cached in (True, False):
        with torch.autocast(backend.name, dtype=dtype, cache_enabled=cached):
            first, second = torch.mm(weight, weight), torch.mm(weight, weight)
        nodes = {
            node
            for out in (first, second)
            for node, _ in out.grad_fn.next_functions
            if node is not None
        }
        casts[cached] = len(nodes)
    equal(casts[True], 1, "the number of casts with the cache")
    assert casts[False] > 1, f"without the cache there is {casts[False]} cast"


@check(
    called_by="torch/include/ATen/autocast_mode.h: cached_cast",
    without="training goes on with the weights of an earlier step",
)
def the_cache_ends_with_the_context(backend: Backend) -> None:
    """A weight changed between two contexts is cast anew."""
    place = _place(backend)
    dtype = _dtypes(backend)[0]
    weight = torch.eye(2, device=place, requires_grad=True)
    one = torch.eye(2, device=place)
    for value in (1.0, 3.0):
        with torch.no_grad():
            weight.copy_(one * value)
        with torch.autocast(backend.name, dtype=dtype):
            found = one @ weight
        same(found.float(), torch.eye(2) * value, place, f"the product with {value}")


@check(
    called_by="torch/autograd/graph.py: _engine_run_backward",
    without="gradients have another dtype than their weights",
)
def gradients_are_of_the_weights_dtype(backend: Backend) -> None:
    """A layer in autocast gives gradients in float32, as its weights are, also where the forward is
    computed again for them."""
    if backend.name != "cpu":
        _need_rule(backend, "linear")
    place = _place(backend)
    source = torch.ones(2, 4, device=place)
    for again in (False, True):
        layer = torch.nn.Linear(4, 3).to(place)
        with torch.autocast(backend.name, dtype=_dtypes(backend)[0]):
            out = checkpoint(layer, source, use_reentrant=False) if again else layer(source)
            equal(out.dtype, _dtypes(backend)[0], "the dtype of the result")
            loss = out.float().sum()
        loss.backward()
        same(layer.weight.grad, torch.full((3, 4), 2.0), place, "the gradient of the weight")
        same(layer.bias.grad, torch.full((3,), 2.0), place, "the gradient of the bias")


@check(
    called_by="torch/amp/autocast_mode.py: custom_fwd",
    without="operators written as autograd.Function lose their dtype",
)
def custom_functions_choose_their_dtype(backend: Backend) -> None:
    """custom_fwd casts the device's tensors to the dtype that it is given, and switches autocast
    off; without one it does neither. custom_bwd has autocast as it was in the forward."""
    place = _place(backend)
    dtype = _dtypes(backend)[0]
    seen: dict[str, object] = {}
    for cast in (torch.float32, None):

        class Custom(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type=backend.name, cast_inputs=cast)
            def forward(ctx, tensor):
                seen["forward"] = tensor.dtype, torch.is_autocast_enabled(backend.name)
                return tensor * 2

            @staticmethod
            @torch.amp.custom_bwd(device_type=backend.name)
            def backward(ctx, gradient):
                seen["backward"] = torch.is_autocast_enabled(backend.name)
                return gradient * 2

        source = torch.ones(3, device=place, dtype=dtype, requires_grad=True)
        with torch.autocast(backend.name, dtype=dtype):
            out = Custom.apply(source)
        expected = (cast or dtype, cast is None)
        equal(seen["forward"], expected, "the dtype and autocast in forward")
        equal(out.dtype, expected[0], "the dtype of the result")
        out.sum().backward()
        equal(seen["backward"], expected[1], "autocast in backward")
        same(source.grad.float(), torch.full((3,), 2.0), place, "the gradient")


@check(
    called_by="torch/library.py: register_autocast",
    without="custom operators take whatever dtype arrives",
)
def custom_operators_can_have_a_rule(backend: Backend) -> None:
    """A rule of torch.library.register_autocast casts the operator's tensors of the device."""
    if torch.__version__ < "2.13":
        raise Skipped("torch.library.register_autocast knows CPU and CUDA only before torch 2.13")
    place = _place(backend)
    library = torch.library.Library("conformance_amp", "FRAGMENT")
    try:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        torch.library.register_autocast(
            "conformance_amp::twice", backend.name, _dtypes(backend)[0], lib=library
        )
        source = torch.ones(2, device=place)
        equal(torch.ops.conformance_amp.twice(source).dtype, torch.float32, "the dtype outside")
        with torch.autocast(backend.name, dtype=_dtypes(backend)[0]):
            found = torch.ops.conformance_amp.twice(source)
        equal(found.dtype, _dtypes(backend)[0], "the dtype inside")
        on(found, place)
    finally:
        library._destroy()


@check(called_by=RULES, without="a loss that overflows is computed in half precision")
def unsafe_losses_are_refused(backend: Backend) -> None:
    """binary_cross_entropy is refused inside autocast, with what to use instead."""
    _need_rule(backend, "binary_cross_entropy")
    source = torch.full((3,), 0.5, device=backend.device)
    with torch.autocast(backend.name, dtype=_dtypes(backend)[0]):
        with refused(RuntimeError, naming=("autocast",), what="binary_cross_entropy"):
            F.binary_cross_entropy(source, source)


# ---- GradScaler


def _scaler(backend: Backend, **settings: Any) -> torch.amp.GradScaler:
    """PyTorch's, which computes in float64 on the device; the backend's own where it has none."""
    settings["init_scale"] = 16.0
    with warnings_are("error"):
        own = getattr(getattr(backend.module, "amp", None), "GradScaler", None)
        if own is not None and not backend.has(torch.float64):
            return own(**settings)
        return torch.amp.GradScaler(backend.name, **settings)


def _step(backend: Backend, scaler: torch.amp.GradScaler, source: torch.Tensor) -> torch.Tensor:
    """A step of SGD on one weight of ones; what the weight is afterwards."""
    weight = torch.ones(3, device=_place(backend), requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler.scale((weight * source).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return weight.detach()


@check(called_by=f"{SCALER}.scale", without="small gradients vanish in float16")
def the_scale_is_taken_off_again(backend: Backend) -> None:
    """GradScaler is on, scales the loss, and steps with gradients of which the scale is off."""
    scaler = _scaler(backend)
    equal(scaler.is_enabled(), True, "is_enabled()")
    place = _place(backend)
    scaled = scaler.scale(torch.ones(2, device=place))
    same(scaled, torch.full((2,), 16.0), place, "a scaled tensor")
    for each in scaler.scale([torch.ones(2, device=place), torch.ones(1, device=place)]):
        same(each, torch.full(each.shape, 16.0), place, "one of several scaled tensors")
    found = _step(backend, scaler, torch.tensor([0.5, 0.25, -1.0], device=place))
    same(found, torch.tensor([0.5, 0.75, 2.0]), place, "the weight after a step")
    equal(scaler.get_scale(), 16.0, "the scale after a good step")


@check(called_by=f"{SCALER}.update", without="one overflow spoils all weights")
def a_step_with_infinities_is_left_out(backend: Backend) -> None:
    """With an infinity or a NaN in any gradient nothing is changed, and the scale is halved."""
    place = _place(backend)
    for wrong in (float("inf"), float("-inf"), float("nan")):
        for position in range(3):
            scaler = _scaler(backend)
            source = torch.ones(3)
            source[position] = wrong
            found = _step(backend, scaler, source.to(place))
            same(found, torch.ones(3), place, f"the weight after a gradient with {wrong}")
            equal(scaler.get_scale(), 8.0, "the scale")


@check(called_by=f"{SCALER}.update", without="the scale stays low after one overflow")
def the_scale_grows_after_good_steps(backend: Backend) -> None:
    """After growth_interval good steps the scale doubles, and a bad one starts the count anew."""
    scaler = _scaler(backend, growth_interval=2)
    good = torch.ones(3, device=_place(backend))
    scales = []
    for source in (good, good, good * float("inf"), good, good):
        _step(backend, scaler, source)
        scales.append(scaler.get_scale())
    equal(scales, [16.0, 32.0, 16.0, 16.0, 32.0], "the scales")


@check(called_by=f"{SCALER}.unscale_", without="clipping works on scaled gradients")
def gradients_can_be_unscaled_first(backend: Backend) -> None:
    """unscale_() takes the scale off every gradient once, and a second call is refused."""
    place = _place(backend)
    scaler = _scaler(backend)
    weights = [torch.ones(2, device=place, requires_grad=True) for _ in range(3)]
    optimizer = torch.optim.SGD(weights, lr=1.0)
    loss: Any = sum((weight * 3).sum() for weight in weights)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    for weight in weights:
        same(weight.grad, torch.full((2,), 3.0), place, "a gradient")
    with refused(RuntimeError, what="a second unscale_()"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    same(weights[0], torch.full((2,), -2.0), place, "a weight after the step")


@check(called_by=f"{SCALER}.state_dict", without="a resumed training starts with another scale")
def a_scaler_can_be_saved(backend: Backend) -> None:
    """A scaler that has loaded another's state goes on as that one does."""
    scaler = _scaler(backend, growth_interval=3)
    good = torch.ones(3, device=_place(backend))
    for _ in range(2):
        _step(backend, scaler, good)
    loaded = _scaler(backend, growth_interval=5)
    loaded.load_state_dict(scaler.state_dict())
    _step(backend, loaded, good)
    equal(loaded.get_scale(), 32.0, "the scale after the third good step")


@check(
    called_by="torch/amp/grad_scaler.py: _MultiDeviceReplicator",
    without="a model on two devices steps with infinities in one half",
)
def scalers_see_all_devices(backend: Backend) -> None:
    """An infinity on one of two devices leaves out the step on both."""
    devices = (backend.device, backend.other_device)
    scaler = _scaler(backend)
    weights = [torch.ones(2, device=device, requires_grad=True) for device in devices]
    optimizer = torch.optim.SGD(weights, lr=1.0)
    for weight, factor in zip(weights, (1.0, float("inf")), strict=True):
        scaler.scale((weight * factor).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    for weight, device in zip(weights, devices, strict=True):
        same(weight, torch.ones(2), device, "a weight")
    equal(scaler.get_scale(), 8.0, "the scale")
