"""What ./dev test makes of a path or a name."""

import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from sample_tree import APART, HOST, sample_tree

from dev import console
from dev.testing import areas, fixtures, suites
from dev.testing.choice import Choice
from dev.testing.entries import Entry
from dev.testing.index import CppTest, Index, cpp_tests, python_tests
from dev.testing.names import Names


@pytest.fixture
def tree():
    return sample_tree()


@pytest.fixture
def index():
    made = Index()
    made.files = [
        "backend_template/core/streams/event.cpp",
        "backend_template/core/runtime/format.cpp",
        "backend_template/module/_outback/sync_debug.py",
        "tests/core/event_test.cpp",
        "tests/runtime/suite/events_test.cpp",
        "tests/python/module/test_sync_debug.py",
        "tests/package/test_layers.py",
    ]
    made.__dict__["cpp"] = [
        CppTest("tests/core/event_test.cpp", "CoreEventTest", "Records"),
        CppTest("tests/runtime/suite/events_test.cpp", "EventTest", "Waits"),
    ]
    return made


@pytest.fixture
def choose(tree, index):
    def run(*words, on=(HOST,)):
        return Names(tree, index, on).choose(words)

    return run


@pytest.mark.parametrize(
    "word",
    [
        "tests/core/event_test.cpp",
        "event_test.cpp",
        "CoreEventTest",
        "CoreEventTest.*",
        "CoreEventTest.Rec*",
        "backend_template/core/streams/event.cpp",
    ],
)
def test_a_test_of_a_program_is_filtered_there(choose, word):
    chosen = choose(word)
    assert chosen.filtered == {"core_test": {"CoreEventTest.Records"}}
    assert chosen.targets == {"core_test"}
    assert not chosen.whole


@pytest.mark.parametrize("word", ["tests/runtime/suite/events_test.cpp", "EventTest.Waits"])
def test_a_test_of_the_suite_runs_in_every_program_that_lists_it(choose, word):
    """And the programs that are not built are, so that they list theirs."""
    chosen = choose(word)
    assert chosen.whole == {"host_suite.EventTest.Waits", "null_suite"}
    assert chosen.targets == {"host_suite", "null_suite"}


def test_several_words_mean_what_each_of_them_means(choose):
    files = "tests/python/module/test_sync_debug.py", "tests/python/module/test_telemetry.py"
    assert choose(files[0], f"{files[0]}::test_of_it", files[1]).python == {HOST: list(files)}
    both = choose("CoreEventTest", "EventTest.Waits", "test_layers.py")
    assert both.filtered == {"core_test": {"CoreEventTest.Records"}}
    assert both.whole == {"host_suite.EventTest.Waits", "null_suite"}
    assert both.targets >= {"core_test", "host_suite", "null_suite"}
    assert list(both.python.values()) == [["tests/package/test_layers.py"]]
    assert not choose("core_test", "CoreEventTest").filtered, "the whole program is chosen"


def test_an_entry_of_ctest_is_itself(choose):
    assert choose("core_test").whole == {"core_test"}
    assert choose("host_suite.CopyTest.Words").whole == {"host_suite.CopyTest.Words"}
    assert choose("host_suite.Copy").whole == {"host_suite.CopyTest.Words"}
    assert choose("null_suite.CopyTest.Words").targets == {"null_suite"}


def test_a_folder_has_what_its_cmake_files_add_and_its_python_tests(choose):
    assert choose("tests/core").whole == {"core_test"}
    chosen = choose("tests/python/module")
    assert chosen.python == {HOST: ["tests/python/module"]}
    assert not chosen.whole


def test_all_of_a_program_takes_the_place_of_some(choose):
    chosen = choose("tests/core/event_test.cpp", "core_test")
    assert (chosen.whole, chosen.filtered) == ({"core_test"}, {})


def test_a_python_test_runs_where_it_is_wanted(choose):
    test = "tests/python/module/test_sync_debug.py"
    assert choose(test).python == {HOST: [test]}
    assert choose(f"{test}::test_warns").python == {HOST: [f"{test}::test_warns"]}
    assert choose(test, on=(HOST, APART)).python == {HOST: [test], APART: [test]}
    assert choose("test_sync_debug").python == {HOST: [test]}
    assert choose("backend_template/module/_outback/sync_debug.py").python == {HOST: [test]}
    assert choose(test).targets == {"torch_acme"}


