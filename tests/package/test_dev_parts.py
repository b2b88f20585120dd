"""./dev test in parts: each goes its own way, and what has ended stays known."""

import re
import sys
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import console, shell
from dev.testing import ctest, parts, pytest_run, runner
from dev.testing.parts import LONG, PARTS, SHORT, Part
from dev.testing.results import Results, State

CLEAN = State("c0ffee", "tree", dirty=False)


@pytest.fixture
def environment(tmp_path):
    return SimpleNamespace(build=tmp_path, torch="2.13.0", jobs=2)


@pytest.fixture
def ran(monkeypatch):
    """What ran, in order; the build is `build dev`, and the sources are CLEAN."""
    names = []

    def build(environment, preset):
        names.append(f"build {preset}")

    monkeypatch.setattr(runner.build, "build", build)
    monkeypatch.setattr(runner.State, "now", classmethod(lambda cls: CLEAN))
    return names


@pytest.fixture
def part(ran):
    """`part(name)` passes; `part(name, error)` raises it."""

    def make(name, error=None, on_dev=True):
        def run(work):
            ran.append(name)
            if error:
                raise error
            return "fine"

        return Part(name, "of a test", run, on_dev=on_dev)

    return make


def test_the_build_is_made_once_and_only_for_who_needs_it(environment, ran, part):
    chosen = [part("site", on_dev=False), part("cpp"), part("stubs")]
    assert runner.run(environment, chosen, resume=False) == 0
    assert ran == ["site", "build dev", "cpp", "stubs"]


def test_what_fails_does_not_keep_the_others_from_running(environment, ran, part, capsys):
    chosen = [part("cpp", console.Failure("EventTest failed")), part("stubs")]
    assert runner.run(environment, chosen, resume=False) == 1
    assert ran == ["build dev", "cpp", "stubs"]
    said = capsys.readouterr().out
    assert "EventTest failed" in said
    assert re.search(r"cpp +\d+\.\d s +FAILED", said)
    assert re.search(r"stubs +\d+\.\d s +fine", said)


def test_the_table_names_the_tests_that_failed(environment, ran, part, capsys):
    tests = [f"tests.package.test_a::test_{each}: not {each}" for each in range(12)]
    chosen = [part("package", console.Failure("pages of output", tests)), part("cpp")]
    assert runner.run(environment, chosen, resume=False) == 1
    table = capsys.readouterr().out.partition("build dev")[2].splitlines()
    row = next(row for row, line in enumerate(table) if "FAILED" in line)
    assert "package" in table[row]
    assert [line.strip() for line in table[row + 1 : row + 12]] == [*tests[:10], "and 2 more"]
    assert "cpp" in table[row + 12]


def test_pytest_names_the_tests_that_failed(monkeypatch, tmp_path):
    monkeypatch.setattr(pytest_run, "LOG", tmp_path)
    monkeypatch.setattr(shell, "LOG", tmp_path)
    monkeypatch.setattr(shell, "ROOT", tmp_path)
    test = tmp_path / "test_of_one.py"
    test.write_text("def test_sum():\n    assert 1 + 1 == 3, 'sums are \\n wrong'\n")
    environment = SimpleNamespace(python=sys.executable, has=lambda package: False)
    with pytest.raises(console.Failure) as failure:
        pytest_run.run_pytest(environment, "one", str(test), {}, f"--rootdir={tmp_path}")
    assert failure.value.tests == ["test_of_one::test_sum: AssertionError: sums are "]


@pytest.mark.parametrize("left", [None, "", "<testsuites><testcase name='a'"])
def test_a_pytest_that_was_killed_names_none(tmp_path, left):
    results = tmp_path / "results.xml"
    if left is not None:
        results.write_text(left)
    assert pytest_run._failed_tests(results) == []


def test_ctest_names_the_tests_that_failed():
    output = """The following tests FAILED:
\t  1 - of a ctest within a test (Failed)
50% tests passed, 2 tests failed out of 4

The following tests FAILED:
\t  3 - core_test (Failed)          long slow
\t 11 - "a b" (Timeout)
Errors while running CTest
"""
    assert ctest.failed_tests(output) == ["core_test (Failed)", '"a b" (Timeout)']


def test_nor_does_a_defect_of_the_tools(environment, ran, part, capsys):
    chosen = [part("site", KeyError("no such page")), part("stubs")]
    assert runner.run(environment, chosen, resume=False) == 1
    assert ran == ["build dev", "site", "stubs"]
    assert "Traceback" in (said := capsys.readouterr().out)
    assert "no such page" in said
    assert Results(environment.build / "results", "2.13.0").last("site").state == "failed"


