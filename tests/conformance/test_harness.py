"""The harness's own tests: every way to be wrong is found, named, and pinned on its operator."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from opinfo import catalog, gate, results
from opinfo.settings import PHASES, Settings, Shard
from opinfo.supervisor import Supervisor, WorkerFailed

HERE = Path(__file__).parent
BROKEN = "broken_ops:op_db"


def run(timeout: float = 10, **settings) -> dict:
    settings = Settings(device="cpu", op_db=BROKEN, **settings)
    outcome = Supervisor(settings, jobs=2, timeout=timeout, progress=lambda *_: None).run()
    return results.build(outcome, settings, "test")


def command(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, str(HERE / "run.py"), "--device", "cpu", "--jobs", "1", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"COLUMNS": "200"},
    )


@pytest.fixture(scope="session")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """One run of everything, shared by the processes of pytest-xdist: crashes take seconds."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with open(shared / "harness.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = shared / "harness.json"
        if not file.exists():
            results.save(run(), file)
        return results.load(file)


@pytest.mark.parametrize(
    ("op", "status", "says"),
    [
        ("wrong_value", "failed", "Mismatched elements: 1 / 4"),
        ("wrong_device", "failed", "on meta, not on cpu"),
        ("wrong_dtype", "failed", "dtype torch.float64, on the CPU torch.float32"),
        ("wrong_shape", "failed", "shape (4,), on the CPU (2, 2)"),
        ("wrong_layout", "failed", "layout torch.sparse_coo"),
        ("wrong_structure", "failed", "structure"),
        ("a_view_made_a_copy", "failed", "aliasing"),
        ("a_copy_made_a_view", "failed", "aliasing"),
        ("changes_its_argument", "failed", "argument after the call"),
        ("wrong_exception", "failed", "NotImplementedError: no kernel"),
        ("aborts", "crashed", "SIGABRT"),
        ("segfaults", "crashed", "SIGSEGV"),
        ("exits", "crashed", "exit status 3"),
        ("hangs", "timed_out", "no end after 10 s"),
    ],
)
def test_a_wrong_operator_is_reported_as_what_it_is(document, op, status, says):
    entry = document["ops"][op]["forward"]
    assert entry["status"] == status
    assert entry["sample"] == 1
    assert says in entry["error"]


@pytest.mark.parametrize(
    ("op", "phase", "says"),
    [
        ("wrong_gradient", "backward", "gradient: Mismatched elements: 4 / 4"),
        ("no_gradient", "backward", "no result that requires a gradient, on the CPU there is one"),
        ("inplace_does_nothing", "inplace", "Mismatched elements: 4 / 4"),
        ("inplace_returns_a_copy", "inplace", "aliasing"),
        ("out_is_ignored", "out", "out= empty: shape (0,), on the CPU (2, 2)"),
        ("out_is_not_returned", "out", "what is returned is not what was passed"),
        ("out_gets_other_memory", "out", "out= transposed: other strides than on the CPU"),
    ],
)
def test_a_phase_fails_alone(document, op, phase, says):
    entry = document["ops"][op]
    assert entry["forward"]["status"] == "passed"
    assert entry[phase]["status"] == "failed"
    assert says in entry[phase]["error"]


def test_every_right_operator_passes_in_spite_of_the_crashes_around_it(document):
    for op in ("a_right_one", "z_right_one"):
        for phase in PHASES:
            assert document["ops"][op][phase] == {"status": "passed", "samples": 3}


def test_a_crash_in_backward_leaves_the_forward_result(document):
    entry = document["ops"]["aborts_in_backward"]
    assert entry["forward"]["status"] == "passed"
    assert entry["backward"]["status"] == "crashed"
    assert entry["backward"]["sample"] == 1


def test_other_strides_pass_and_are_noted(document):
    assert document["ops"]["other_strides"]["forward"]["status"] == "passed"
    assert document["ops"]["other_strides"]["forward"]["other_strides"] is True


def test_an_operator_cannot_forge_events_by_printing(document):
    assert document["ops"]["prints"]["forward"]["status"] == "passed"
    assert "forged" not in document["ops"]


def test_an_operator_without_the_dtype_runs_with_another(document):
    assert document["ops"]["integers_only"]["dtype"] == "int64"
    assert document["ops"]["integers_only"]["forward"]["status"] == "failed"
    assert document["ops"]["no_dtype"]["forward"]["status"] == "unsupported_dtype"


def test_where_the_cpu_raises_nothing_is_claimed(document):
    entry = document["ops"]["cpu_raises"]["forward"]
    assert entry["status"] == "skipped"
    assert "not on the CPU either" in entry["reason"]


def test_the_denominators_add_up(document):
    of = document["denominators"]
    total = len(document["ops"])
    assert of["op_db"] == of["selected"] == total
    assert of["float32"] + of["other_dtype"] + of["no_dtype"] == total
    for phase in PHASES:
        counts = document["counts"][phase]
        assert sum(counts.values()) - counts["unsupported_dtype"] == of[phase]


def test_shards_are_disjoint_and_complete():
    settings = [Settings(device="cpu", op_db=BROKEN, shard=Shard(i, 3)) for i in (1, 2, 3)]
    everything = catalog.load(settings[0])
    parts = [{op.name for op in catalog.select(everything, part)} for part in settings]
    assert sum(map(len, parts)) == len(set.union(*parts)) == len(everything)


def test_a_backend_that_cannot_be_imported_is_not_a_result():
    with pytest.raises(WorkerFailed, match="no_such_backend"):
        run(imports=("no_such_backend",))


def test_an_unknown_operator_is_named():
    with pytest.raises(WorkerFailed, match="no such operator: no_such_op"):
        run(ops=("no_such_op",))


def test_the_file_is_the_same_each_time_and_refuses_edits(tmp_path):
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for file in files:
        done = command("--op-db", BROKEN, "--ops", "a_right_one,wrong_value", "--out", str(file))
        assert done.returncode == 0, done.stderr
    assert files[0].read_text() == files[1].read_text()
    results.load(files[0])
    files[0].write_text(files[0].read_text().replace('"failed"', '"passed"'))
    with pytest.raises(results.NotOurs, match="edited"):
        results.load(files[0])


def test_the_gate_fails_on_a_regression_and_only_then(tmp_path, document):
    committed = tmp_path / "committed.json"
    results.save(document, committed)
    assert not gate.compare(results.load(committed), document).regressions
    assert (
        command("--op-db", BROKEN, "--ops", "a_right_one", "--check", str(committed)).returncode
        == 0
    )

    document = json.loads(json.dumps(document))
    document["ops"]["wrong_value"]["forward"]["status"] = "passed"
    results.save(document, committed)
    failed = command("--op-db", BROKEN, "--ops", "wrong_value", "--check", str(committed))
    assert failed.returncode == 1
    assert "regression wrong_value, forward: passed, now failed" in failed.stdout


def test_the_gate_refuses_results_of_another_torch(document):
    other = json.loads(json.dumps(document))
    other["versions"]["torch"] = "1.0"
    with pytest.raises(gate.NotComparable, match=r"of torch 1\.0"):
        gate.compare(other, document)


def test_an_operator_that_is_gone_is_a_regression(document):
    now = json.loads(json.dumps(document))
    del now["ops"]["a_right_one"]
    assert [change.op for change in gate.compare(document, now).regressions] == [
        "a_right_one"
    ] * len(PHASES)
