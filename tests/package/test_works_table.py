"""The tables of what works: written from runs in which nothing failed, and from all of them."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import works_table

PASSED = '<testcase classname="tests.python.streams.test_stream" name="test_order"/>'
LACKING = f"{PASSED[:-2]}><skipped message='this runtime has no streams'/></testcase>"
FAILED = f"{PASSED[:-2]}><failure message='no'/></testcase>"


@pytest.fixture
def column_of(tmp_path, monkeypatch):
    """The cell of the subject Streams, in the first column, after a run with these cases."""
    monkeypatch.setattr(works_table, "LOG", tmp_path)

    def cell(*cases: str) -> str:
        for log, _ in works_table._COLUMNS.values():
            text = f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"
            (tmp_path / f"{log}.xml").write_text(text)
        return works_table._columns()["host"]["Streams and events"].cell()

    return cell


def test_a_cell_says_what_the_tests_did(column_of):
    assert column_of(PASSED) == "yes"
    assert column_of(PASSED, LACKING) == "in part"
    assert column_of(LACKING) == "no"


def test_nothing_is_written_of_a_run_with_a_failure(column_of):
    with pytest.raises(works_table.NotWhole, match="test_order failed"):
        column_of(PASSED, FAILED)


def test_nor_of_runs_that_lack_a_backend(column_of, tmp_path):
    column_of(PASSED)
    next(tmp_path.glob("*.xml")).unlink()
    with pytest.raises(works_table.NotWhole, match="every backend"):
        works_table._columns()
    assert works_table.check().startswith("not checked")
