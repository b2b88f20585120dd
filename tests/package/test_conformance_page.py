"""docs/conformance_reports.md is written from the reports of all runtimes."""

import json
import sys
from types import SimpleNamespace

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import conformance_page
from dev.python_runs import RUNS
from dev.report import PASSED, Outcome
from dev.testing import conformance
from dev.testing.results import Results, State

TOTALS = dict.fromkeys(conformance_page._COUNTS, 0)


@pytest.fixture
def environment(tmp_path, monkeypatch):
    monkeypatch.setattr(conformance, "LOG", tmp_path)
    monkeypatch.setattr(conformance_page, "ROOT", tmp_path)
    monkeypatch.setattr(conformance_page, "PAGE", tmp_path / "page.md")
    return SimpleNamespace(build=tmp_path, torch="2.13.0")


def leave_report(environment, run, **counts):
    lacking = counts.get("unsupported", 0)
    entry = {"suite": "graphs", "verdict": "unsupported", "reason": "no a|b"}
    totals = TOTALS | counts
    made = {"started": "2026-11-28T22:00:00+00:00", "versions": {"torch": "2.13.0+cpu"}}
    made |= {"totals": totals, "suites": [{"name": "graphs", "totals": totals}]}
    made["entries"] = [{"verdict": "pass"}, *[entry] * lacking]
    conformance.report(run, "standard").write_text(json.dumps(made))
    state = State("c0ffee" * 6, "tree", dirty=False)
    outcome = Outcome("", PASSED, "", 1)
    results = Results(environment.build / "results", environment.torch)
    results.keep(f"conformance-{run.short_name}", outcome, state, state)


def test_a_page_has_a_column_for_each_runtime(environment):
    for run in RUNS:
        leave_report(environment, run, **{"pass": 1999, "fail": 1})
    leave_report(environment, RUNS[0], **{"pass": 3, "unsupported": 2})
    conformance_page.write(environment)
    lines = conformance_page.PAGE.read_text().splitlines()
    others = len(RUNS) - 1
    assert f"|  | {' | '.join(run.name for run in RUNS)} |" in lines
    assert "| commit |" + " `c0ffeec0ff` |" * len(RUNS) in lines
    assert "| score | 100 % |" + " 99.9 % |" * others in lines
    assert "| `graphs` | 100 % of 3, 2 unsupported |" + " 99.9 % of 2,000 |" * others in lines
    assert lines[-1] == "| host | `graphs` | 2 | no a&#124;b |"


def test_it_says_of_which_runtime_there_is_no_report(environment):
    leave_report(environment, RUNS[0])
    said = conformance_page.write(environment).splitlines()
    assert len(said) == len(RUNS) - 1
    assert said[0].startswith("no report of host, memory apart: run ./dev test --only ")
    assert "|  | host |" in conformance_page.PAGE.read_text()
