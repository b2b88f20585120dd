"""The checks of one operator on one device against the CPU: its results, then its gradients."""

from __future__ import annotations

import contextlib
import dataclasses
import traceback
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch.utils import _pytree as pytree

from . import exemptions, sampling
from .catalog import Operator
from .comparing import Comparison, Mismatch, aliases, one_line, same_strides
from .exemptions import Exemptions
from .sampling import Call
from .settings import Settings

SampleCheck = Callable[[Operator, Call, Call, Comparison, dict], None]


class NothingToCompare(Exception):
    """The CPU gives no answer to this sample."""


class Checker:
    """Runs the phases of an operator; each returns its entry in the result file."""

    def __init__(self, settings: Settings, announce: Callable[[str], None]):
        self._settings = settings
        self._device = _indexed(torch.device(settings.device))
        self._exemptions = Exemptions.load(settings.exemptions)
        self._announce = announce  # called before each step, so that a crash has an address

    def reason_to_skip(self, op: Operator) -> str | None:
        return exemptions.reason(self._exemptions.skip, op)

    def forward(self, op: Operator) -> dict:
        return self._phase(op, "forward", _check_results)

    def backward(self, op: Operator) -> dict:
        return self._phase(op, "backward", _check_gradients)

    def _phase(self, op: Operator, phase: str, check: SampleCheck) -> dict:
        settings = self._settings
        samples = sampling.samples_of(
            op, settings.samples, settings.seed, requires_grad=phase == "backward"
        )
        entry: dict[str, Any] = {"status": "passed", "samples": len(samples)}
        only_input = exemptions.reason(self._exemptions.host_arguments, op) is not None
        without_answer: list[str] = []
        for number, sample in enumerate(samples, 1):
            self._announce(f"{phase}, sample {number}")
            try:
                cpu = sampling.place(sample, torch.device("cpu"))
                device = sampling.place(sample, self._device, only_input=only_input)
                comparison = self._comparison(op, sample, entry)
                check(op, device, cpu, comparison, entry)
            except NothingToCompare as error:
                without_answer.append(str(error))
            except Exception as error:
                entry.update(status="failed", sample=number, error=describe(error))
                entry["trace"] = traceback.format_exc()  # printed on request, never written
                return entry
        if len(without_answer) == len(samples):
            why = without_answer[0] if samples else "no samples"
            return {"status": "skipped", "reason": why}
        if without_answer:
            entry["without_answer"] = len(without_answer)
        return entry

    def _comparison(self, op: Operator, sample: Any, entry: dict) -> Comparison:
        reason = exemptions.reason(self._exemptions.uninitialised, op)
        if reason is None:
            reason = exemptions.reason(self._exemptions.random, op)
            if reason is not None and not depends_on_seed(op, sample):
                reason = None
        if reason is not None:
            entry["values_ignored"] = reason
        return Comparison(self._device, reason is None, self._settings.rtol, self._settings.atol)


def _indexed(device: torch.device) -> torch.device:
    """Results name their device with its index; the CPU is the one that has none."""
    return (
        device if device.type == "cpu" or device.index is not None else torch.device(device.type, 0)
    )


def depends_on_seed(op: Operator, sample: Any) -> bool:
    """Whether the CPU's answer is another one after another seed."""
    cpu = torch.device("cpu")
    answers = []
    try:
        for offset in (0, 1):
            with _shifted_seeds(offset):
                call = sampling.place(sample, cpu)
                answers.append(call.process(_run(op.info, call)))
        Comparison(cpu).check("result", *answers)
    except Mismatch:
        return True
    except Exception:
        return False  # the check itself will say so
    return False


@contextlib.contextmanager
def _shifted_seeds(offset: int) -> Iterator[None]:
    """OpInfos of random operators seed by themselves, always alike: torch.manual_seed(42)."""
    seed = torch.manual_seed
    with mock.patch.object(torch, "manual_seed", lambda value: seed(value + offset)):
        yield


def describe(error: BaseException) -> str:
    text = one_line(str(error))
    return text if isinstance(error, Mismatch) else f"{type(error).__name__}: {text}"


def _check_results(
    op: Operator, device: Call, cpu: Call, comparison: Comparison, entry: dict
) -> None:
    devices = [tensor.device for tensor in device.tensors()]
    expected, actual = _both(lambda: _run(op.info, cpu), lambda: _run(op.info, device))
    _check_metadata_then_values(comparison, actual, expected, device, cpu)
    for where, mine, cpus in zip(devices, device.tensors(), cpu.tensors(), strict=True):
        dataclasses.replace(comparison, device=where).check("argument after the call", mine, cpus)
    if aliases(actual, device.tensors()) != aliases(expected, cpu.tensors()):
        raise Mismatch(
            f"aliasing: results share the memory of arguments "
            f"{aliases(actual, device.tensors())}, on the CPU {aliases(expected, cpu.tensors())}"
        )
    if not same_strides(actual, expected):
        entry["other_strides"] = True


def _check_metadata_then_values(
    comparison: Comparison, actual: Any, expected: Any, device: Call, cpu: Call
) -> None:
    Comparison(comparison.device, values=False).check("result", actual, expected)
    comparison.check("result", device.process(actual), cpu.process(expected))


def _check_gradients(
    op: Operator, device: Call, cpu: Call, comparison: Comparison, entry: dict
) -> None:
    expected, actual = _both(lambda: _gradients(op, cpu), lambda: _gradients(op, device))
    comparison.check("gradient", actual, expected)


def _gradients(op: Operator, call: Call) -> list[torch.Tensor | None]:
    """Of the results as PyTorch's gradcheck would take them, for fixed cotangents."""
    results = _run(lambda *a, **k: op.info.gradcheck_wrapper(op.info.get_op(), *a, **k), call)
    outputs = [
        leaf
        for leaf in pytree.tree_leaves(call.process(results))
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad
    ]
    inputs = [tensor for tensor in call.tensors() if tensor.requires_grad]
    if not outputs or not inputs:
        raise NothingToCompare("no result that requires a gradient")
    cotangents = [_cotangent(output, seed) for seed, output in enumerate(outputs)]
    return list(torch.autograd.grad(outputs, inputs, cotangents, allow_unused=True))


def _cotangent(output: torch.Tensor, seed: int) -> torch.Tensor:
    if output.layout != torch.strided:
        return torch.ones_like(output)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(output.shape, generator=generator, dtype=output.dtype)
    return drawn.to(output.device)


def _run(function: Callable, call: Call) -> Any:
    torch.manual_seed(0)
    return function(call.input, *call.args, **call.kwargs)


def _both(on_cpu: Callable[[], Any], on_device: Callable[[], Any]) -> tuple[Any, Any]:
    """Both answers. Where the CPU raises, the device may too, with the same type of exception."""
    try:
        expected = on_cpu()
    except Exception as cpu_error:
        if isinstance(cpu_error, NothingToCompare):
            raise
        try:
            on_device()
        except Exception as device_error:
            if type(device_error) is not type(cpu_error):
                raise Mismatch(
                    f"raises {describe(device_error)}; the CPU raises {describe(cpu_error)}"
                ) from device_error
        raise NothingToCompare(f"the CPU raises {describe(cpu_error)}") from None
    try:
        return expected, on_device()
    except NothingToCompare as error:
        raise Mismatch(f"{error}, on the CPU there is one") from None
