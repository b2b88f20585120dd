"""./dev test PATH_OR_NAME: what a name means, and how the end of a run is said."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import console, shell
from dev import test as dev_test
from dev.report import Report
from dev.testing import ctest, named, pytest_run, suites
from dev.testing.named import Names

HOST, APART = suites.PYTHON_SUITES[:2]
FILES = {
    "backend_template/core/streams/event.cpp": "",
    "backend_template/core/streams/lone.cpp": "",
    "tests/core/event_test.cpp": "TEST(EventTest, Records) {\n}\nTEST_F(EventTest, Waits) {\n",
    "tests/core/helper.h": "",
    "tests/mutants/test_it.py": "",
    "tests/other/event_test.cpp": "TEST(OtherTest, Records) {\n",
    "tests/runtime/suite/copy_test.cpp": "TEST(CopyTest, Words) {\n",
    "tests/twin/twin.h": "",
    "tests/kernels/test_kernels.py": "def test_kernel(): pass",
    "tests/python/streams/test_event.py": "def test_of_streams(): pass",
    "tests/python/streams/test_more.py": "class TestMore:\n    def test_more(self): pass",
}


@pytest.fixture
def names(tmp_path, monkeypatch):
    """A small tree, in which core, kernels and runtime have C++ tests that are compiled."""
    root, build = tmp_path / "root", tmp_path / "build"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name in ("core", "kernels", "runtime"):
        (build / "tests" / name).mkdir(parents=True)
        (build / "tests" / name / "CTestTestfile.cmake").touch()
    (build / "CTestTestfile.cmake").write_text("add_test(host_suite.summary true)\n")
    monkeypatch.setattr(named, "ROOT", root)
    monkeypatch.chdir(root)
    return Names([HOST], build)


@pytest.mark.parametrize(
    "word, folders",
    [
        ("tests/core", {"tests/core": set()}),
        ("tests/core/helper.h", {"tests/core": set()}),
        ("tests/core/event_test.cpp", {"tests/core": {"EventTest.Records", "EventTest.Waits"}}),
        ("tests/runtime/suite", {"tests/runtime": {"CopyTest.Words"}}),
        ("EventTest", {"tests/core": {"EventTest.Records", "EventTest.Waits"}}),
        ("EventTest.Rec*", {"tests/core": {"EventTest.Records"}}),
        ("CopyTest.Words", {"tests/runtime": {"CopyTest.Words"}}),
    ],
)
def test_cpp_tests_are_those_of_a_folder(names, word, folders):
    choice = names.choose([word])
    assert choice.folders == folders
    assert choice.targets == {f"{folder}/all" for folder in folders}
    assert not choice.python and not choice.entries


@pytest.mark.parametrize(
    "word, suite, name, test",
    [
        ("tests/python/streams", HOST, "", "tests/python/streams"),
        ("tests/python/streams/test_more.py", HOST, "", "tests/python/streams/test_more.py"),
        (
            "tests/python/streams/test_more.py::T::t",
            *(HOST, ""),
            "tests/python/streams/test_more.py::T::t",
        ),
        ("test_more", HOST, "test_more", "tests/python/streams/test_more.py"),
        ("test_kernel", suites.OTHER_SUITES[0], "test_kernel", "tests/kernels/test_kernels.py"),
    ],
)
def test_python_tests_are_pytests(names, word, suite, name, test):
    choice = names.choose([word])
    assert choice.python == {(suite, name): [test]}
    assert choice.targets == set(suite.targets)
    assert not choice.folders and not choice.entries


def test_a_folder_may_have_both(names):
    choice = names.choose(["tests/kernels"])
    assert choice.folders == {"tests/kernels": set()}
    assert choice.python == {(suites.OTHER_SUITES[0], ""): ["tests/kernels"]}


def test_the_tests_of_tests_python_run_where_they_are_wanted(names, tmp_path):
    on = Names([HOST, APART], tmp_path / "build")
    assert {suite for suite, _ in on.choose(["test_more"]).python} == {HOST, APART}


def test_a_source_has_the_tests_of_its_name_in_folders_of_its_name(names):
    choice = names.choose(["backend_template/core/streams/event.cpp"])
    assert set(choice.folders) == {"tests/core"}
    assert choice.python == {(HOST, ""): ["tests/python/streams/test_event.py"]}
    folder = names.choose(["backend_template/core"])
    assert folder.folders == {"tests/core": set()}


def test_a_source_without_tests_of_its_name_says_so(names):
    with pytest.raises(
        console.WrongUsage, match=r"No test mirrors .*/lone\.cpp: .* lone_test\.cpp"
    ):
        names.choose(["backend_template/core/streams/lone.cpp"])


@pytest.mark.parametrize("word", ["tests/twin", "tests/mutants/test_it.py"])
def test_a_place_without_tests_says_so(names, word):
    with pytest.raises(console.WrongUsage, match=word):
        names.choose([word])


def test_what_ctest_finds_is_an_entry_which_may_need_anything(names):
    choice = names.choose(["host_suite.summary"])
    assert choice.entries == ["host_suite.summary"]
    assert choice.targets == {"all"}


@pytest.mark.parametrize("word", ["NoTest", "test_nothing", "tests/nowhere", "(", "EventTest.No"])
def test_a_name_of_nothing_is_wrong_usage(names, word):
    with pytest.raises(console.WrongUsage, match="There is no test, file or folder"):
        names.choose([word])


def test_a_whole_folder_has_all_of_its_tests(names):
    for words in (["EventTest.Waits", "tests/core"], ["tests/core", "EventTest.Waits"]):
        assert names.choose(words).folders == {"tests/core": set()}
    both = names.choose(["EventTest.Waits", "EventTest.Records"])
    assert both.folders == {"tests/core": {"EventTest.Records", "EventTest.Waits"}}


def test_the_targets_of_suites_are_built_by_somebody(build_tree):
    if not (build_tree / "build.ninja").exists():
        pytest.skip("ninja did not build this tree")
    text = (build_tree / "build.ninja").read_text()
    targets = {target for suite in suites.SUITES for target in suite.targets}
    assert [target for target in targets if f"build {target}: phony" not in text] == []


# ---- ctest

# Programs that speak as GoogleTest's do: with tests a and b, of which GTEST_FILTER names some.
GOOD = """#!/bin/sh
count=$(echo "$GTEST_FILTER" | tr ':' '\\n' | grep -c '^S\\.[ab]$')
echo "[  PASSED  ] $count tests."
"""
BAD = """#!/bin/sh
echo "S.a is wrong: $GTEST_FAIL_FAST"
exit 1
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name, text in {"good_test": GOOD, "bad_test": BAD}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    lines = [f'add_test([=[{name}]=] "{tmp_path / name}")' for name in ("good_test", "bad_test")]
    (tmp_path / "CTestTestfile.cmake").write_text("\n".join([*lines, ""]))
    for module in (shell, pytest_run):
        monkeypatch.setattr(module, "LOG", tmp_path / "log")
    monkeypatch.setattr(shell, "ROOT", tmp_path)
    return tmp_path


