"""The tests of one of PyTorch's files as a source of entries."""

from __future__ import annotations

import unittest
import warnings
from pathlib import Path
from typing import Any

import torch

from .. import device
from ..running.refused import Refused
from ..running.source import Entry, Say
from . import outcome
from .loading import Loaded, asked_for, load
from .settings import CPU, FileSettings

_NO_BACKEND = "privateuseone"  # what torch calls the key that no backend has taken
_LOADING_SECONDS = 300.0  # some files make tens of thousands of tests


class Tests:
    """What one file makes for one device type; `unloaded` says why it could not be imported."""

    renews = False  # PyTorch runs them in one process as well

    def __init__(
        self,
        settings: FileSettings,
        chosen: torch.device,
        versions: dict[str, str],
        loaded: Loaded,
        unloaded: Entry | None,
    ):
        self._settings = settings
        self._device = chosen
        self._versions = versions
        self._loaded = loaded
        self._unloaded = unloaded

    def describe(self) -> dict[str, Any]:
        found = self._loaded
        return {
            "versions": self._versions,
            "backend": device.packages(self._settings.device, self._settings.imports),
            "asked_for": found.asked_for,
            "tests": [(t.name.test, t.name.dtype, t.label) for t in found.tests.values()],
            "stand_ins": found.stand_ins,
            "unloaded": self._unloaded,
        }

    def check(self, key: str, phase: str) -> Entry:
        return outcome.run(self._loaded.tests[key], self._device)


def open(settings: str, without: tuple[str, ...], say: Say) -> Tests:
    """The CPU's tests run without a backend, which could change what they do."""
    asked = FileSettings.from_json(settings)
    versions = device.load(asked.device, asked.imports)
    chosen = device.find(asked.device)
    if asked.device == CPU:
        registered = torch._C._get_privateuse1_backend_name()
        if registered != _NO_BACKEND:
            raise Refused(f"the CPU's tests would run with the backend {registered} loaded")
    else:
        _make_current(chosen)
    warnings.resetwarnings()  # some tests are about them, and expect what Python does by itself
    nothing = Loaded(asked_for(chosen), {}, [])
    if asked.file in without:
        return Tests(asked, chosen, versions, nothing, None)
    say.loading(asked.file, _LOADING_SECONDS)
    try:
        return Tests(asked, chosen, versions, load(Path(asked.folder), asked.file, chosen), None)
    except unittest.SkipTest as error:
        return Tests(asked, chosen, versions, nothing, {"status": "skipped", "reason": str(error)})
    except Exception as error:
        return Tests(asked, chosen, versions, nothing, outcome.failed(error, chosen))


def _make_current(chosen: torch.device) -> None:
    """PyTorch's tests take the current device."""
    module = getattr(torch, chosen.type)
    if chosen.index != module.current_device():
        module.set_device(chosen.index)
