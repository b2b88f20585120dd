"""The quick loop's end: what ran, what failed, and how that is said."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import console, shell
from dev import test as dev_test
from dev.build_graph import Graph
from dev.report import Report
from dev.testing import listing, pytest_run, quick, suites
from dev.testing.choice import Choice, Tree
from dev.testing.listing import Listed

# Programs that speak as GoogleTest's do: with tests a and b, of which GTEST_FILTER names some.
GOOD = """#!/bin/sh
case "$1" in --gtest_list_tests) printf 'S.\\n  a\\n  b  # GetParam() = 1\\n'; exit;; esac
count=$(echo "$GTEST_FILTER" | tr ':' '\\n' | grep -c '^S\\.[ab]$')
echo "[  PASSED  ] $count tests."
"""
BAD = """#!/bin/sh
echo "S.a is wrong: $GTEST_FAIL_FAST"
exit 1
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name, text in {"good": GOOD, "bad": BAD}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    lines = [f'add_test([=[{name}]=] "{tmp_path / name}")' for name in ("good", "bad")]
    (tmp_path / "CTestTestfile.cmake").write_text("\n".join([*lines, ""]))
    for module in (shell, pytest_run):
        monkeypatch.setattr(module, "LOG", tmp_path / "log")
    monkeypatch.setattr(shell, "ROOT", tmp_path)
    return Tree(tmp_path, Graph([]), [])


@pytest.fixture
def said(tree):
    """`said(choice)`: the exit code of a run, and the table."""

    def run(choice, **options):
        report = Report()
        quick.run(SimpleNamespace(), tree, choice, report, **options)
        return report.finish()

    return run


def test_an_entry_that_passes_passes(said, capsys):
    assert said(Choice(whole={"good"})) == 0
    assert "1 passed" in capsys.readouterr().out


def test_some_tests_of_a_program_are_counted(said, capsys):
    assert said(Choice(filtered={"good": {"S.a", "S.b", "*/S.a/*"}})) == 0
    assert "2 passed" in capsys.readouterr().out


def test_a_program_without_these_tests_is_no_success(said, capsys):
    assert said(Choice(filtered={"good": {"S.c"}})) == 1
    assert "None of the tests is in good" in capsys.readouterr().out


def test_a_failure_is_shown_with_what_the_program_said(said, capsys):
    assert said(Choice(whole={"good", "bad"}), stop=True) == 1
    out = capsys.readouterr().out
    assert "S.a is wrong: 1" in out
    assert "[  PASSED  ]" not in out
    assert "FAILED" in out


def test_an_entry_that_there_is_not_is_no_success(said, capsys):
    assert said(Choice(whole={"neither"})) == 1


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


# ---- The list of tests


def test_the_list_has_what_is_in_programs(tree, tmp_path):
    assert list(listing._cpp(tmp_path)) == [
        *(Listed("cpp", "good:S.a"), Listed("cpp", "good:S.b"), Listed("cpp", "bad")),
    ]


TESTS = [
    Listed("cpp", "core_test:EventTest.Records"),
    Listed("cpp", "core_test:Every/KindTest.Works/0"),
    Listed("cpp", "host_suite.CopyTest.Words"),
    Listed("python-host", "tests/python/a/test_b.py::test_c[1]"),
]


def test_a_list_is_read_as_it_was_written():
    assert listing.read(f"Outback\n{listing.text(TESTS)}\n") == TESTS


@pytest.mark.parametrize(
    "part, name",
    [
        ("cpp", "EventTest.Records"),
        ("cpp", "core_test"),
        ("cpp", "core_test:EventTest.Records"),
        ("cpp", "KindTest.Works"),
        ("cpp", "CopyTest.Words"),
        ("cpp", "host_suite.CopyTest.Words"),
        (None, "tests/python/a/test_b.py::test_c"),
        ("python-host", "tests/python/a/test_b.py::test_c[1]"),
        ("python-host", "tests/python/a/test_b.py"),
        ("python-host", "tests/python/a"),
    ],
)
def test_a_listed_test_is_selected(part, name):
    assert listing.selects(TESTS, part, name)


@pytest.mark.parametrize(
    "part, name",
    [
        ("cpp", "EventTest.Record"),
        ("cpp", "Test.Words"),
        ("cpp", "KindTest.Work"),
        ("python-null", "tests/python/a/test_b.py::test_c"),
        ("python-host", "tests/python/a/test_b.py::test_"),
        ("python-host", "tests/python/a/test_b.py::test_c[2]"),
        (None, "tests/python/aa"),
    ],
)
def test_another_is_not(part, name):
    assert not listing.selects(TESTS, part, name)


# ---- The command line


@pytest.mark.parametrize(
    "options",
    [
        dev_test.Options(names=["EventTest"], all=True),
        dev_test.Options(only=["cpp"], changed=True),
        dev_test.Options(on=["null"]),
        dev_test.Options(everywhere=True, changed=True),
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
