"""What does not start here, or goes by values: that the same library is chosen for it, with the
same arguments as far as a profile and an error tell. None of it has run.

The answer of each is what torch's choosing functions say, or which functions of a library's an
operator came to, and its error there.
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

# What operators choose among.
CHOSEN = (
    "cudnn", "_cudnn", "_fft", "linalg", "_linalg", "_scaled_dot", "_flash", "_efficient", "_thnn",
    "native_batch_norm", "slow_conv", "_slow_conv", "_conv_depthwise", "conv_depthwise",
    "_ctc_loss", "grid_sampler", "nonzero", "_local_scalar", "_unique", "geqrf", "ormqr",
    "_cholesky", "cholesky",
)  # fmt: skip


def units(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    torch.backends.cudnn.enabled = True
    for group in (
        convolutions,
        normalizations,
        recurrent,
        transforms,
        algebra,
        by_value,
        attention,
    ):
        for name, work in group(device):
            yield f"{group.__name__.replace('_', ' ')}, {name}", partial(chosen, work, device)
    for name, work in asked(device):
        yield f"asked, {name}", work
    # Last, since it stays.
    yield "expandable segments", partial(chosen, partial(expandable, device), device)


def chosen(work: Callable[[], object], device: str) -> str:
    end = "done"
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        try:
            work()
        except Exception as error:
            words = (str(error).splitlines() or [""])[0]
            end = f"{type(error).__name__}: {words.replace(device, 'cuda')}"
    names = [each.name.removeprefix("aten::") for each in profiled.events()]
    # Only a question, which the device asks without an operator.
    chosen = [each for each in names if each.startswith(CHOSEN) and each != "cudnn_is_acceptable"]
    return " ".join([*chosen, end])


def convolutions(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    forms = {
        "plain": {},
        "depthwise": {"groups": 8},
        "grouped": {"groups": 2},
        "dilated": {"dilation": 2},
        "strided": {"stride": 2, "padding": 1},
    }
    for dimensions, dtype, (form, options) in product((1, 2, 3), DTYPES, forms.items()):
        x = torch.ones((2, 8) + (8,) * dimensions, dtype=dtype)
        for transposed in (False, True):
            kind = f"ConvTranspose{dimensions}d" if transposed else f"Conv{dimensions}d"
            make = partial(getattr(nn, kind), 8, 8, 3, **options)
            yield f"{kind}, {dtype}, {form}", partial(call, make, x, device)
    x = torch.ones(2, 8, 8, 8).to(memory_format=torch.channels_last)
    yield "Conv2d, channels last", partial(call, partial(nn.Conv2d, 8, 8, 3), x, device)
    for flag in ("benchmark", "deterministic", "allow_tf32"):
        make = partial(nn.Conv2d, 8, 8, 3)
        yield f"Conv2d, {flag}", partial(with_flag, flag, partial(call, make, x, device))


DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def call(make: Callable[[], nn.Module], x: torch.Tensor, device: str) -> object:
    module = make().to(x.dtype).to(device)
    return module(x.to(device).requires_grad_())


def with_flag(flag: str, work: Callable[[], object]) -> object:
    with torch.backends.cudnn.flags(enabled=True, **{flag: True}):
        return work()


def normalizations(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    shapes = {1: (4, 8), 2: (4, 8, 5, 5), 3: (4, 8, 5, 5, 5)}
    for (dimensions, shape), dtype, training in product(shapes.items(), DTYPES, (True, False)):
        kind = getattr(nn, f"BatchNorm{dimensions}d")

        def make(kind: type = kind, training: bool = training) -> nn.Module:
            return kind(8).train(training)

        name = f"{kind.__name__}, {dtype}, {'training' if training else 'evaluation'}"
        yield name, partial(call, make, torch.ones(shape, dtype=dtype), device)


def recurrent(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    kinds = nn.RNN, nn.GRU, nn.LSTM
    for kind, dtype, both in product(kinds, DTYPES[:3], (False, True)):
        make = partial(kind, 8, 8, num_layers=2, bidirectional=both)
        name = f"{kind.__name__}, {dtype}{', bidirectional' if both else ''}"
        yield name, partial(call, make, torch.ones(3, 2, 8, dtype=dtype), device)
    yield "an LSTM's cell", partial(call, partial(nn.LSTMCell, 8, 8), torch.ones(2, 8), device)
    for cpu_lengths in (True, False):
        where = "CPU" if cpu_lengths else "device"
        yield f"ctc_loss, lengths on the {where}", partial(ctc_loss, cpu_lengths, device)
    yield "grid_sample", partial(grid_sample, device)


def ctc_loss(cpu_lengths: bool, device: str) -> object:
    lengths = torch.full((2,), 8, dtype=torch.int32), torch.full((2,), 3, dtype=torch.int32)
    if not cpu_lengths:
        lengths = tuple(each.to(device) for each in lengths)
    scores = torch.zeros(8, 2, 5).log_softmax(2).to(device).requires_grad_()
    targets = torch.ones(6, dtype=torch.int32)
    return functional.ctc_loss(scores, targets, *lengths)


def grid_sample(device: str) -> object:
    x, grid = torch.ones(2, 3, 8, 8).to(device), torch.zeros(2, 4, 4, 2).to(device)
    return functional.grid_sample(x, grid, padding_mode="zeros", align_corners=True)


def transforms(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    x = torch.ones(8, 8)
    for name in ("fft", "ifft", "fft2", "fftn", "rfft", "irfft", "rfft2", "hfft", "ihfft"):
        yield name, lambda name=name: getattr(torch.fft, name)(x.to(device))
    yield "stft", lambda: torch.stft(torch.ones(400).to(device), 64, return_complex=True)


def algebra(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    names = (
        "cholesky", "qr", "svd", "svdvals", "eigh", "eigvalsh", "eig", "lu", "lu_factor", "inv",
        "det", "slogdet", "pinv", "matrix_rank", "ldl_factor", "matrix_exp", "cond",
    )  # fmt: skip
    shapes = {"a matrix": (8, 8), "a batch": (3, 8, 8), "many": (64, 8, 8), "large": (600, 600)}
    libraries = ("default", "cusolver", "magma")
    for library, name, (form, shape) in product(libraries, names, shapes.items()):

        def work(library: str = library, name: str = name, shape: tuple = shape) -> object:
            matrices = torch.eye(shape[-1]).expand(shape).contiguous()
            with preferred(library):
                return getattr(torch.linalg, name)(matrices.to(device))

        yield f"{name}, {form}, {library}", work
    a, b = torch.eye(8), torch.ones(8, 2)
    for name in ("solve", "lstsq", "solve_triangular"):
        options = {"upper": True} if name == "solve_triangular" else {}
        yield (
            name,
            lambda name=name, options=options: getattr(torch.linalg, name)(
                a.to(device), b.to(device), **options
            ),
        )


@contextlib.contextmanager
def preferred(library: str) -> Iterator[None]:
    before = torch.backends.cuda.preferred_linalg_library()
    torch.backends.cuda.preferred_linalg_library(library)
    try:
        yield
    finally:
        torch.backends.cuda.preferred_linalg_library(before)


def by_value(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    x = torch.ones(64)
    works = {
        "nonzero": lambda x: x.nonzero(),
        "where": lambda x: torch.where(x > 0),
        "unique": lambda x: x.unique(),
        "masked_select": lambda x: x[x > 0],
        "item": lambda x: x[0].item(),
        "bincount": lambda x: x.long().bincount(),
        "repeat_interleave": lambda x: x.repeat_interleave(x.long()),
    }
    for name, work in works.items():
        yield name, lambda work=work: work(x.to(device))


def attention(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """By the device's capability, cuDNN's."""
    for dtype, causal, head in product(DTYPES[:3], (False, True), (32, 64, 256)):

        def work(dtype: torch.dtype = dtype, causal: bool = causal, head: int = head) -> object:
            q, k, v = (torch.ones(2, 4, 64, head, dtype=dtype).to(device) for _ in range(3))
            return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

        yield f"{dtype}, {'causal' if causal else 'plain'}, {head}", work


def asked(device: str) -> Iterator[tuple[str, Callable[[], str]]]:
    """torch's own questions."""

    def ones(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.ones(shape, dtype=dtype).to(device)

    for dtype, masked in product(DTYPES, (False, True)):

        def choice(dtype: torch.dtype = dtype, masked: bool = masked) -> str:
            q = ones(2, 4, 64, 32, dtype=dtype)
            mask = ones(64, 64, dtype=dtype) if masked else None
            return str(torch._fused_sdp_choice(q, q, q, mask))

        yield f"_fused_sdp_choice, {dtype}{', a mask' if masked else ''}", choice
    for dtype in (*DTYPES, torch.int32):
        yield (
            f"cudnn_is_acceptable, {dtype}",
            lambda dtype=dtype: str(torch.cudnn_is_acceptable(ones(2, dtype=dtype))),
        )
        yield (
            f"is_acceptable, {dtype}",
            lambda dtype=dtype: str(torch.backends.cudnn.is_acceptable(ones(2, dtype=dtype))),
        )
    lengths = torch.full((2,), 8, dtype=torch.int32), torch.full((2,), 3, dtype=torch.int32)
    targets = torch.ones(6, dtype=torch.int32)
    yield (
        "_use_cudnn_ctc_loss",
        lambda: str(torch._use_cudnn_ctc_loss(ones(8, 2, 5), targets, *map(list, lengths), 0)),
    )
    yield "_use_cudnn_rnn_flatten_weight", lambda: str(torch._use_cudnn_rnn_flatten_weight())


def expandable(device: str) -> object:
    torch.cuda.memory._set_allocator_settings("expandable_segments:True")
    return torch.empty(1 << 24).to(device)
