"""The committed result files are the harness's own, whole, and say what a backend has to reach."""

from __future__ import annotations

from pathlib import Path

import pytest
from opinfo import listing, results
from opinfo.report import answered
from opinfo.settings import DTYPES, KINDS, PHASES

FOLDER = Path(__file__).parent / "results"
FILES = sorted(FOLDER.glob("*.json"))
# Of what has an answer on the CPU.
LEAST = 0.99


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def document(request) -> dict:
    return results.load(request.param)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_committed_file_is_named_after_what_is_in_it(file):
    document = results.load(file)
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
        assert set(document["counts"][kind]["total"]) == set(PHASES[kind])
    assert set(document["ops"]["mul"]) == set(DTYPES)


def test_the_counts_are_of_the_entries(document):
    for kind in KINDS:
        assert document["counts"][kind] == results.counts(document[kind], PHASES[kind])


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