def test_two_of_one_suite_are_both_chosen_and_a_part_of_what_is_chosen_is_no_mistake(choose):
    test = "tests/python/module/test_sync_debug.py"
    other = "tests/python/test_exit.py"
    assert choose(other, test).python == {HOST: [other, test]}
    assert choose("tests/python/module", test).python == {HOST: ["tests/python/module"]}
    assert choose(test, test).python == {HOST: [test]}
    assert choose("core_test", "tests/core/event_test.cpp").whole == {"core_test"}
    assert not choose("core_test", "tests/core/event_test.cpp").filtered
    assert choose("host_suite.Copy", "host_suite.Copy").whole == {"host_suite.CopyTest.Words"}


def test_a_python_test_is_found_by_its_own_name(choose):
    name = "test_a_folder_includes_only_what_is_below_it"
    (chosen,) = choose(name).python.values()
    assert chosen == [f"tests/package/test_layers.py::{name}"]
    assert choose(name).targets == set()  # it looks at sources only


@pytest.mark.parametrize(
    "word, near",
    [
        ("CoreEventTst", "CoreEventTest"),
        ("tests/core/evnt_test.cpp", "tests/core/event_test.cpp"),
        ("host_siute.summary", "host_suite.summary"),
        ("test_a_folder_includes_what_is_below_it", "test_a_folder_includes_only_what"),
        ("(", ""),
    ],
)
def test_what_there_is_not_is_refused_with_what_is_near(choose, word, near):
    with pytest.raises(console.WrongUsage) as refused:
        choose(word)
    assert "There is no test, file or folder" in str(refused.value)
    assert near in str(refused.value)


def test_a_source_without_tests_of_its_name_has_its_areas(choose, monkeypatch):
    assert choose("backend_template/core/runtime/format.cpp").whole == {"core_test"}


def test_a_file_that_concerns_everything_is_refused(choose):
    with pytest.raises(console.WrongUsage, match="--changed"):
        choose("backend_template/include/outback/runtime.h")


def test_mirrors_have_the_name_of_a_source():
    files = [
        "tests/core/stream_test.cpp",
        "tests/kernels/stream_test.cpp",
        "tests/python/streams/test_events.py",
        "tests/python/memory/test_pools.py",
    ]
    assert areas.mirrors("backend_template/core/streams/stream.cpp", files) == files[:1]
    assert areas.mirrors("backend_template/module/memory/pools.cpp", files) == files[3:]
    assert areas.mirrors("backend_template/module/memory/counters.cpp", files) == [
        "tests/python/memory"
    ]
    assert areas.mirrors("backend_template/module/streams.cpp", files) == ["tests/python/streams"]
    assert areas.mirrors("backend_template/module/module.cpp", files) == []


def test_tests_are_read_out_of_sources():
    text = """\
TEST(A, One) {}
TEST_F(B,
       Two) {
  TEST_P(C, Three) {
// TEST(D, Four)
"""
    assert [test.full for test in cpp_tests(text, "x.cpp")] == ["A.One", "B.Two", "C.Three"]
    assert [test.filters for test in cpp_tests(text, "x.cpp")] == [
        *(("A.One",), ("B.Two",), ("*/C.Three/*", "C.Three/*")),
    ]
    text = """\
def test_one(): pass
class TestGroup:
    def test_two(self): pass
    async def test_three(self): pass
def helper(): pass
def test_four(): pass
"""
    assert [test.node for test in python_tests(text, "x.py")] == [
        *("x.py::test_one", "x.py::TestGroup::test_two", "x.py::TestGroup::test_three"),
        "x.py::test_four",
    ]


def test_what_a_python_test_uses_of_the_build_tree_is_built(tree, tmp_path):
    """By the fixtures that it asks for, whose text names folders of the build tree."""
    (tmp_path / "python_probe").mkdir()
    needed = fixtures.targets(HOST, ["tests/python/test_registration.py"], tree.graph, tmp_path)
    assert needed == {"torch_acme", "outback_probe"}
    needed = fixtures.targets(HOST, ["tests/python/test_device_module.py"], tree.graph, tmp_path)
    assert needed == {"torch_acme"}
    package = suites.OTHER_SUITES[-1]
    imports = ["tests/package/test_import.py"]
    assert "torch_acme" in fixtures.targets(package, imports, tree.graph, tmp_path)
    sources = ["tests/package/test_layers.py"]
    assert fixtures.targets(package, sources, tree.graph, tmp_path) == set()


def test_no_test_is_run_twice_over():
    choice = Choice()
    for test in ("a/test_b.py::test_c", "a/test_b.py", "a/test_b.py::test_d", "ab", "a", "a/e"):
        choice.add_python(HOST, test)
    assert choice.python == {HOST: ["ab", "a"]}


def test_nothing_is_chosen_of_nothing(tree):
    assert not Choice()
    assert tree.targets_of(Entry("layers", Path("tests"), ("/usr/bin/cmake", "-P"))) == set()
