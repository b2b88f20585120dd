"""./dev gpu's part in Python: all cores, what is left out, and a second try for what failed."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import console, gpu
from dev.environment import Environment
from dev.gpu import bench, needs, python
from dev.gpu.device import Devices
from dev.gpu.results import Failed, Results
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
def work(tmp_path):
    """The part python, over the tests in `tests`, with what is `lacking`."""

    def make(tests=None, *, lacking=("xdist",), devices=None, limit=None):
        folder = tmp_path / "tests"
        folder.mkdir(exist_ok=True)
        (folder / "pytest.ini").write_text("[pytest]\n")
        for name, text in (tests or {}).items():
            (folder / f"test_{name}.py").write_text(text)
        environment = Environment(Path(sys.executable), "2.13.0", tmp_path / "build")
        request = gpu.Request(["python"], tmp_path, limit, False, [str(folder)])
        found = needs.Provisions([], [], {}, {}, set(lacking), None)
        work = Work(environment, request, found, devices, Results(tmp_path, {}))
        work.begin("python")
        return work

    return make


def test_each_test_is_in_the_log(work):
    it = work({"good": GOOD})
    outcome = python.python(it)
    assert outcome.figures["tests"] == {"passed": 1}
    assert re.search(r"test_good.py::test_good PASSED", it.log.read_text())


def test_what_fails_beside_others_runs_by_itself(work):
    it = work({"good": GOOD, "shy": SHY})
    outcome = python.python(it)
    [shy] = outcome.figures["passed alone"]
    assert shy.endswith("test_shy")
    assert outcome.figures["failed"] == []
    assert outcome.note == "1 failed, 1 passed; by itself 1 of 1 pass"


def test_what_fails_by_itself_too_fails(work):
    with pytest.raises(Failed) as caught:
        python.python(work({"good": GOOD, "bad": BAD, "shy": SHY}))
    [bad] = caught.value.figures["failed"]
    assert bad.endswith("test_bad")
    assert caught.value.note == "2 failed, 1 passed; by itself 1 of 2 pass"


def test_what_failed_in_an_earlier_run_is_forgotten(work, tmp_path):
    with pytest.raises(Failed):
        python.python(work({"good": GOOD, "bad": BAD}))
    (tmp_path / "tests/test_bad.py").unlink()
    assert python.python(work()).figures["failed"] == []


def test_many_failures_are_not_tried_again(work):
    many = "".join(f"def test_{i}(): assert False\n" for i in range(python._FEW + 1))
    with pytest.raises(Failed) as caught:
        python.python(work({"many": many}))
    assert len(caught.value.figures["failed"]) == python._FEW + 1
    assert "by itself" not in caught.value.note


def test_a_file_that_cannot_be_imported_stops_no_other(work):
    with pytest.raises(Failed) as caught:
        python.python(work({"good": GOOD, "broken": "import nothing_like_this\n"}))
    assert caught.value.figures["tests"]["passed"] == 1


def test_a_hanging_test_leaves_the_earlier_ones_in_the_log(work):
    it = work({"a": GOOD, "b": "import time\ndef test_hangs(): time.sleep(600)\n"}, limit=10)
    with pytest.raises(Failed, match="not done after 10 s"):
        python.python(it)
    assert "test_good PASSED" in it.log.read_text()


def test_there_are_as_many_processes_as_cores_and_room_on_the_device(work, monkeypatch):
    monkeypatch.setattr(Environment, "jobs", 16)
    assert python._processes(work()) == []
    assert python._processes(work(lacking=())) == ["-n", "16"]
    for gibibytes, count in ((139, "16"), (16, "8"), (1, "1")):
        devices = Devices("one", gibibytes << 30)
        assert python._processes(work(lacking=(), devices=devices)) == ["-n", count]


def test_options_choose_among_all_tests(work):
    def selection(*options, left_out=()):
        it = SimpleNamespace(request=SimpleNamespace(pytest=options))
        return python._selection(it, left_out)

    assert selection() == ["tests/python"]
    assert selection("-k", "memory") == ["-k", "memory", "tests/python"]
    assert selection("tests/python/memory") == ["tests/python/memory"]
    assert selection("tests/python/test_fork.py::test_x") == ["tests/python/test_fork.py::test_x"]
    assert selection(left_out=["a.py"]) == ["--ignore=tests/python/a.py", "tests/python"]


# ---- Figures


def test_each_call_stands_beside_cudas_own():
    def median(name, time):
        return {"run_name": name, "real_time": time, "aggregate_name": "median"}

    rows = bench.rows_of(
        [
            median("alloc/runtime/64", 300.0),
            {"run_name": "alloc/runtime/64", "real_time": 1.0, "aggregate_name": "mean"},
            median("alloc/cuda/64", 200.0),
        ]
    )
    assert rows == [("alloc/64", 300.0, 200.0)]
    assert bench.table_of(rows)[-1] == "| alloc/64 | 300 ns | 200 ns | 1.50 |"


# ---- The demo's data


def test_the_digits_are_the_same_from_scikit_learns_file(monkeypatch):
    import torch

    datasets = pytest.importorskip("sklearn.datasets")
    monkeypatch.syspath_prepend(ROOT / "examples/train_digits")
    import digits

    installed = digits.load(seed=1)
    monkeypatch.setenv(digits.FILE, str(Path(datasets.__file__).parent / "data/digits.csv.gz"))
    for ours, theirs in zip(digits.load(seed=1), installed, strict=True):
        assert torch.equal(ours.images, theirs.images)
        assert torch.equal(ours.labels, theirs.labels)
        assert ours.labels.dtype == theirs.labels.dtype


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


def test_a_failure_is_told_even_if_the_run_has_no_end(work):
    it = work({"bad": BAD, "later": "import os\ndef test_later(): os._exit(1)\n"})
    with pytest.raises(Failed):
        python.python(it)
    log = it.log.read_text()
    assert "FAILURES" not in log
    assert "E   assert False" in log
