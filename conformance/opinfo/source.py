"""PyTorch's samples as a source of entries."""

from __future__ import annotations

import functools
from typing import Any

from ..device import load, packages
from ..running.source import Entry, Say
from . import catalog, sampling
from .checks import Checker
from .settings import Settings
from .subjects import Subject, describe, key_of


class Samples:
    """What the databases describe, checked on one device."""

    renews = False  # an operator changes nothing but its arguments

    def __init__(self, settings: Settings, versions: dict[str, str], say: Say):
        self._settings = settings
        self._versions = versions
        self._subjects = catalog.load(settings)
        self._checker = Checker(settings, say)

    def describe(self) -> dict[str, Any]:
        selected = catalog.select(self._subjects, self._settings)
        return {
            "versions": self._versions,
            "backend": packages(self._settings.device, self._settings.imports),
            "catalog": [describe(subject, self._settings) for subject in self._subjects],
            "selected": [key_of(subject) for subject in selected],
        }

    def check(self, key: str, phase: str) -> Entry:
        return self._checker.check(self._by_key[key], phase)

    @functools.cached_property
    def _by_key(self) -> dict[str, Subject]:
        return {key_of(subject): subject for subject in self._subjects}


def open(settings: str, without: tuple[str, ...], say: Say) -> Samples:
    """Loads the backend first: what is described may depend on it."""
    asked = Settings.from_json(settings)
    versions = load(asked.device, asked.imports, ("numpy", "scipy"))
    sampling.note_no_seeds()
    return Samples(asked, versions, say)
