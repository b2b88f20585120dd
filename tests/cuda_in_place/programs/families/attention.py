"""Scaled dot product attention: each kernel that may be chosen, with all that it may be given."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

CHOICES = {
    "any": None,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
FORMS = (
    "plain",
    "causal",
    "boolean mask",
    "bias",
    "dropout",
    "scale",
    "grouped",
    "other length",
    "no batch",
)


def units(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    for (name, choice), dtype, form in product(CHOICES.items(), DTYPES, FORMS):
        spelled = str(dtype).removeprefix("torch.")
        yield f"{name}, {spelled}, {form}", partial(work, choice, dtype, form, device)


def work(choice: SDPBackend | None, dtype: torch.dtype, form: str, device: str) -> object:
    heads = 2 if form == "grouped" else 4
    keys = 48 if form == "other length" else 64

    def tensor(heads: int, length: int) -> torch.Tensor:
        shape = (heads, length, 32) if form == "no batch" else (2, heads, length, 32)
        return torch.ones(shape, dtype=dtype).to(device).requires_grad_()

    q, k, v = tensor(4, 64), tensor(heads, keys), tensor(heads, keys)
    options = {
        "causal": {"is_causal": True},
        "boolean mask": {"attn_mask": torch.ones(64, keys, dtype=torch.bool).to(device)},
        "bias": {"attn_mask": torch.zeros(64, keys, dtype=dtype).to(device)},
        "dropout": {"dropout_p": 0.5},
        "scale": {"scale": 0.25},
        "grouped": {"enable_gqa": True},
    }.get(form, {})

    def attend() -> torch.Tensor:
        return scaled_dot_product_attention(q, k, v, **options)

    if choice is None:
        result = attend()
    else:
        with sdpa_kernel(choice):
            result = attend()
    result.sum().backward()
    return q, k, v, result
