"""Two documents: what broke, what was mended, what is new and what is gone."""

from __future__ import annotations

import copy
import json

import pytest
from product import PLAIN

from conformance import baseline, document, verdicts


def made(**verdicts_of: str) -> dict:
    """A document with an entry of `streams` for each name."""
    return {
        "level": "quick",
        "complete": True,
        "versions": {"torch": "2.13.0", "torch_acme": "1"},
        "settings": {"suites": ["streams", "operators"], "filter": "", "dtypes": ["float32"]},
        "entries": [
            {"suite": "streams", "name": name, "verdict": verdict}
            for name, verdict in verdicts_of.items()
        ],
    }


@pytest.mark.parametrize(
    ("before", "now", "where"),
    [
        ("pass", "fail", "broke"),
        ("pass", "unsupported", "broke"),
        ("pass", "expected", "broke"),
        ("unsupported", "fail", "broke"),
        ("fail", "crash", "broke"),
        ("skipped", "fail", "broke"),
        ("fail", "pass", "mended"),
        ("unsupported", "pass", "mended"),
        ("crash", "fail", "mended"),
        ("fail", "expected", "mended"),
        ("pass", "pass", None),
        ("pass", "skipped", None),
        ("skipped", "pass", None),
        ("fail", "skipped", None),
    ],
)
def test_a_change_is_for_the_better_or_for_the_worse(before, now, where):
    found = baseline.compare(made(waits=before), made(waits=now))
    where = where or ("other" if before != now else None)
    for name in ("broke", "mended", "other", "new", "gone"):
        changes = [baseline.Change("streams/waits", before, now)] if name == where else []
        assert getattr(found, name) == changes


def test_every_verdict_has_its_place():
    for before in verdicts.VERDICTS:
        for now in verdicts.VERDICTS:
            baseline.compare(made(waits=before), made(waits=now))


def test_what_is_new_or_gone_is_told_with_its_verdict():
    found = baseline.compare(made(waits="pass", old="fail"), made(waits="pass", fresh="fail"))
    assert found.new == [baseline.Change("streams/fresh", "", "fail")]
    assert found.gone == [baseline.Change("streams/old", "fail", "")]
    assert found.broke == found.mended == []


@pytest.mark.parametrize(
    "change",
    [
        {"complete": False},
        {"level": "standard"},
        {"settings": {"suites": ["events"], "filter": "", "dtypes": []}},
        {"settings": {"suites": ["streams"], "filter": "waits", "dtypes": []}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_another_run_would_not_have_had_is_not_gone(change):
    assert baseline.compare(made(old="pass"), made() | change).gone == []


def test_the_versions_that_differ_are_told():
    now = copy.deepcopy(made())
    now["versions"] = {"torch": "2.15.0", "torch_acme": "1", "outback": "1.0"}
    assert baseline.compare(made(), now).versions == {
        "torch": ("2.13.0", "2.15.0"),
        "outback": ("absent", "1.0"),
    }


def test_a_run_says_what_has_changed_since_its_baseline(product, plain):
    before = json.loads(plain.document.read_text())
    older = product.folder / "older.json"
    for entry in before["entries"]:
        entry["verdict"] = "pass" if entry["name"] == "raises" else entry["verdict"]
    document.save(before, older)
    said = product(*PLAIN, f"--baseline={older}")
    assert said.status == 1
    assert "1  broke" in said.out and "0  mended" in said.out
    assert "plain/raises: pass, now fail" in said.out


def test_what_is_unsupported_and_passed_before_fails_the_run(product):
    plain = [*PLAIN, "-k", "passes or is_unsupported"]
    made = product.document(*plain)
    assert document.is_green(made)
    (lacking,) = (entry for entry in made["entries"] if entry["verdict"] == "unsupported")
    lacking["verdict"] = "pass"
    older = product.folder / "older.json"
    document.save(made, older)
    said = product(*plain, f"--baseline={older}")
    assert said.status == 1
    assert f"unsupported, and passed in the baseline: {document.id_of(lacking)}" in said.out
