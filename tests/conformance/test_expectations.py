"""Lines of what is expected to fail: what they stand for, and which are out of date."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.expectations import Expectations, Line
from conformance.item import Item
from conformance.request import Request
from conformance.running.refused import Refused

ITEMS = [
    Item("streams", "waits[acme:1]", "streams/waits"),
    Item("operators", "mul", "ops/mul/float32", "forward", "float32"),
]


def loaded(folder: Path, *lines: str) -> Expectations:
    file = folder / "expectations"
    file.write_text("\n".join(lines))
    return Expectations.load(file)


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("operators/mul/float32/forward", True),
        ("operators/mul/float32", True),
        ("operators/mul", True),
        ("operators", True),
        ("operators/*/float32", True),
        ("*/forward", True),
        ("operators/mu", False),
        ("mul", False),
        ("operators/mul/float32/forward/more", False),
    ],
)
def test_a_line_stands_for_what_begins_with_it(pattern, fits):
    assert Line("", pattern, "").speaks_for("operators/mul/float32/forward") is fits


def test_brackets_stand_for_themselves():
    assert Line("", "streams/waits[acme:1]", "").speaks_for("streams/waits[acme:1]")
    assert not Line("", "streams/waits[acme:1]", "").speaks_for("streams/waitsa")


def test_a_colon_in_brackets_is_the_names(tmp_path):
    (line,) = loaded(tmp_path, "compile/runs[inductor: a module]: not yet: in release 9").lines
    assert line.pattern == "compile/runs[inductor: a module]"
    assert line.reason == "not yet: in release 9"


@pytest.mark.parametrize("line", ["streams/waits", "streams/waits:", "streams/waits: ", "a reason"])
def test_a_line_without_a_reason_is_refused(tmp_path, line):
    with pytest.raises(Refused, match="expectations:2: a line is"):
        loaded(tmp_path, "# A comment: with a colon", line)


def test_a_line_loosens_and_expects_no_failure(tmp_path):
    text = "operators/mul/float32: tolerance=1e-3,2e-2 our multiplier rounds twice: release 9"
    loads = loaded(tmp_path, text, "operators/add: not yet")
    (tolerance,) = loads.tolerances
    assert (tolerance.atol, tolerance.rtol) == (1e-3, 2e-2)
    assert tolerance.speaks_for("operators/mul/float32/forward")
    assert not tolerance.speaks_for("operators/mul/int64/forward")
    assert loads.lines[0].reason == "our multiplier rounds twice: release 9"
    assert loads.of("operators/mul/float32") is None and loads.of("operators/add") is not None
    entries = [{"id": "operators/mul/float32/forward", "verdict": "pass"}]
    assert list(loads.outlived(loads.applied(entries))) == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("operators/mul: tolerance=1e-3,1e-3", "and has a reason"),
        ("operators/mul: Tolerance = 1e-3,1e-3 why", "a tolerance is `tolerance=ATOL,RTOL reason`"),
        ("operators/mul: tolerance=1e-3 why", "expected ATOL,RTOL"),
        ("operators/mul: tolerance=1e-3,-1 why", "expected ATOL,RTOL"),
        ("operators/mul: tolerance=1e-3,nan why", "expected ATOL,RTOL"),
        ("streams/waits: tolerance=1e-3,1e-3 why", "for operators, modules, optimizers only"),
    ],
)
def test_a_tolerance_that_is_none_is_refused(tmp_path, line, says):
    with pytest.raises(Refused, match=f"expectations:1: .*{says}"):
        loaded(tmp_path, line)


@pytest.mark.parametrize(
    ("line", "level", "idle"),
    [
        ("streams/waits[acme:1]", "quick", False),
        ("streams/gone", "quick", True),
        ("operators/mul", "quick", False),
        ("operators/gone", "quick", True),
        ("operators/mul/float32/gone", "standard", True),
        ("operators/mul/float64", "standard", False),  # which only the level full has
        ("operators/mul/float64", "full", True),
    ],
)
def test_a_line_that_stands_for_nothing_is_told(tmp_path, line, level, idle):
    request = Request("acme", level=level, suites=("streams", "operators"))
    found = list(loaded(tmp_path, f"{line}: not done yet").idle(ITEMS, request))
    assert found == ([f"{tmp_path}/expectations:1: {line} is no entry"] if idle else [])


@pytest.mark.parametrize(
    ("verdicts", "outlived"),
    [
        ("pass pass", True),
        ("pass fail", False),
        ("fail fail", False),
        ("unsupported skipped", False),
    ],
)
def test_a_line_of_which_all_passes_has_to_go(tmp_path, verdicts, outlived):
    expectations = loaded(tmp_path, "", "streams: not done yet")
    entries = [
        {"id": f"streams/{number}", "verdict": verdict}
        for number, verdict in enumerate(verdicts.split())
    ]
    found = list(expectations.outlived(expectations.applied(entries)))
    assert found == [f"{tmp_path}/expectations:2: streams passes: remove the line"] * outlived


def test_only_a_whole_run_is_asked_for_lines_that_stand_for_nothing():
    assert Request("acme").whole
    assert not Request("acme", chosen=True).whole
    assert not Request("acme", filter="mul").whole
