"""The committed result files are the harness's own, whole, and say what a backend has to reach."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.opinfo import gate, listing, results
from conformance.opinfo.report import answered
from conformance.opinfo.settings import DTYPES, KINDS

FOLDER = Path(__file__).parent / "results"
FILES = sorted(FOLDER.glob("*.json"))
# Of what has an answer on the CPU.
LEAST = 0.99


@functools.cache
def loaded(file: Path) -> dict:
    return results.load(file)


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def document(request) -> dict:
    return loaded(request.param)


@pytest.fixture
def run() -> dict:
    """A run that gave the first file once more, to be changed."""
    return json.loads(json.dumps(loaded(FILES[0])))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_committed_file_is_named_after_what_is_in_it(file):
    document = loaded(file)
    release = document["versions"]["torch"].partition("+")[0]
    assert file.stem == f"{document['device']}-{release}-{document['label']}"


def test_a_committed_file_is_a_full_run(document):
    settings = document["settings"]
    assert settings["kinds"] == list(KINDS)
    assert settings["dtypes"] == list(DTYPES)
    assert settings["ops"] == []
    assert settings["shard"] == "1/1"
    for kind in KINDS:
        of = document["denominators"][kind]
        assert of["described"] == of["selected"] == len(document[kind])
        assert set(document["counts"][kind]["total"]) == set(results.phases_of(document, kind))
    assert set(document["ops"]["mul"]) == set(DTYPES)


def test_the_counts_are_of_the_entries(document):
    for kind in KINDS:
        assert document["counts"][kind] == results.counts(
            document[kind], results.phases_of(document, kind)
        )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_committed_file_is_written_the_same_again(file, tmp_path):
    results.save(loaded(file), tmp_path / file.name)
    assert (tmp_path / file.name).read_text() == file.read_text()


def test_the_samples_are_of_each_phase(document):
    for kind in KINDS:
        total = document["counts"][kind]["total"]
        assert document["samples"][kind].keys() == total.keys()
        for phase, samples in document["samples"][kind].items():
            assert samples >= total[phase]["passed"] + total[phase]["refused"], (kind, phase)


def first(document: dict, wanted: Callable[[dict], bool]) -> tuple[str, str, str, str]:
    return next(address for address, entry in results.entries(document) if wanted(entry))


def passes(entry: dict) -> bool:
    return entry == {"status": "passed"}


def passes_without_values(entry: dict) -> bool:
    return "values_ignored" in entry


def is_refused(entry: dict) -> bool:
    return entry["status"] == "refused"


def is_skipped(entry: dict) -> bool:
    return entry["status"] == "skipped"


def has_no_dtype(entry: dict) -> bool:
    return entry["status"] == "unsupported_dtype"


def crash(entries: dict, phase: str) -> None:
    entries[phase] = {"status": "crashed", "error": "SIGSEGV"}


def fail(entries: dict, phase: str) -> None:
    entries[phase] = {"status": "failed", "error": "Mismatched elements: 1 / 4"}


def refuse(entries: dict, phase: str) -> None:
    entries[phase] = {"status": "refused", "reason": "the CPU raises IndexError"}


def skip(entries: dict, phase: str) -> None:
    entries[phase] = {"status": "skipped", "reason": "no sample has such a form"}


def ignore_values(entries: dict, phase: str) -> None:
    entries[phase] = {"status": "passed", "values_ignored": "it is random"}


def widen_tolerance(entries: dict, phase: str) -> None:
    entries[phase] = {"status": "passed", "tolerance": "it is hard"}


def vanish(entries: dict, phase: str) -> None:
    del entries[phase]


@pytest.mark.parametrize(
    ("wanted", "change"),
    [
        *((passes, change) for change in (fail, crash, refuse, skip, vanish)),
        *((passes, change) for change in (ignore_values, widen_tolerance)),
        *((passes_without_values, change) for change in (fail, refuse, vanish)),
        *((is_refused, change) for change in (fail, skip, vanish)),
        *((is_skipped, change) for change in (fail, crash, vanish)),
        (has_no_dtype, vanish),
    ],
    ids=lambda function: function.__name__,
)
def test_the_gate_refuses_a_run_that_is_worse_in_one_entry(run, wanted, change):
    kind, name, dtype, phase = first(run, wanted)
    change(run[kind][name][dtype], phase)
    (regression,) = gate.compare(loaded(FILES[0]), run).regressions
    assert (regression.kind, regression.name) == (kind, name)
    assert (regression.dtype, regression.phase) == (dtype, phase)


def test_the_gate_accepts_a_run_that_is_equal(document):
    every = sum(1 for _ in results.entries(document))
    assert gate.compare(document, document) == gate.Verdict(every, [], [])


def test_the_gate_tells_a_name_that_is_gone_from_one_that_is_new(run):
    """Even where their number is as it was."""
    run["ops"]["mull"] = run["ops"].pop("mul")
    found = gate.compare(loaded(FILES[0]), run)
    assert {change.name for change in found.regressions} == {"mul"}
    assert {change.name for change in found.improvements} == {"mull"}


def test_nearly_everything_that_the_cpu_answers_passes(document):
    for kind in KINDS:
        for phase, numbers in document["counts"][kind]["total"].items():
            assert numbers["passed"] >= LEAST * answered(numbers), (kind, phase)


def test_nothing_crashes_hangs_or_comes_back_on_the_wrong_device(document):
    found = dict(results.entries(document))
    assert not [a for a, entry in found.items() if entry["status"] in ("crashed", "timed_out")]
    assert not [a for a, entry in found.items() if "wrong_device" in entry]
    assert document["unclean_exits"] == []


def test_the_list_of_what_does_not_pass_is_the_harnesss():
    assert (FOLDER / listing.FILE).read_text(encoding="utf-8") == listing.text(FOLDER)


def test_there_is_a_file_for_each_way_to_serve_operators():
    assert {file.stem.rpartition("-")[2] for file in FILES} >= {"redispatch", "fallback"}
