"""What acme declares unsupported: it only becomes less, and a run has to say the same."""

from __future__ import annotations

import sys
from pathlib import Path

import declared
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.dev.python_runs import PORTABLE_RUN, RUNS  # noqa: E402

# Of entries, by runtime. A number is lowered with each line that goes, and never raised.
MOST = {
    "host": 0,
    "host-memory-apart": 18,
    "null": 81,
    "cuda": 18,
    "level-zero": 33,
    "opencl": 34,
    "portable-kernels": 2,
}


def made(**verdicts: str) -> dict:
    """A report with an entry of `streams` for each name."""
    entries = [
        {"suite": "streams", "name": name, "verdict": verdict, "reason": "why", "message": "what"}
        for name, verdict in verdicts.items()
    ]
    names = ("pass", "fail", "crash", "timeout", "unsupported", "expected", "skipped")
    return {
        "level": "standard",
        "complete": True,
        "headline": "",
        "entries": entries,
        "problems": [],
        "totals": {name: list(verdicts.values()).count(name) for name in names},
    }


def test_every_runtime_has_its_lines():
    assert {run.short_name for run in (*RUNS, PORTABLE_RUN)} == MOST.keys()
    assert {file.stem for file in declared.FOLDER.glob("*.txt")} == MOST.keys()


@pytest.mark.parametrize("name", MOST)
def test_what_is_declared_only_becomes_less(name):
    assert len(declared.lines(name)) <= MOST[name]


@pytest.mark.parametrize("name", MOST)
def test_every_line_is_about_an_entry_that_there_is(name):
    """By its check's name: the suites are not loaded, which want a device."""
    for id in declared.lines(name):
        suite, check = id.split("/")[:2]
        source = (ROOT / f"conformance/suites/{suite}.py").read_text()
        assert f"def {check.partition('[')[0]}(" in source, id


def test_a_run_that_declares_what_the_lines_say_is_well():
    run = made(waits="pass", orders="unsupported", ends="skipped")
    assert list(declared.problems(run, {"streams/orders": "why"})) == []


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (made(waits="pass", orders="unsupported", ends="unsupported"), "ends: unsupported, and no"),
        (made(waits="pass", orders="pass"), "streams/orders: passes: remove its line"),
        (made(waits="crash", orders="unsupported"), "streams/waits: crash: what"),
        (made(waits="pass"), "streams/orders: is declared, and is no entry"),
        (made(orders="unsupported"), "the run is not green"),
        (made(waits="pass", orders="unsupported") | {"problems": ["a worker"]}, "a worker"),
        (made(waits="pass", orders="unsupported") | {"complete": False}, "the run is not green"),
    ],
)
def test_a_run_that_says_otherwise_is_not(run, says):
    found = list(declared.problems(run, {"streams/orders": "why"}))
    assert any(says in line for line in found), found


def test_a_quick_run_has_not_all_entries():
    run = made(waits="pass") | {"level": "quick"}
    assert list(declared.problems(run, {"streams/orders": "why"})) == []
