"""The tables of what works: from the last long runs, and never of other tests than there are."""

import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import console, works_record, works_table
from dev.python_runs import RUNS

PASSED = '<testcase classname="tests.python.streams.test_order" name="test_order"/>'
IN_A_CLASS = '<testcase classname="tests.python.test_exit.TestExit" name="test_exit"/>'
LACKING = f"{PASSED[:-2]}><skipped message='Skipped: this runtime has no streams'/></testcase>"
OTHER_TORCH = f"{PASSED[:-2]}><skipped message='Skipped: needs torch 2.14'/></testcase>"
FAILED = f"{PASSED[:-2]}><failure message='no'/></testcase>"
TABLE = f"before\n{works_table._BEGIN}old\n{works_table._END}after\n"


@pytest.fixture
def tree(tmp_path, monkeypatch) -> Path:
    """A tree with two subjects, of a test each, and with a page that is empty."""
    for module in ("streams/test_order.py", "test_exit.py"):
        path = tmp_path / "tests/python" / module
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for module in (works_record, works_table):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(works_record, "LOG", tmp_path)
    monkeypatch.setattr(works_record, "FILE", tmp_path / "record.json")
    monkeypatch.setattr(works_table, "ROWS", {"Streams": ["streams"], "Exit": ["test_exit.py"]})
    monkeypatch.setattr(works_table, "PAGE", tmp_path / "PAGE")
    (tmp_path / "PAGE").write_text(TABLE)
    works_record.save({})
    return tmp_path


def ran(
    *cases: str, on: int = 0, commit: str = "c0ffee", time: str = "2026-01-02T03:04:05"
) -> None:
    works_record.results(RUNS[on]).write_text(
        f'<testsuites><testsuite name="{commit}" timestamp="{time}.6+00:00">'
        f"{''.join(cases)}</testsuite></testsuites>"
    )


def cells(tree: Path) -> dict[str, list[str]]:
    """The tables as ./dev docs writes it: what stands behind each heading of a row."""
    works_table.write()
    lines = [line for line in (tree / "PAGE").read_text().splitlines() if line.startswith("| ")]
    return {
        head: cells for head, *cells in ([*map(str.strip, it.split("|")[1:-1])] for it in lines)
    }


def test_a_cell_says_what_the_tests_did(tree):
    for cases, cell in (
        ([PASSED], "yes"),
        ([PASSED, OTHER_TORCH], "yes"),
        ([PASSED, LACKING], "in part"),
        ([LACKING], "no"),
    ):
        works_record.save({})
        ran(*cases, IN_A_CLASS)
        assert cells(tree)["Streams"] == [cell]
    assert cells(tree)["Exit"] == ["yes"]
    assert "| host | Streams | this runtime has no streams |" in (tree / "PAGE").read_text()


def test_each_column_names_the_run_that_it_comes_from(tree):
    ran(PASSED, commit="c0ffee")
    ran(LACKING, on=2, commit="beef-dirty", time="2026-02-03T00:00:00")
    table = cells(tree)
    assert table[""] == ["host", "null"]
    assert table["Streams"] == ["yes", "no"]
    assert table["commit"] == ["`c0ffee`", "`beef-dirty`"]
    assert table["date"] == ["2026-01-02", "2026-02-03"]


def test_an_older_run_and_one_with_a_failure_are_not_taken_over(tree):
    ran(PASSED)
    assert cells(tree)["Streams"] == ["yes"]
    ran(LACKING, time="2026-01-01T03:04:05")
    assert cells(tree)["Streams"] == ["yes"]
    ran(FAILED, time="2026-01-03T03:04:05")
    assert cells(tree)["Streams"] == ["yes"]
    ran(LACKING, time="2026-01-03T03:04:05")
    assert cells(tree)["Streams"] == ["no"]


def test_the_tables_are_checked_without_a_run(tree):
    ran(PASSED, IN_A_CLASS)
    works_table.write()
    works_record.results(RUNS[0]).unlink()
    assert works_table.check() == "up to date"
    (tree / "PAGE").write_text((tree / "PAGE").read_text().replace("| yes |", "| no |"))
    with pytest.raises(console.Failure, match=r"PAGE is not up to date: run \./dev docs"):
        works_table.check()


def test_a_test_that_is_new_since_the_run_is_refused_until_the_page_says_so(tree):
    ran(PASSED, IN_A_CLASS)
    works_table.write()
    (tree / "tests/python/streams/test_new.py").touch()
    with pytest.raises(console.Failure, match="PAGE is not up to date"):
        works_table.check()
    assert cells(tree)["Streams"] == ["yes, 1 of 2 files"]
    assert works_table.check() == "up to date"
    assert "| host | `streams/test_new.py` |  |" in (tree / "PAGE").read_text()


def test_a_test_that_is_gone_since_the_run_is_refused_until_the_page_says_so(tree):
    other = PASSED.replace("test_order", "test_other")
    (tree / "tests/python/streams/test_other.py").touch()
    ran(PASSED, other, IN_A_CLASS)
    works_table.write()
    (tree / "tests/python/streams/test_other.py").unlink()
    with pytest.raises(console.Failure, match="PAGE is not up to date"):
        works_table.check()
    works_record.results(RUNS[0]).unlink()
    works_table.write()
    assert works_table.check() == "up to date"
    assert "| host |  | `streams/test_other.py` |" in (tree / "PAGE").read_text()


def test_a_subject_without_a_test_and_a_test_without_a_subject_are_named(tree):
    ran(PASSED, IN_A_CLASS)
    works_table.write()
    (tree / "tests/python/test_stray.py").touch()
    with pytest.raises(console.Failure, match=r"test_stray\.py is in no row"):
        works_table.check()
    (tree / "tests/python/test_stray.py").unlink()
    (tree / "tests/python/test_exit.py").unlink()
    with pytest.raises(console.Failure, match=r"names what is gone: test_exit\.py"):
        works_table.check()


def test_the_tree_has_a_row_for_each_of_its_tests():
    assert sum(map(len, works_table._subjects().values())) > 80


def test_a_run_says_of_which_commit_it_is():
    assert works_record.commit()
