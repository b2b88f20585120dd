"""Runs a phase of a subject over its samples, and makes its entry in the result file."""

from __future__ import annotations

import traceback

from .. import dtypes
from ..running.source import Say
from .calls import LacksDtype, NothingToCompare, NotOnDevice, SameRefusal, describe
from .comparing import WrongDevice
from .exemptions import find
from .settings import NO_FORM, Settings
from .subjects import Bench, Entry, Subject


class Checker:
    """Checks subjects on one device against the CPU."""

    def __init__(
        self,
        settings: Settings,
        say: Say,  # of each sample before it runs: a crash has an address
    ):
        self._bench = Bench.of(settings, say.side)
        self._announce = say.sample

    def check(self, subject: Subject, phase: str) -> Entry:
        """The entry: a status, and what there is to say about it."""
        if subject.dtype is None:
            return {"status": "unsupported_dtype"}
        if exemption := find(self._bench.exemptions.skip, subject, phase):
            return {"status": "skipped", "reason": exemption.reason}
        device = self._bench.device
        if subject.dtype in dtypes.missing(device):
            return _lacking(dtypes.lacks(device, subject.dtype))
        entry: Entry = {"status": "passed", "samples": 0}
        without_answer: list[str] = []
        refusals: list[str] = []
        lacking: list[str] = []
        try:
            for case in subject.cases(phase, self._bench):
                entry["samples"] += 1
                self._announce(entry["samples"])
                try:
                    case(entry)
                except NothingToCompare as error:
                    without_answer.append(str(error))
                except SameRefusal as error:
                    refusals.append(str(error))
                except LacksDtype as error:
                    lacking.append(str(error))
                except NotImplementedError as error:
                    # The CPU's own are refusals: these are the device's.
                    raise NotOnDevice(describe(error)) from error
                except Exception as error:
                    needed = dtypes.needed(device, error)
                    if not needed:
                        raise
                    lacking.append(needed)
        except Exception as error:
            entry.update(status="failed", sample=entry.pop("samples"), error=describe(error))
            if isinstance(error, WrongDevice):
                entry["wrong_device"] = True
            if isinstance(error, NotOnDevice):
                entry["not_implemented"] = True
            entry["trace"] = traceback.format_exc()  # printed on request, never written
            return entry
        if lacking:  # the other samples have been asked all the same, and none has failed
            return _lacking(lacking[0])
        return _without_answers(entry, without_answer, refusals)


def _lacking(reason: str) -> Entry:
    """Of a dtype that the device declares missing."""
    return {"status": "failed", "not_implemented": True, "error": reason}


def _without_answers(entry: Entry, without_answer: list[str], refusals: list[str]) -> Entry:
    """A pass is one of samples that have an answer; where none has, the entry says why."""
    if len(without_answer) + len(refusals) == entry["samples"]:
        if refusals:
            return {"status": "refused", "samples": len(refusals), "reason": refusals[0]}
        why = without_answer[0] if without_answer else NO_FORM
        return {"status": "skipped", "reason": why}
    if without_answer:
        entry["without_answer"] = len(without_answer)
    if refusals:
        entry["refused"] = len(refusals)
    return entry
