"""What CMake says of a build tree: targets, sources, and what ctest would run."""

import json
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import build_graph, console
from dev.testing import entries
from dev.testing.suites import SUITES

TARGETS = {
    "core": ("STATIC_LIBRARY", ["core/event.cpp", "core/stream.cpp"], ["libcore.a"], []),
    "core_test": ("EXECUTABLE", ["tests/core/event_test.cpp"], ["tests/core/core_test"], ["core"]),
    "backend": ("MODULE_LIBRARY", ["module.cpp"], ["python/torch_acme/_C.so"], ["core"]),
    "other_test": ("EXECUTABLE", ["tests/other_test.cpp"], ["tests/other_test"], []),
    "all_backends": ("UTILITY", [], [], ["backend"]),
}

TESTS = """\
# CMake generated Testfile for
include("{0}/tests/host_suite[1]_include.cmake")
include("{0}/tests/null_suite[1]_include.cmake")
add_test([=[core_test]=] "{0}/tests/core/core_test")
set_tests_properties([=[core_test]=] PROPERTIES  TIMEOUT "300")
add_test([=[host_suite.summary]=] "{0}/tests/host_suite" "--whole" "--expectations=a b")
add_test(plain "{0}/tests/host_suite")
if(CTEST_CONFIGURATION_TYPE MATCHES "^([Ll][Oo][Nn][Gg])$")
  add_test([=[host_suite.programs]=] "{0}/tests/host_suite")
endif()
subdirs("core")
"""
DISCOVERED = """\
add_test([=[host_suite.CopyTest.Words]=]  {0}/host_suite [==[--gtest_filter=CopyTest.Words]==] --x)
set_tests_properties([=[host_suite.CopyTest.Words]=]  PROPERTIES TIMEOUT 300)
"""


@pytest.fixture
def graph(tmp_path):
    reply = tmp_path / ".cmake/api/v1/reply"
    reply.mkdir(parents=True)
    listed = []
    for name, (kind, sources, artifacts, needs) in TARGETS.items():
        target = {
            "type": kind,
            "sources": [{"path": path} for path in sources],
            "artifacts": [{"path": path} for path in artifacts],
            "dependencies": [{"id": f"{need}::@1"} for need in needs],
        }
        (reply / f"{name}.json").write_text(json.dumps(target))
        listed.append({"id": f"{name}::@1", "name": name, "jsonFile": f"{name}.json"})
    model = {"configurations": [{"targets": listed}]}
    (reply / "codemodel-v2-0.json").write_text(json.dumps(model))
    return build_graph.read(tmp_path)


def test_a_source_is_a_part_of_its_targets(graph):
    assert graph.compiling(Path("core/event.cpp")) == {"core"}
    assert graph.compiling(Path("core/nothing.cpp")) == set()


def test_a_header_belongs_to_its_neighbours(graph):
    assert graph.compiling(Path("core/event.h")) == {"core"}
    assert graph.compiling(Path("elsewhere/event.h")) == set()


def test_what_uses_a_target_has_to_be_built_with_it(graph):
    users = graph.users({"core"})
    assert users == {"core", "core_test", "backend", "all_backends"}
    assert graph.programs(users) == {"core_test"}


def test_folders_of_the_build_tree_have_their_makers(graph):
    assert graph.making("python") == {"backend"}
    assert graph.making("py*") == graph.making("python/torch_acme") == {"backend"}
    assert graph.making("tests/core") == {"core_test"}
    assert graph.making(".") == {"core", "core_test", "backend", "other_test"}


def test_what_a_suite_needs_is_made_by_somebody(build_tree):
    graph = build_graph.read(build_tree)
    needs = {need for suite in SUITES if not suite.missing(build_tree) for need in suite.needs}
    assert "python_protected" in needs
    assert [need for need in needs if not graph.making(need)] == []


def test_a_tree_that_nobody_has_configured_is_named(tmp_path):
    assert not build_graph.is_answered(tmp_path)
    with pytest.raises(console.Failure, match="is not configured"):
        build_graph.read(tmp_path)


@pytest.fixture
def listed(tmp_path):
    tests = tmp_path / "tests"
    (tests / "core").mkdir(parents=True)
    (tmp_path / "CTestTestfile.cmake").write_text('subdirs("tests")\n')
    (tests / "CTestTestfile.cmake").write_text(TESTS.format(tmp_path))
    (tests / "core/CTestTestfile.cmake").write_text('add_test([=[inner]=] "/usr/bin/cmake" "-P")\n')
    (tests / "host_suite[1]_tests.cmake").write_text(DISCOVERED.format(tests))
    return {entry.name: entry for entry in entries.read(tmp_path)}


def test_entries_are_those_that_ctest_runs_without_being_asked_for_long_ones(listed):
    discovered = {"host_suite.CopyTest.Words", "null_suite"}
    assert set(listed) == discovered | {"core_test", "host_suite.summary", "plain", "inner"}


def test_an_entry_has_its_command_and_the_folder_that_adds_it(listed, tmp_path):
    assert listed["host_suite.summary"].command == (
        f"{tmp_path}/tests/host_suite",
        "--whole",
        "--expectations=a b",
    )
    assert listed["host_suite.summary"].folder == Path("tests")
    assert listed["inner"].folder == Path("tests/core")
    words = f"{tmp_path}/tests/host_suite", "--gtest_filter=CopyTest.Words", "--x"
    assert listed["host_suite.CopyTest.Words"].command == words


def test_a_program_that_is_not_built_stands_for_its_tests(listed):
    assert not listed["null_suite"].built
    assert listed["host_suite.CopyTest.Words"].built


def test_only_a_program_of_its_own_name_is_filtered(listed):
    assert [name for name, each in listed.items() if each.is_whole_program and each.built] == [
        "core_test"
    ]