def test_without_a_build_nothing_that_needs_it_runs(environment, ran, part, monkeypatch):
    def build(environment, preset):
        raise console.NotBuilt("no such header")

    monkeypatch.setattr(runner.build, "build", build)
    chosen = [part("cpp"), part("site", on_dev=False)]
    assert runner.run(environment, chosen, resume=False) == console.NotBuilt.exit_code
    assert ran == ["site"]
    assert Results(environment.build / "results", "2.13.0").last("cpp") is None


def test_parts_that_need_one_core_run_two_at_a_time(environment, ran):
    both, left = threading.Barrier(2, timeout=60), threading.Event()

    def meets(work):
        both.wait()
        ran.append("met")
        return "fine"

    def alone(work):
        assert ran == ["build dev", "met", "met"]
        left.set()
        return "fine"

    chosen = [Part(name, "of a test", meets, one_core=True) for name in ("null", "cuda")]
    chosen.append(Part("cpp", "of a test", alone))
    assert runner.run(environment, chosen, resume=False) == 0
    assert left.is_set()
    results = Results(environment.build / "results", "2.13.0")
    assert [results.last(name).state for name in ("null", "cuda", "cpp")] == ["passed"] * 3


def test_what_fails_beside_another_part_is_its_own_failure(environment, part):
    chosen = [part("null", console.Failure("no such group")), part("cuda")]
    chosen = [replace(each, one_core=True) for each in chosen]
    assert runner.run(environment, chosen, resume=False) == 1
    results = Results(environment.build / "results", "2.13.0")
    assert [results.last(name).state for name in ("null", "cuda")] == ["failed", "passed"]


def test_resuming_leaves_out_what_has_passed(environment, ran, part, capsys):
    failing = [part("cpp"), part("stubs", console.Failure("out of date")), part("fuzz")]
    assert runner.run(environment, failing, resume=False) == 1
    ran.clear()
    assert runner.run(environment, [part("cpp"), part("stubs"), part("fuzz")], resume=True) == 0
    assert ran == ["build dev", "stubs"]
    ran.clear()
    capsys.readouterr()
    assert runner.run(environment, [part("cpp"), part("stubs")], resume=True) == 0
    assert ran == []
    assert re.search(r"cpp +fine \(\d+ s on ", capsys.readouterr().out)


def test_not_what_could_not_run(environment, ran, part):
    missing = part("valgrind", console.NotRun("valgrind is missing"))
    assert runner.run(environment, [missing], resume=False) == 0
    ran.clear()
    runner.run(environment, [missing], resume=True)
    assert ran == ["build dev", "valgrind"]


def test_without_resuming_everything_runs_again(environment, ran, part):
    runner.run(environment, [part("cpp")], resume=False)
    ran.clear()
    runner.run(environment, [part("cpp")], resume=False)
    assert ran == ["build dev", "cpp"]


def test_an_interrupt_leaves_what_has_ended(environment, ran, part, capsys):
    with pytest.raises(KeyboardInterrupt):
        runner.run(environment, [part("cpp"), part("tsan", KeyboardInterrupt())], resume=False)
    assert re.search(r"cpp +\d+\.\d s +fine", capsys.readouterr().out)
    ran.clear()
    runner.run(environment, [part("cpp"), part("tsan")], resume=True)
    assert ran == ["build dev", "tsan"]


def test_the_list_says_how_long_a_part_took(environment, ran, part, capsys):
    cpp, tsan = part("cpp"), part("tsan")
    runner.run(environment, [cpp], resume=False)
    capsys.readouterr()
    runner.list_parts(environment, [cpp, tsan], [cpp])
    first, second = capsys.readouterr().out.splitlines()
    assert re.search(r"^  cpp +short +0 s +passed +of a test$", first)
    assert re.search(r"^  tsan +--all +of a test$", second)


def test_a_part_has_a_name_of_its_own_that_can_be_a_file():
    names = [each.name for each in PARTS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)


def test_the_long_run_has_all_that_the_short_one_has():
    """The Python tests as a whole, where the short run takes each runtime's own."""
    short = {each.name.replace("python-", "whole-") for each in parts.of(SHORT)}
    assert short < {each.name for each in parts.of(LONG)}


def test_parts_are_found_by_name():
    assert [each.name for each in parts.named(["tsan", "cpp"])] == ["cpp", "tsan"]
    with pytest.raises(console.WrongUsage, match=r"no part vallgrind\."):
        parts.named(["vallgrind"])


def test_the_long_run_tests_the_newest_torch_as_ci_does(environment, monkeypatch):
    ran = []
    done = SimpleNamespace(stdout="a table\n\nall passed\n")
    monkeypatch.setattr(shell, "run", lambda log, command: ran.append(command) or done)
    [newest] = parts.named(["newest-torch"])
    work = parts.Work(environment, environment.build)
    assert newest.runs == {LONG} and newest.run(work) == "all passed"
    assert ran[0][1:] == [ROOT / "dev", "test", "--torch", "2.15.0"]
    environment.torch = "2.15.0"
    with pytest.raises(console.NotRun):
        newest.run(work)
