"""The benchmark measures what it says, and runs to its end."""

import importlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_runtime

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def bench():
    """Imports the benchmark's modules, which are programs and no package."""
    programs = {file.stem for file in BENCH.glob("*.py")}
    # A folder of tests may have the name of one.
    others = {name: sys.modules.pop(name) for name in programs if name in sys.modules}
    sys.path.insert(0, os.fspath(BENCH))
    yield importlib.import_module
    sys.path.remove(os.fspath(BENCH))
    for name in programs:
        sys.modules.pop(name, None)
    sys.modules.update(others)


@pytest.fixture
def timing(bench):
    return bench("timing")


@pytest.mark.parametrize(("times", "low", "high"), [(1, 0.7, 1.4), (4, 2.8, 5.6)])
def test_the_ratio_is_that_of_the_work(timing, times, low, high):
    def work(count):
        return timing.Code("sum(numbers)", {"numbers": range(count)})

    measured = timing.paired(work(times * 2000), work(2000), seconds=0.3)
    assert low < measured.ratio < high
    assert measured.ratio_low <= measured.ratio <= measured.ratio_high


class Steps:
    """Takes the seconds of one after the other, and begins anew."""

    def __init__(self, *seconds):
        self.seconds = itertools.cycle(seconds)

    def compiled(self):
        return lambda count: count * next(self.seconds)


@pytest.mark.parametrize(
    ("steps", "is_sure"), [((1.0,), True), ((1.0, 1.004), True), ((0.9, 1.1), False)]
)
def test_a_ratio_that_is_not_sure_takes_more_rounds(timing, steps, is_sure):
    measured = timing.paired(Steps(*steps), Steps(1.0), seconds=0)
    assert measured.rounds == timing.MIN_ROUNDS * (1 if is_sure else timing.PATIENCE)
    assert measured.ratio == pytest.approx(1, abs=0.005)


def test_each_round_waits_for_enqueued_work(timing):
    settled = []
    timing.alone(timing.Code("pass", {}, settle=lambda: settled.append(1)), seconds=0.01)
    assert len(settled) > timing.MIN_ROUNDS


@pytest.mark.parametrize(
    ("ratio", "limit", "too_slow"), [(1.5, 1.0, True), (0.9, 1.0, False), (9.0, None, False)]
)
def test_a_row_beyond_its_limit_fails_the_run(bench, capsys, ratio, limit, too_slow):
    from rich.console import Console

    measured = bench("timing").Measurement(1.0, 1.0, ratio, ratio, ratio, 9)
    row = bench("rows").Row("a row", "its reference", measured, limit=limit)
    sections = [bench("rows").Section("a section", [row])]
    assert bench("run")._judge(Console(width=200), sections) == int(too_slow)
    assert ("too slow: a row takes 1.50 of its reference" in capsys.readouterr().out) == too_slow


def test_a_mean_beyond_its_limit_fails_the_run(bench, capsys):
    from rich.console import Console

    measured = bench("timing").Measurement(1.0, 1.0, 1.2, 1.2, 1.2, 9)
    rows = [bench("rows").Row("a row", "its reference", measured)] * 2
    for limit, code in ((1.1, 1), (1.3, 0)):
        section = bench("rows").Section("a section", rows, True, limit)
        assert bench("run")._judge(Console(width=200), [section]) == code
    assert "too slow: a section have a geometric mean of 1.20" in capsys.readouterr().out


def test_a_link_has_a_bandwidth_where_more_bytes_took_longer(bench):
    distributed, row = bench("distributed"), bench("rows").Row

    def constants(ns):
        times = {"all_reduce, 16 bytes": 200.0, "all_reduce, 2 MiB": ns}
        rows = [row(name, "", distributed._once(time)) for name, time in times.items()]
        return [
            (row.name.split(",")[0], row.measured.ns, row.bytes)
            for row in distributed._constants("staged", 2, rows)
        ]

    assert constants(1000.0) == [("alpha", 100.0, None), ("beta", 400.0, 1 << 20)]
    assert constants(150.0) == [("alpha", 100.0, None)]


def test_it_runs_to_its_end_and_writes_what_it_prints(bench, tmp_path):
    # A copy of its folder, since results are written beside it.
    copy = tmp_path / "bench"
    copy.mkdir()
    for name in ("conformance", "examples"):
        (tmp_path / name).symlink_to(BENCH.parent / name)
    for file in BENCH.glob("*.py"):
        (copy / file.name).write_text(file.read_text())
    command = [sys.executable, copy / "run.py", "--seconds", "0.01", "--rounds", "2"]
    command += ["--sizes", "4", "--batches", "1", "--operators", "logsumexp", "--mebibytes", "1"]
    command += ["--waited-mebibytes", "1", "--reduced-mebibytes", "1", "--processes", "2"]
    command += ["--save", "test"]
    done = subprocess.run(command, capture_output=True, text=True)
    # In so short a time a limit may be missed.
    assert done.returncode == int("too slow:" in done.stdout), done.stdout + done.stderr
    backend = bench("backend").Backend.load("torch_acme", "acme")
    (written,) = (copy / "results").glob("*-test.json")
    sections = json.loads(written.read_text())["sections"]
    # One more over copies, the fallback's; and in place, if the staged way can be chosen.
    has_one_more = not backend.is_in_place or backend.is_host_runtime
    assert len(sections) == 14 + has_one_more
    assert all(row["measured"]["ns"] > 0 for section in sections for row in section["rows"])
    for section in sections:
        assert section["title"] in done.stdout
