"""The exemptions say the truth: what they list is random, and what is random they list."""

from __future__ import annotations

import dataclasses
import warnings

import pytest
import torch

from conformance.opinfo import catalog, exemptions, subjects
from conformance.opinfo.settings import DEFAULT_EXEMPTIONS, DTYPES, KINDS, PHASES, Settings

SETTINGS = Settings(device="cpu", dtypes=("float32",))
EXEMPTIONS = exemptions.Exemptions.load(DEFAULT_EXEMPTIONS)
NEW_IN_2_13 = {
    "nn.functional.linear_cross_entropy.chunked",
    "nn.functional.linear_cross_entropy.chunked_none",
}
GROUPS = [
    exemption
    for kind in dataclasses.fields(EXEMPTIONS)
    for exemption in getattr(EXEMPTIONS, kind.name)
]


@pytest.fixture(scope="module")
def everything() -> list[subjects.Subject]:
    return catalog.load(SETTINGS)


@pytest.mark.parametrize("exemption", GROUPS, ids=lambda exemption: exemption.names[0])
def test_every_name_in_an_exemption_exists(everything, exemption):
    known = {name for subject in everything for name in (subject.name, subject.family)}
    if torch.__version__ < (2, 13):
        known |= NEW_IN_2_13
    assert set(exemption.names) <= known
    assert set(exemption.phases or ()) <= {phase for kind in KINDS for phase in PHASES[kind]}
    assert set(exemption.dtypes or ()) <= set(DTYPES)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "at_least"), [("ops", 16), ("modules", 0)])
def test_everything_that_depends_on_the_seed_is_listed(everything, kind, at_least):
    depending, listed = set(), set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for subject in everything:
            exempt = exemptions.find(EXEMPTIONS.uninitialised, subject, "forward")
            if subject.kind != kind or subject.dtype is None or exempt:
                continue
            if exemptions.find(EXEMPTIONS.random, subject, "forward"):
                listed.add(subject.name)
            if subject.depends_on_seed(SETTINGS):
                depending.add(subject.name)
    assert depending <= listed
    assert len(depending) >= at_least  # the check itself can see randomness


def test_an_exemption_speaks_for_variants_and_within_its_limits(everything):
    division = next(s for s in everything if s.name == "div.no_rounding_mode")
    anywhere = exemptions.Exemption("a reason", ["div"])
    assert anywhere.speaks_for(division, "forward")
    assert not dataclasses.replace(anywhere, phases=["empty"]).speaks_for(division, "forward")
    assert not dataclasses.replace(anywhere, dtypes=["bool"]).speaks_for(division, "forward")
    assert not dataclasses.replace(anywhere, names=["mul"]).speaks_for(division, "forward")
