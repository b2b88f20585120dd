"""Runs a phase of an operator over its samples, and makes its entry in the result file."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import torch

from . import exemptions, sampling
from .calls import Arguments, NothingToCompare, depends_on_seed, describe
from .catalog import Operator
from .comparing import Comparison
from .exemptions import Exemptions
from .phases import CHECKS
from .settings import Settings


class Checker:
    """Checks operators on one device against the CPU."""

    def __init__(self, settings: Settings, announce: Callable[[int], None]):
        self._settings = settings
        self._device = _indexed(torch.device(settings.device))
        self._exemptions = Exemptions.load(settings.exemptions)
        self._announce = announce  # of each sample before it runs: a crash has an address

    def check(self, op: Operator, phase: str) -> dict[str, Any]:
        """The entry: a status, and what there is to say about it."""
        reason = exemptions.reason(self._exemptions.skip, op)
        if op.dtype is None:
            return {"status": "unsupported_dtype"}
        if reason is not None:
            return {"status": "skipped", "reason": reason}
        entry: dict[str, Any] = {"status": "passed", "samples": 0}
        without_answer: list[str] = []
        try:
            self._check_samples(op, phase, entry, without_answer)
        except Exception as error:
            entry.update(status="failed", sample=entry.pop("samples"), error=describe(error))
            entry["trace"] = traceback.format_exc()  # printed on request, never written
            return entry
        if len(without_answer) == entry["samples"]:
            why = without_answer[0] if without_answer else "no samples"
            return {"status": "skipped", "reason": why}
        if without_answer:
            entry["without_answer"] = len(without_answer)
        return entry

    def _check_samples(
        self, op: Operator, phase: str, entry: dict[str, Any], without_answer: list[str]
    ) -> None:
        settings = self._settings
        only_input = exemptions.reason(self._exemptions.host_arguments, op) is not None
        samples = sampling.samples_of(
            op, settings.samples, settings.seed, requires_grad=phase == "backward"
        )
        for sample in samples:
            entry["samples"] += 1
            self._announce(entry["samples"])
            arguments = Arguments(sample, self._device, only_input)
            comparison = self._comparison(op, sample, entry)
            try:
                CHECKS[phase](op, arguments, comparison, entry)
            except NothingToCompare as error:
                without_answer.append(str(error))

    def _comparison(self, op: Operator, sample: Any, entry: dict[str, Any]) -> Comparison:
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
    without = device.type == "cpu" or device.index is not None
    return device if without else torch.device(device.type, 0)
