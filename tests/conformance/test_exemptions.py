"""The exemptions say the truth: what they list is random, and what is random they list."""

from __future__ import annotations

import dataclasses
import warnings

import pytest
from opinfo import calls, catalog, exemptions, sampling
from opinfo.settings import DEFAULT_EXEMPTIONS, Settings

SETTINGS = Settings(device="cpu")
EXEMPTIONS = exemptions.Exemptions.load(DEFAULT_EXEMPTIONS)


@pytest.fixture(scope="module")
def operators() -> list[catalog.Operator]:
    return catalog.load(SETTINGS)


def test_every_name_is_an_operators(operators):
    known = {name for op in operators for name in (op.name, op.info.name)}
    for kind in dataclasses.fields(EXEMPTIONS):
        assert set(getattr(EXEMPTIONS, kind.name)) <= known, kind.name


def test_every_operator_that_depends_on_the_seed_is_listed(operators):
    depending = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in operators:
            if op.dtype is None or exemptions.reason(EXEMPTIONS.uninitialised, op):
                continue
            samples = sampling.samples_of(op, SETTINGS.samples, 0, requires_grad=False)
            if any(calls.depends_on_seed(op, sample) for sample in samples):
                depending.add(op.name)
    listed = {op.name for op in operators if exemptions.reason(EXEMPTIONS.random, op)}
    assert depending <= listed
    assert len(depending) > 15  # the check itself can see randomness