def test_entries_that_pass_pass(tree):
    assert ctest.run(tree, "some", "-R", "good") == "1 passed"


def test_some_tests_of_a_program_are_counted(tree):
    assert ctest.run(tree, "some", "-R", "good", only="S.a:S.b:*/S.a/*") == "2 passed"


@pytest.mark.parametrize("selected, only", [("good", "S.c"), ("neither", "")])
def test_where_no_test_ran_there_is_no_success(tree, selected, only):
    with pytest.raises(console.Failure):
        ctest.run(tree, "some", "-R", selected, only=only)


def test_a_failure_is_shown_with_what_the_program_said(tree):
    with pytest.raises(console.Failure) as failure:
        ctest.run(tree, "some", stop=True)
    assert "S.a is wrong: 1" in str(failure.value)
    assert "[  PASSED  ]" not in str(failure.value)
    assert failure.value.tests == ["bad_test (Failed)"]


@pytest.mark.parametrize(
    "word, found",
    [("good_test", True), ("goo", True), ("good_test.S.a", True), ("better", False), ("(", False)],
)
def test_an_entry_is_found_also_before_its_program_says_what_is_in_it(tree, word, found):
    assert ctest.has(tree, word) == found


# ---- pytest


@pytest.fixture
def pytest_on(tmp_path, tree):
    environment = SimpleNamespace(python=Path(sys.executable), has=lambda module: False)

    def run(text, *options):
        test = tmp_path / "test_it.py"
        test.write_text(text)
        inherited = {"PYTEST_ADDOPTS": "", "PATH": os.environ["PATH"]}
        return pytest_run.run_pytest(environment, "it", str(test), inherited, *options)

    return run


def test_what_pytest_counted_is_the_outcome(pytest_on):
    assert pytest_on("def test_a(): pass\ndef test_b(): pass") == "2 passed"


def test_its_failures_are_shown(pytest_on):
    with pytest.raises(console.Failure, match=r"(?s)= FAILURES =.*assert 1 == 2"):
        pytest_on("def test_a(): assert 1 == 2")


def test_where_nothing_was_selected_nothing_ran(pytest_on, capsys):
    with pytest.raises(console.NotRun):
        pytest_on("def test_a(): pass", "-k", "test_b")
    assert capsys.readouterr().out.rstrip().endswith("  not run")


# ---- The command line


@pytest.mark.parametrize(
    "options",
    [
        dev_test.Options(names=["EventTest"], all=True),
        dev_test.Options(only=["cpp"], list_parts=True),
        dev_test.Options(on=["null"]),
        dev_test.Options(stop=True),
        dev_test.Options(names=["EventTest"], resume=True),
        dev_test.Options(only=["nothing"]),
        dev_test.Options(names=["EventTest"], on=["nowhere"]),
    ],
)
def test_options_that_do_not_go_together_are_refused(options):
    with pytest.raises(console.WrongUsage):
        options.check()


def test_each_outcome_has_its_exit_code(capsys):
    def raising(error):
        def command():
            raise error("so")

        return console.exit_code_of(command)

    codes = map(raising, (console.Failure, console.WrongUsage, console.NotBuilt))
    assert list(codes) == [1, 2, 3]


def test_a_failed_build_is_not_a_failed_test():
    report = Report()

    def build():
        raise console.NotBuilt("no such header")

    report.part("build dev", build)
    assert report.finish() == 3


def test_a_run_has_a_short_name():
    names = [suite.name.removeprefix("python-") for suite in suites.PYTHON_SUITES]
    assert [suites.on(name).name for name in names] == [f"python-{name}" for name in names]
