"""docs/architecture.md: a way that is too long, or goes to and fro, is said, and so is a cycle."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import console
from dev.architecture import page, ways

COPY = "backend_template/core/memory/copy.cpp"
CALL = "backend_template/ops/in_place/kernel_call.cpp"


def test_a_short_way_through_each_part_is_right():
    assert not page.problems_of("A method", [CALL, COPY, COPY])


def test_a_way_of_too_many_files_is_said():
    assert page.problems_of("A method", [CALL] * 12) == []
    assert page.problems_of("A method", [CALL] * 13) == [
        "A method: 13 files, at most 12 are wanted"
    ]


def test_a_part_that_is_entered_twice_is_said():
    assert page.problems_of("A method", [COPY, CALL, COPY]) == ["A method: goes into core twice"]


def test_a_long_file_is_said():
    long = "backend_template/include/outback/runtime.h"
    (problem,) = page.problems_of("A method", [long])
    assert "lines, at most 400 are wanted" in problem


def test_floors_follow_the_includes_and_refuse_a_cycle():
    assert page.floors({"a": {"b": 1}, "b": {"c": 2}, "c": {}}) == {"a": 2, "b": 1, "c": 0}
    with pytest.raises(console.Failure, match=r"these include each other: \['a', 'b'\]"):
        page.floors({"a": {"b": 1}, "b": {"a": 1}, "c": {}})


def test_a_call_that_is_over_too_soon_is_said(build_tree, tmp_path):
    """As when the slot that should hold it is not on its way any more."""
    way = ways.Way("A method", "torch.ones(1)", "mem_copy", "pass")
    with pytest.raises(console.Failure, match="the call was over before the timer fired"):
        ways.files_of(way, ways.helper(tmp_path), build_tree)
