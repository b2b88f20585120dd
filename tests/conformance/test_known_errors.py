"""The known errors of the CPU's kernels: they are there, and the references are right of them."""

from __future__ import annotations

import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.testing._internal.opinfo.core import SampleInput

from conformance.opinfo.calls import Arguments, Sides
from conformance.opinfo.comparing import BY_FLOAT64, Comparison, Mismatch
from conformance.opinfo.known_errors import KNOWN, REMARK, reference
from conformance.opinfo.phases import _check_call

CASES = [(known, dtype) for known in KNOWN.values() for dtype in known.dtypes]
IDS = [f"{known.name}-{dtype}".replace("torch.", "") for known, dtype in CASES]
PAGE = Path(__file__).parents[2] / "docs/conformance.md"


def by_the_cpu(name: str, arguments: tuple) -> torch.Tensor:
    if name == "_fused_sgd_":
        parameter, gradient, rate = arguments
        parameter = parameter.clone()
        torch._fused_sgd_(
            [parameter], [gradient.clone()], [], weight_decay=0.0, momentum=0.0, lr=rate,
            dampening=0.0, nesterov=False, maximize=False, is_first_step=True,
        )  # fmt: skip
        return parameter
    if name == "nn.functional.soft_margin_loss":
        x, target, reduction = arguments
        return torch.nn.functional.soft_margin_loss(x, target, reduction=reduction)
    if name == "logit_backward":
        return torch.ops.aten.logit_backward(*arguments)
    return getattr(torch, name)(*arguments)


@pytest.mark.parametrize(("known", "dtype"), CASES, ids=IDS)
def test_the_cpu_is_wrong_of_the_example(known, dtype):
    release = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if known.mended and release >= known.mended:
        pytest.skip(f"mended in torch {known.mended}")
    arguments = known.example(dtype)
    right = reference(known.name, arguments, {})
    cpus = by_the_cpu(known.name, arguments)
    assert right.dtype == dtype and right.shape == cpus.shape
    rtol = 16 * torch.finfo(dtype).eps if dtype.is_floating_point else 0
    with pytest.raises(AssertionError):
        torch.testing.assert_close(cpus, right, rtol=rtol, atol=0, equal_nan=True)


def test_references_are_what_mathematics_says():
    def of(name: str, *arguments) -> list[float]:
        return reference(name, arguments, {}).tolist()

    smallest = torch.full((4,), -128, dtype=torch.int8)
    others = torch.tensor([24, 0, -128, 7], dtype=torch.int8)
    assert of("gcd", smallest, others) == [8, -128, -128, 1]
    half = torch.full((5000,), 0.75, dtype=torch.half)
    assert of("histc", half, 2, 0, 1) == [0, 5000]
    tiny = torch.tensor([1e-8]), torch.tensor([1e-6])
    # igammac(a, x) is a * E1(x) to the first order of a; E1(x) is -euler - ln(x) + x.
    assert of("igammac", *tiny) == pytest.approx([1e-8 * (math.log(1e6) - 0.5772156649)], rel=1e-4)
    zeros = torch.tensor([-0.0, 0.0, 1.0, 0.5, 2.0])
    assert of("logit_backward", torch.ones(5), zeros)[:4] == [math.inf, math.inf, math.inf, 4]
    assert math.isnan(of("logit_backward", torch.ones(5), zeros)[4])
    assert of("logit_backward", torch.ones(5), zeros, 1e-3) == [0, 0, 0, 4, 0]
    margins = torch.tensor([-100.0, 0.0], dtype=torch.half), torch.ones(2, dtype=torch.half)
    assert of("nn.functional.soft_margin_loss", *margins, "none") == pytest.approx(
        [100, math.log(2)], rel=1e-3
    )
    assert of("_fused_sgd_", torch.ones(40).half(), torch.ones(40).half(), 0.25) == [0.75] * 40


def test_of_other_calls_nothing_is_known():
    x = torch.ones(3)
    assert reference("add", (x, x), {}) is None
    assert reference("gcd", (x, x), {}) is None, "of floats"
    assert reference("histc", (x.double(), 2, 0, 1), {}) is None
    assert reference("histc", (x.half(), "many"), {}) is None


def test_the_page_lists_them():
    section = PAGE.read_text().split("## Known errors of the CPU's kernels")[1].split("\n## ")[0]
    listed = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    assert listed == [*KNOWN]


@pytest.mark.parametrize("answer", ["right", "wrong"])
def test_a_device_that_is_right_where_the_cpu_is_not_passes(answer):
    """The CPU is asked first, then the device: here a function that stands for both."""
    known = KNOWN["gcd"]
    input_, other = known.example(torch.int8)
    answers = [torch.gcd(input_, other), reference("gcd", (input_, other), {})]
    if answer == "wrong":
        answers[1] = answers[1] + 1
    given = iter(answers)
    op = SimpleNamespace(name="gcd", dtype=torch.int8, info=None)
    cpu = torch.device("cpu")
    arguments = Arguments(SampleInput(input_, args=(other,)), cpu, Sides(lambda _: None, cpu))
    comparison = Comparison(cpu)

    def check() -> None:
        _check_call(op, lambda *_: next(given), arguments, comparison)

    if answer == "right":
        check()
        assert comparison.entry[BY_FLOAT64] == REMARK
    else:
        with pytest.raises(Mismatch):
            check()
