"""./dev gpu's part in Python: all cores, what is left out, and a second try for what failed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import console, gpu
from dev.environment import Environment
from dev.gpu import bench, parts
from dev.gpu.work import Work

# Fails beside others, as what counts the free memory of a device does.
SHY = """
import os
from pathlib import Path

def test_shy():
    seen = Path(__file__).with_name("seen")
    first = not seen.exists()
    seen.touch()
    assert not first
"""
GOOD = "def test_good(): pass\n"
BAD = "def test_bad(): assert False\n"


@pytest.fixture
def work(tmp_path, monkeypatch):
    """The part python, over the tests in `tests`, in one process."""
    monkeypatch.setattr(Environment, "jobs", 1)

    def make(tests, *, limit=None):
        folder = tmp_path / "tests"
        folder.mkdir(exist_ok=True)
        (folder / "pytest.ini").write_text("[pytest]\n")
        for name, text in tests.items():
            (folder / f"test_{name}.py").write_text(text)
        environment = Environment(Path(sys.executable), "2.13.0", tmp_path / "build")
        request = gpu.Request(["python"], tmp_path, limit, False, [str(folder)])
        work = Work(environment, request, "one", None)
        work.begin("python")
        return work

    return make


def test_each_test_is_in_the_log(work):
    it = work({"good": GOOD})
    assert re.fullmatch("1 passed in .*", parts._python(it))
    assert re.search(r"test_good.py::test_good PASSED", it.log.read_text())


def test_what_fails_beside_others_runs_by_itself(work):
    note = parts._python(work({"good": GOOD, "shy": SHY}))
    assert re.fullmatch(r"1 failed, 1 passed in .*; once more by themselves: 1 passed.*", note)


def test_what_fails_by_itself_too_fails(work):
    it = work({"good": GOOD, "bad": BAD, "shy": SHY})
    with pytest.raises(console.Failure, match="exit code 1"):
        parts._python(it)
    assert "1 failed, 1 passed" in it.log.read_text()


def test_what_failed_in_an_earlier_run_is_forgotten(work, tmp_path):
    with pytest.raises(console.Failure):
        parts._python(work({"good": GOOD, "bad": BAD}))
    (tmp_path / "tests/test_bad.py").unlink()
    assert "once more" not in parts._python(work({}))


def test_many_failures_are_not_tried_again(work):
    many = "".join(f"def test_{i}(): assert False\n" for i in range(parts._FEW + 1))
    it = work({"many": many})
    with pytest.raises(console.Failure):
        parts._python(it)
    assert "--last-failed" not in it.log.read_text()


def test_a_file_that_cannot_be_imported_stops_no_other(work):
    it = work({"good": GOOD, "broken": "import nothing_like_this\n"})
    with pytest.raises(console.Failure, match="nothing_like_this"):
        parts._python(it)
    assert "test_good.py::test_good" in it.log.read_text()


def test_a_hanging_test_leaves_the_earlier_ones_in_the_log(work):
    it = work({"a": GOOD, "b": "import time\ndef test_hangs(): time.sleep(600)\n"}, limit=10)
    with pytest.raises(console.Failure, match="not done after 10 s"):
        parts._python(it)
    assert "test_good" in it.log.read_text()


def test_a_failure_is_told_even_if_the_run_has_no_end(work):
    it = work({"bad": BAD, "later": "import time\ndef test_later(): time.sleep(600)\n"}, limit=10)
    with pytest.raises(console.Failure):
        parts._python(it)
    log = it.log.read_text()
    assert "FAILURES" not in log
    assert "E   assert False" in log


def test_there_are_as_many_processes_as_cores_and_room_on_the_device(work, monkeypatch):
    it = work({})
    monkeypatch.setattr(Environment, "jobs", 16)
    assert parts._processes(it) == ["-n", "16"]
    for gibibytes, options in ((139, ["-n", "16"]), (16, ["-n", "8"]), (1, [])):
        it.memory = gibibytes << 30
        assert parts._processes(it) == options


def test_options_choose_among_all_tests(work, monkeypatch):
    def chosen(*options):
        it = work({})
        it.request = gpu.Request(["python"], it.request.out, None, False, options)
        seen = []
        done = subprocess.CompletedProcess([], 0, "")
        monkeypatch.setattr(parts, "_pytest", lambda _, *words: seen.append(words) or done)
        parts._python(it)
        return list(seen[0][1:])

    assert chosen() == ["tests/python"]
    assert chosen("-k", "memory") == ["-k", "memory", "tests/python"]
    assert chosen("tests/python/memory") == ["tests/python/memory"]
    assert chosen("tests/python/test_fork.py::test_x") == ["tests/python/test_fork.py::test_x"]


# ---- Figures


def test_each_call_stands_beside_cudas_own():
    def median(name, time):
        return {"run_name": name, "real_time": time, "aggregate_name": "median"}

    rows = bench.table_of(
        [
            median("alloc/runtime/64", 300.0),
            {"run_name": "alloc/runtime/64", "real_time": 1.0, "aggregate_name": "mean"},
            median("alloc/cuda/64", 200.0),
        ]
    )
    assert rows[2:] == ["| alloc/64 | 300 ns | 200 ns | 1.50 |"]


# ---- The command line


def test_an_option_that_nobody_knows_is_no_pytest_option(capsys, monkeypatch):
    from dev import cli

    monkeypatch.setattr(sys, "argv", ["dev", "gpu", "--system-torch", "--onyl", "suite"])
    assert cli.main() == 1
    assert "unrecognized arguments: --onyl suite" in capsys.readouterr().err


def test_a_part_that_nobody_knows_is_refused(capsys, monkeypatch):
    from dev import cli

    monkeypatch.setattr(sys, "argv", ["dev", "gpu", "--only", "suite,tset"])
    assert cli.main() == 1
    assert "No part of ./dev gpu: tset." in capsys.readouterr().err


def test_what_comes_after_two_dashes_is_for_pytest(monkeypatch):
    from dev import cli

    seen = []
    monkeypatch.setattr(gpu, "run", lambda _, request: seen.append(request) or 0)
    monkeypatch.setattr(console, "title", lambda _: None)
    words = ["dev", "gpu", "--system-torch", "--only", "python", "--", "-k", "memory"]
    monkeypatch.setattr(sys, "argv", words)
    assert cli.main() == 0
    assert seen[0].pytest == ["-k", "memory"]
    assert seen[0].only == ["python"]
