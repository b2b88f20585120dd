"""What a result file says of entries is enough for the gate and the list, and is read back."""

from __future__ import annotations

import pytest

from conformance.opinfo import compact

PASSED = {"status": "passed", "samples": 3}
FAILED = {"status": "failed", "sample": 2, "error": "on meta, not on cpu", "wrong_device": True}
SKIPPED = {"status": "skipped", "reason": "no sample has such a form"}
REFUSED = {"status": "refused", "samples": 3, "reason": "the CPU raises IndexError: out of range"}
IGNORED = {"status": "passed", "samples": 2, "refused": 1, "values_ignored": "it is random"}


def section(entry: dict) -> dict:
    both = {"forward": dict(PASSED), "empty": entry}
    return {
        "mul": {"float32": both, "int64": {"forward": dict(PASSED)}},
        "add": {"float32": both, "int64": {"forward": dict(PASSED)}},
        "sort": {"bool": {"forward": dict(PASSED)}},
    }


@pytest.mark.parametrize(
    ("entry", "read"),
    [
        (PASSED, {"status": "passed"}),
        (FAILED, FAILED),
        (FAILED | {"trace": "Traceback"}, FAILED),
        (SKIPPED, SKIPPED),
        (REFUSED, {"status": "refused", "reason": "the CPU raises IndexError"}),
        (IGNORED, {"status": "passed", "values_ignored": "it is random"}),
    ],
    ids=["passed", "failed", "traced", "skipped", "refused", "ignored"],
)
def test_what_is_read_is_what_the_gate_and_the_list_ask_for(entry, read):
    found = compact.read(compact.written(section(entry)))
    assert list(found) == ["add", "mul", "sort"]
    assert found["mul"] == {
        "float32": {"forward": {"status": "passed"}, "empty": read},
        "int64": {"forward": {"status": "passed"}},
    }
    assert found["add"] == found["mul"]
    assert found["sort"] == {"bool": {"forward": {"status": "passed"}}}


def test_names_with_the_same_places_stand_together_and_passes_are_not_listed():
    assert compact.written(section(SKIPPED)) == {
        "entries": {
            "float32: forward, empty; int64: forward": ["add", "mul"],
            "bool: forward": ["sort"],
        },
        "listed": [SKIPPED | {"at": {"float32: empty": ["add", "mul"]}}],
    }
    assert compact.written(section(PASSED))["listed"] == []


@pytest.mark.parametrize("place", ["float32: out", "bool: forward"])
def test_what_is_listed_and_does_not_exist_is_refused(place):
    file = compact.written(section(PASSED))
    file["listed"] = [FAILED | {"at": {place: ["mul"]}}]
    with pytest.raises(ValueError, match=r"mul, .* is listed, and not among the entries"):
        compact.read(file)
