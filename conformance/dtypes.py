"""Which dtypes a backend declares that it lacks, and whether an error is its refusal of one.

A backend declares them by torch.accelerator.get_device_capability(); one that says nothing there
has all. What needs a dtype that is declared missing is unsupported, and never a failure.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

import torch

# As messages of C++ call them.
_IN_CPP = {
    torch.float64: "Double",
    torch.complex128: "ComplexDouble",
    torch.float32: "Float",
    torch.complex64: "ComplexFloat",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.int64: "Long",
}


@functools.cache
def missing(device: torch.device) -> frozenset[torch.dtype]:
    """Those that tensors of the device cannot have, by its own declaration."""
    if device.type == "cpu":
        return frozenset()
    try:
        declared = torch.accelerator.get_device_capability(device)["supported_dtypes"]
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError):
        return frozenset()  # it is no accelerator, or this torch does not ask
    return frozenset(_all() - set(declared)) if declared else frozenset()


def present(device: torch.device, dtypes: Iterable[torch.dtype]) -> list[torch.dtype]:
    """Those that the device has, in their order."""
    return [dtype for dtype in dtypes if dtype not in missing(device)]


def lacks(device: torch.device, dtype: torch.dtype) -> str:
    """The reason of what is unsupported for want of it."""
    return f"needs {dtype}, which {device.type} declares that its tensors cannot have"


def needed(device: torch.device, error: BaseException) -> str:
    """The reason, where the error is the device's refusal of a dtype that it declares missing, or
    has come of one; "" for every other error. What a check asserts while it handles a refusal has
    not come of it."""
    absent = sorted(missing(device), key=str)
    errors = [error] if isinstance(error, AssertionError) else _chain(error)
    for each in errors if absent else ():
        for dtype in absent:
            refusal = _refusal(device, dtype)
            if refusal is not None and _is_like(each, refusal, dtype):
                return lacks(device, dtype)
    return ""


def _is_like(error: BaseException, refusal: Exception, dtype: torch.dtype) -> bool:
    """Of the same type and about the same dtype. A program that another process has run, and a
    compiler, repeat the words in an error of their own."""
    said = str(error)
    if str(refusal) in said:
        return True
    return type(error) is type(refusal) and any(
        re.search(rf"\b{name}\b", said) for name in _names(dtype)
    )


@functools.cache
def _refusal(device: torch.device, dtype: torch.dtype) -> Exception | None:
    """What the device raises for a tensor of that dtype; None: it makes one."""
    try:
        torch.empty(1, dtype=dtype, device=device)
    except Exception as error:
        return error.with_traceback(None)
    return None


def _names(dtype: torch.dtype) -> Iterator[str]:
    yield str(dtype).removeprefix("torch.")
    if dtype in _IN_CPP:
        yield _IN_CPP[dtype]


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _all() -> set[torch.dtype]:
    """Of which there can be tensors that a program makes: quantized ones are made of others."""
    return {
        value
        for value in vars(torch).values()
        if isinstance(value, torch.dtype) and not str(value).startswith(("torch.q", "torch.bits"))
    }
