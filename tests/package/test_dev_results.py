"""What ./dev test keeps of each part, and when that is as good as a new run."""

import sys
from dataclasses import replace

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev.report import FAILED, NOT_RUN, PASSED, Outcome
from dev.testing.results import Results, State

CLEAN = State("c0ffee", "tree", dirty=False)
OUTCOME = Outcome("cpp", PASSED, "12 passed", 3.25)


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "results", "2.13.0")


def test_a_part_that_passed_on_these_sources_need_not_run_again(results):
    results.keep("cpp", OUTCOME, CLEAN, CLEAN)
    last = results.passed("cpp", CLEAN)
    assert (last.note, last.seconds, last.commit, last.torch, last.dirty) == (
        *("12 passed", 3.2, "c0ffee", "2.13.0"),
        False,
    )
    assert results.passed("stubs", CLEAN) is None


def test_the_same_files_in_another_commit_are_the_same_sources(results):
    results.keep("cpp", OUTCOME, CLEAN, CLEAN)
    assert results.passed("cpp", replace(CLEAN, commit="decade"))


@pytest.mark.parametrize("other", [replace(CLEAN, tree="bush"), replace(CLEAN, dirty=True)])
def test_other_sources_need_a_new_run(results, other):
    results.keep("cpp", OUTCOME, CLEAN, CLEAN)
    assert results.passed("cpp", other) is None


@pytest.mark.parametrize(
    "before, after",
    [
        (replace(CLEAN, dirty=True), replace(CLEAN, dirty=True)),
        (CLEAN, replace(CLEAN, dirty=True)),
        (CLEAN, State("decade", "bush", dirty=False)),
    ],
)
def test_what_was_tested_must_have_been_the_commit_from_start_to_end(results, before, after):
    results.keep("cpp", OUTCOME, before, after)
    assert results.last("cpp").dirty
    assert results.passed("cpp", CLEAN) is None


@pytest.mark.parametrize("state", [FAILED, NOT_RUN])
def test_only_what_passed_is_taken_up(results, state):
    results.keep("cpp", replace(OUTCOME, state=state), CLEAN, CLEAN)
    assert results.last("cpp").state == state
    assert results.passed("cpp", CLEAN) is None


def test_another_torch_needs_a_new_run(results, tmp_path):
    results.keep("cpp", OUTCOME, CLEAN, CLEAN)
    assert Results(tmp_path / "results", "2.14.0").passed("cpp", CLEAN) is None


@pytest.mark.parametrize("text", ["", "{", '{"part": "cpp"}', "[]"])
def test_a_file_of_something_else_is_no_result(results, tmp_path, text):
    (tmp_path / "results").mkdir()
    (tmp_path / "results/cpp.json").write_text(text)
    assert results.last("cpp") is None


def test_the_state_of_this_tree_has_a_commit_and_its_files():
    now = State.now()
    if not now.commit:
        pytest.skip("these sources are not in git")
    assert len(now.commit) == len(now.tree) == 40
    assert now.commit != now.tree
