"""PyTorch's own samples of an operator, on the device and on the CPU."""

import warnings
from collections.abc import Iterator

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

# What results of one dtype may differ by: other functions of the same accuracy.
TOLERANCES = {torch.float32: 3e-5, torch.float16: 3e-3, torch.bfloat16: 2e-2}


def operators(names: str) -> list[OpInfo]:
    """The entries of op_db with these names."""
    wanted = set(names.split())
    found = [info for info in op_db if info.name in wanted]
    missing = wanted - {info.name for info in found}
    assert not missing, f"op_db has no {missing}"
    return found


def moved(value: object) -> object:
    """The same on the device: tensors, and what contains tensors or names the CPU."""
    if isinstance(value, torch.Tensor):
        return value.detach().acme().requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(each) for each in value)
    if isinstance(value, dict):
        return {name: moved(each) for name, each in value.items()}
    return "acme" if value in ("cpu", torch.device("cpu")) else value


def tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors(each)


def close(got: torch.Tensor, want: torch.Tensor, dtype: torch.dtype) -> None:
    tolerance = TOLERANCES.get(dtype, 1e-6 if want.is_floating_point() else 0)
    got, want = got.detach().cpu(), want.detach()
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)


def check(info: OpInfo, dtype: torch.dtype, most: int = 12) -> int:
    """Compares forward and backward of up to `most` samples, and returns how many there were."""
    has_gradient = info.supports_autograd and dtype in info.supported_backward_dtypes("cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the CPU warns of too
        samples = list(info.sample_inputs("cpu", dtype, requires_grad=has_gradient))[:most]
        for sample in samples:
            _check_one(info, sample, dtype, has_gradient)
    return len(samples)


def _check_one(info: OpInfo, sample: SampleInput, dtype: torch.dtype, has_gradient: bool) -> None:
    given = (sample.input, list(sample.args), sample.kwargs)
    here = (moved(given[0]), moved(given[1]), moved(given[2]))
    want = list(tensors(info(given[0], *given[1], **given[2])))
    got = list(tensors(info(here[0], *here[1], **here[2])))
    for mine, theirs in zip(got, want, strict=True):
        assert mine.dtype == theirs.dtype
        close(mine, theirs, dtype)
    if not has_gradient:
        return

    def leaves(arguments: tuple) -> list[torch.Tensor]:
        every = tensors([arguments[0], arguments[1], list(arguments[2].values())])
        return [each for each in every if each.requires_grad]

    def gradients(results: list[torch.Tensor], of: list[torch.Tensor]):
        made = [each for each in results if each.requires_grad]
        if not made or not of:
            return []
        ones = [torch.full_like(each, 0.5) for each in made]
        return torch.autograd.grad(made, of, ones, allow_unused=True)

    for mine, theirs in zip(
        gradients(got, leaves(here)), gradients(want, leaves(given)), strict=True
    ):
        assert (mine is None) == (theirs is None)
        if theirs is not None:
            # The derivatives of some functions multiply their errors.
            close(mine / 4, theirs / 4, dtype)
