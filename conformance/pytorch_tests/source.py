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


class Tests:
    """What one file makes for one device type."""

    renews = False  # PyTorch runs them in one process as well

    def __init__(self, settings: FileSettings, versions: dict[str, str], say: Say):
        self._settings = settings
        self._versions = versions
        self._say = say
        self._loaded: Loaded | None = None

    def describe(self) -> dict[str, Any]:
        """Why the file cannot be imported, where it cannot."""
        self._say.loading(self._settings.file)
        chosen = device.find(self._settings.device)
        said = {"versions": self._versions, "asked_for": asked_for(chosen), "unloaded": None}
        try:
            found = self._load()
        except unittest.SkipTest as error:
            return said | {"unloaded": {"status": "skipped", "reason": str(error)}}
        except Exception as error:
            return said | {"unloaded": outcome.failed(error)}
        tests = [(each.name.test, each.name.dtype, each.label) for each in found.tests.values()]
        return said | {"tests": tests, "stand_ins": found.stand_ins}

    def check(self, key: str, phase: str) -> Entry:
        return outcome.run(self._load().tests[key])

    def _load(self) -> Loaded:
        if self._loaded is None:
            asked = self._settings
            self._loaded = load(Path(asked.folder), asked.file, device.find(asked.device))
        return self._loaded


def open(settings: str, without: tuple[str, ...], say: Say) -> Tests:
    """The CPU's tests run without a backend, which could change what they do."""
    asked = FileSettings.from_json(settings)
    versions = device.load(asked.device, asked.imports)
    if asked.device == CPU:
        registered = torch._C._get_privateuse1_backend_name()
        if registered != _NO_BACKEND:
            raise Refused(f"the CPU's tests would run with the backend {registered} loaded")
    else:
        _make_current(device.find(asked.device))
    warnings.resetwarnings()  # some tests are about them, and expect what Python does by itself
    return Tests(asked, versions, say)


def _make_current(chosen: torch.device) -> None:
    """PyTorch's tests take the current device."""
    module = getattr(torch, chosen.type)
    if chosen.index != module.current_device():
        module.set_device(chosen.index)
