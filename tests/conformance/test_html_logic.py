"""What the page's script finds and sorts, in a JavaScript engine without a browser."""

import json
from pathlib import Path

import pytest
import synthetic_document

from conformance.report import html, page_data

quickjs = pytest.importorskip("quickjs", reason="needs a JavaScript engine: pip install quickjs-ng")


class Page:
    """The functions of logic.js over the data of a document."""

    def __init__(self, entries: list[dict]) -> None:
        self._engine = quickjs.Context()
        self._engine.eval((Path(html.__file__).parent / "page" / "logic.js").read_text())
        data = page_data.of(synthetic_document.of(entries))
        self._engine.eval(f"const report = Logic.decode({json.dumps(data)})")

    def __call__(self, expression: str) -> object:
        return json.loads(self._engine.eval(f"JSON.stringify({expression})"))

    def found(self, query="", verdicts=(), suite="", cell=None) -> list[str]:
        """The ids of the findings that a filter leaves."""
        matching = f"Logic.matching(report.findings, {_filter(query, verdicts, suite, cell)})"
        return self(f"{matching}.map(Logic.idOf)")

    def rows(self, query="", verdicts=(), suite="", phase=-1) -> list[str]:
        """The names of the heat map's rows that a filter leaves."""
        map = "report.maps[0]"
        cells = f"Logic.cellsOf({map}, {phase}, report)"
        wanted = _filter(query, verdicts, suite, None)
        return self(
            f"Logic.rowsOf({map}, {cells}, {phase}, {wanted}, report)"
            f".map((row) => {map}.rows[row][0])"
        )


def _filter(query, verdicts, suite, cell) -> str:
    return (
        f"{{words: Logic.wordsOf({json.dumps(query)}), verdicts: new Set({json.dumps(verdicts)}),"
        f" suite: {json.dumps(suite)}, cell: {json.dumps(cell)}}}"
    )


def sample(name, dtype, phase, verdict="pass", **others):
    return {"suite": "operators", "name": name, "dtype": dtype, "phase": phase} | {
        "verdict": verdict,
        **others,
    }


@pytest.fixture(scope="module")
def page():
    return Page(
        [
            sample("add", "float32", "forward"),
            sample("add", "float32", "backward", "fail", message="Tensor-likes are not close!"),
            sample("add", "bool", "forward", "unsupported", reason="no bool on this device"),
            sample("linalg.norm", "float32", "forward", "crash", message="SIGSEGV"),
            sample(
                "linalg.norm", "bool", "forward", "unsupported", reason="no bool on this device"
            ),
            sample("mul", "float32", "forward"),
            {"suite": "streams", "name": "order", "verdict": "fail", "message": "Too Early"},
        ]
    )


def test_no_filter_leaves_all_the_worst_first(page):
    assert page.found() == [
        "operators/linalg.norm/float32/forward",
        "operators/add/float32/backward",
        "streams/order",
        "operators/add/bool/forward",
        "operators/linalg.norm/bool/forward",
    ]


def test_a_search_needs_each_word_in_any_order_and_case(page):
    assert page.found("BACKWARD add") == ["operators/add/float32/backward"]
    assert page.found("add order") == []


def test_a_search_looks_into_messages_and_reasons(page):
    assert page.found("too early") == ["streams/order"]
    assert page.found("no bool") == [
        "operators/add/bool/forward",
        "operators/linalg.norm/bool/forward",
    ]


def test_verdicts_suite_and_cell_limit_the_findings(page):
    assert page.found(verdicts=["fail"]) == ["operators/add/float32/backward", "streams/order"]
    assert page.found(verdicts=["crash", "fail"], suite="streams") == ["streams/order"]
    cell = {"suite": "operators", "name": "add", "dtype": "bool"}
    assert page.found(cell=cell) == ["operators/add/bool/forward"]


def test_a_cell_is_the_worst_of_its_phases_or_that_of_one(page):
    assert page("report.maps[0].dtypes") == ["float32", "bool"]
    assert page("Logic.cellsOf(report.maps[0], -1, report)") == [
        ["fail", "unsupported"],
        ["crash", "unsupported"],
        ["pass", ""],
    ]
    assert page("Logic.cellsOf(report.maps[0], 0, report)[0]") == ["pass", "unsupported"]
    assert page("Logic.cellsOf(report.maps[0], 1, report)") == [["fail", ""], ["", ""], ["", ""]]


def test_rows_are_those_with_a_cell_that_is_wanted(page):
    assert page.rows() == ["add", "linalg.norm", "mul"]
    assert page.rows(verdicts=["fail"]) == ["add"]
    assert page.rows(verdicts=["pass"]) == ["mul"]
    assert page.rows(verdicts=["pass"], phase=0) == ["add", "mul"]
    assert page.rows(phase=1) == ["add"]
    assert page.rows(suite="streams") == []


def test_rows_are_found_by_name_dtype_and_what_their_findings_say(page):
    assert page.rows("NORM") == ["linalg.norm"]
    assert page.rows("bool") == ["add", "linalg.norm"]
    assert page.rows("sigsegv") == ["linalg.norm"]
    assert page.rows("not close", phase=0) == []


def test_findings_that_say_the_same_come_together(page):
    groups = page("Logic.together(report.findings).map((group) => group.map(Logic.idOf))")
    assert groups[-1] == ["operators/add/bool/forward", "operators/linalg.norm/bool/forward"]
    assert [len(group) for group in groups] == [1, 1, 1, 2]


def test_a_group_is_called_by_as_many_names_as_have_room(page):
    titles = "Logic.together(report.findings).map((group) => Logic.titleOf(group, 8))"
    assert page(titles)[-2:] == ["streams/order", "operators: add and 1 more"]
    same = Page([sample("add", dtype, "out", "fail") for dtype in ("int8", "bool")])
    assert same("Logic.titleOf(report.findings)") == "operators/add int8/out, bool/out"


def test_a_cell_in_words(page):
    assert page("Logic.sentenceOf(report.maps[0], 0, 0, report)") == (
        "add, float32: forward pass, backward fail"
    )
    assert page("Logic.sentenceOf(report.maps[0], 2, 1, report)") == "mul, bool: nothing ran"


def test_hostile_texts_come_through_as_they_are():
    hostile = synthetic_document.HOSTILE[1]
    page = Page([sample(hostile, "bool", "out", "fail", message=hostile)])
    assert page("report.findings[0].message") == hostile
    assert page.found("{{ braces }}") == [f"operators/{hostile}/bool/out"]
