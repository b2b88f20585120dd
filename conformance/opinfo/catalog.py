"""Which operators, modules and optimizers there are, and which of them a run is about."""

from __future__ import annotations

import collections

from ..running.refused import Refused
from . import modules, operators, optimizers
from .settings import Settings
from .subjects import Subject, key_of

_LOAD = {"ops": operators.load, "modules": modules.load, "optimizers": optimizers.load}


def load(settings: Settings) -> list[Subject]:
    """Everything that the databases of `settings.kinds` describe, sorted by name in each."""
    subjects: list[Subject] = []
    for kind in settings.kinds:
        if kind not in _LOAD:
            raise Refused(f"no such kind: {kind}; there are {', '.join(_LOAD)}")
        subjects += sorted(_LOAD[kind](settings), key=lambda subject: subject.name)
    found = collections.Counter(key_of(subject) for subject in subjects)
    if twice := [key for key, count in found.items() if count > 1]:
        raise Refused(f"described twice: {', '.join(twice)}")
    return subjects


def select(subjects: list[Subject], settings: Settings) -> list[Subject]:
    """The part of a run: by name (one without a variant means all variants), then by shard."""
    if settings.ops:
        known = {name for subject in subjects for name in (subject.name, subject.family)}
        if unknown := [name for name in settings.ops if name not in known]:
            raise Refused(f"no such operator, module or optimizer: {', '.join(unknown)}")
        wanted = set(settings.ops)
        subjects = [subject for subject in subjects if wanted & {subject.name, subject.family}]
    return settings.shard.of(subjects)
