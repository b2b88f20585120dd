"""What a check says of what it found: the value, the place of a result, the way of a refusal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch


def equal(found: object, expected: object, what: str) -> None:
    """`what` is `expected`, with both in the message."""
    assert found == expected, f"{what} is {found!r}, not {expected!r}"


def on(tensor: object, device: torch.device, what: str = "the result") -> torch.Tensor:
    """It is a tensor on this very device: its type and its index."""
    assert isinstance(tensor, torch.Tensor), f"{what} is {tensor!r}, no tensor"
    assert tensor.device == device, f"{what} is on {tensor.device}, not on {device}"
    return tensor


def same(
    found: object,
    expected: torch.Tensor,
    device: torch.device,
    what: str = "the result",
    *,
    rtol: float = 0,
    atol: float = 0,
) -> None:
    """A tensor of `device` with the shape, dtype and values of `expected`, which is on the CPU."""
    tensor, expected = on(found, device, what).detach().cpu(), expected.detach()
    if tensor.dtype == expected.dtype and torch.equal(tensor, expected):
        return  # the rest imports SymPy, which takes most of a second
    torch.testing.assert_close(
        tensor,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=True,
        msg=lambda text: f"{what}: {text}",
    )


@contextlib.contextmanager
def refused(
    *errors: type[BaseException], naming: tuple[str, ...] = (), what: str = "the call"
) -> Iterator[None]:
    """The block raises one of `errors`, whose text has each of `naming`.

    `NotImplementedError`, a RuntimeError too, is passed on where it is not asked for: a missing
    kernel refuses nothing.
    """
    try:
        yield
    except NotImplementedError:
        if NotImplementedError not in errors:
            raise
    except errors as error:
        for word in naming:
            assert word in str(error), f"{what} was refused without naming {word}: {error}"
    else:
        raise AssertionError(f"{what} was accepted")
