"""The harness's own tests: every way to be wrong is found, named, and pinned on its operator."""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from conformance import suite_settings
from conformance.opinfo import catalog, cli, compact, gate, listing, results
from conformance.opinfo.calls import SameRefusal, Sides
from conformance.opinfo.comparing import Mismatch
from conformance.opinfo.run import run as run_samples
from conformance.opinfo.settings import PHASES, SHARED, Settings, Shard
from conformance.opinfo.subjects import key_of
from conformance.run import Servers
from conformance.running import fork_server as fork_server_process
from conformance.running.forked import ForkServer
from conformance.running.refused import WorkerFailed
from conformance.running.supervisor import Supervisor
from conformance.suite_settings import SuiteSettings
from conformance.tolerance import of_option

HERE = Path(__file__).parent
BROKEN = {
    "op_db": "broken_ops:op_db",
    "module_db": "broken_modules:module_db",
    "optim_db": "broken_optimizers:optim_db",
}
OPTIONS = [f"--{name.replace('_', '-')}={address}" for name, address in BROKEN.items()]
OP_PHASES = PHASES["ops"]


@pytest.fixture(scope="session")
def server(servers: Servers) -> ForkServer:
    return servers.of(SHARED)


def run(server: ForkServer, timeout: float = 10, jobs: int = 2, **settings) -> dict:
    settings = Settings(**{"device": "cpu", **BROKEN, **settings})
    outcome = run_samples(settings, jobs, timeout, lambda *_: None, server)
    return results.build(outcome, settings, "test")


@pytest.fixture
def command(server, capsys) -> Callable[..., tuple[int, str]]:
    """The command in this process: its exit code, and what it prints."""

    def call(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(["--device=cpu", "--jobs=1", *OPTIONS, *arguments], server)
        return ended.value.code, capsys.readouterr().out

    return call


@pytest.fixture(scope="session")
def document(server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """One run of everything, shared by the processes of pytest-xdist: it takes a while."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with open(shared / "harness.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = shared / "harness.json"
        if not file.exists():
            # Whole: a result file says less of the passes.
            file.write_text(json.dumps(run(server)))
        return json.loads(file.read_text())


def op_entry(document: dict, op: str, phase: str, dtype: str = "float32") -> dict:
    return document["ops"][op][dtype][phase]


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
    entry = op_entry(document, op, "forward")
    assert entry["status"] == status
    assert entry["sample"] == 1
    assert says in entry["error"]


@pytest.mark.parametrize(
    ("op", "phase", "says"),
    [
        ("wrong_gradient", "backward", "gradient: Mismatched elements: 4 / 4"),
        ("wrong_tangent", "forward_ad", "tangent: Mismatched elements: 4 / 4"),
        ("no_gradient", "backward", "no result that requires a gradient, on the CPU there is one"),
        ("inplace_does_nothing", "inplace", "Mismatched elements: 4 / 4"),
        ("inplace_returns_a_copy", "inplace", "aliasing"),
        ("out_is_ignored", "out", "out= empty: shape (0,), on the CPU (2, 2)"),
        ("out_is_not_returned", "out", "what is returned is not what was passed"),
        ("out_gets_other_memory", "out", "out= transposed: other strides than on the CPU"),
    ],
)
def test_a_phase_fails_alone(document, op, phase, says):
    entry = document["ops"][op]["float32"]
    assert entry["forward"]["status"] == "passed"
    assert entry[phase]["status"] == "failed"
    assert says in entry[phase]["error"]


@pytest.mark.parametrize(
    ("op", "phase"),
    [
        ("cpu_rounds", "forward"),
        ("rounds_less_than_the_cpu", "forward"),
        ("right_where_the_cpu_is_infinite", "forward"),
        ("cpu_rounds_gradients", "backward"),
    ],
)
def test_what_is_as_near_to_float64_as_the_cpu_passes_and_is_noted(document, op, phase):
    entry = op_entry(document, op, phase)
    assert entry["status"] == "passed", entry
    assert "as near to float64" in entry["by_float64"]


@pytest.mark.parametrize(
    ("op", "phase"),
    [
        ("rounds_more_than_the_cpu", "forward"),
        ("rounds_where_the_cpu_is_exact", "forward"),
        ("off_where_the_cpu_is_off_once", "forward"),
        ("off_where_the_cpu_is_infinite", "forward"),
        ("rounds_gradients_more", "backward"),
        ("wrong_where_the_cpu_does_not_write", "out"),
    ],
)
def test_what_is_farther_from_float64_than_the_cpu_fails(document, op, phase):
    entry = op_entry(document, op, phase)
    assert entry["status"] == "failed"
    assert "Mismatched elements" in entry["error"] and "by_float64" not in entry


def test_out_that_the_cpu_leaves_unwritten_is_judged_by_what_it_returns(document):
    entry = op_entry(document, "written_where_the_cpu_does_not", "out")
    assert entry["status"] == "passed", entry
    assert "does not write into out=" in entry["functional_form"]


def test_a_tolerance_loosens_one_operator_and_is_noted_where_it_was_needed(server):
    names = ("rounds_more_than_the_cpu", "rounds_where_the_cpu_is_exact", "a_right_one")
    given = tuple(of_option(f"{name}=0,1e-2") for name in (names[0], names[2]))
    found = run(server, ops=names, tolerances=given, kinds=("ops",))
    entry = op_entry(found, names[0], "forward")
    assert entry["status"] == "passed" and "rounds_more_than_the_cpu=0,0.01" in entry["loosened"]
    assert op_entry(found, names[1], "forward")["status"] == "failed"
    assert "loosened" not in op_entry(found, names[2], "forward")


def test_every_right_operator_passes_in_spite_of_the_crashes_around_it(document):
    for op in ("a_right_one", "z_right_one"):
        for phase in OP_PHASES:
            assert op_entry(document, op, phase) == {"status": "passed", "samples": 3}


def test_a_crash_in_backward_leaves_the_forward_result(document):
    entry = document["ops"]["aborts_in_backward"]["float32"]
    assert entry["forward"]["status"] == "passed"
    assert entry["backward"]["status"] == "crashed"
    assert entry["backward"]["sample"] == 1


def test_other_strides_pass_and_are_noted(document):
    entry = op_entry(document, "other_strides", "forward")
    assert entry["status"] == "passed"
    assert entry["other_strides"] is True


def test_an_operator_cannot_forge_events_by_printing(document):
    assert op_entry(document, "prints", "forward")["status"] == "passed"
    assert "forged" not in document["ops"]


def test_an_operator_without_the_dtype_runs_with_another(document):
    assert list(document["ops"]["halves_only"]) == ["float16"]
    assert op_entry(document, "halves_only", "forward", "float16")["status"] == "failed"
    assert document["ops"]["no_dtype"] == {"none": {"forward": {"status": "unsupported_dtype"}}}


def test_an_operator_runs_with_every_dtype_that_it_claims(document):
    assert list(document["ops"]["wrong_with_bfloat16"]) == ["float32", "bfloat16"]
    assert op_entry(document, "wrong_with_bfloat16", "forward")["status"] == "passed"
    assert op_entry(document, "wrong_with_bfloat16", "forward", "bfloat16")["status"] == "failed"


@pytest.mark.parametrize(
    ("op", "phase", "says"),
    [
        ("wrong_with_gaps", "noncontiguous", "Mismatched elements: 4 / 4"),
        ("wrong_gradient_with_gaps", "noncontiguous", "gradient: Mismatched elements: 4 / 4"),
        ("wrong_with_nothing", "empty", "Expected 0.0 but got 1.0"),
        ("wrong_without_dimensions", "zero_dim", "Expected 2.0 but got 3.0"),
        ("wrong_with_negated", "conj_neg", "Mismatched elements: 4 / 4"),
    ],
)
def test_a_sample_in_another_form_fails_alone(document, op, phase, says):
    others = {"forward", "noncontiguous", "empty", "zero_dim", "conj_neg"} - {phase}
    assert {op_entry(document, op, other)["status"] for other in others} == {"passed"}
    assert op_entry(document, op, phase)["status"] == "failed"
    assert says in op_entry(document, op, phase)["error"]


def test_a_form_that_the_first_samples_cannot_have_is_searched_for_in_others(document):
    assert op_entry(document, "wrong_with_nothing_later", "forward")["status"] == "passed"
    assert op_entry(document, "wrong_with_nothing_later", "empty")["status"] == "failed"


def test_raising_as_the_cpu_does_is_counted(document):
    entry = op_entry(document, "cpu_raises", "forward")
    assert entry["status"] == "refused"
    assert entry["samples"] == 3
    assert "not on the CPU either" in entry["reason"]
    assert op_entry(document, "cpu_raises_on_nothing", "forward")["status"] == "passed"
    assert op_entry(document, "cpu_raises_on_nothing", "empty")["status"] == "refused"


@pytest.mark.parametrize(
    ("op", "says"),
    [
        ("only_cpu_raises", "gives an answer; the CPU raises RuntimeError"),
        ("raises_another_type", "raises ValueError: not here; the CPU raises RuntimeError"),
    ],
)
def test_an_answer_or_another_exception_where_the_cpu_raises_is_a_failure(document, op, says):
    assert op_entry(document, op, "forward")["status"] == "failed"
    assert says in op_entry(document, op, "forward")["error"]


@pytest.mark.parametrize(
    ("error", "verdict"), [(torch.AcceleratorError("outside", 1), SameRefusal), (None, Mismatch)]
)
def test_a_device_may_say_later_what_the_cpu_refuses(monkeypatch, error, verdict):
    def wait(_device):
        if error:
            raise error

    def refuse():
        raise IndexError("outside")

    monkeypatch.setattr(torch.accelerator, "synchronize", wait)
    sides = Sides(lambda _side: None, torch.device("meta"))
    with pytest.raises(verdict, match="the CPU raises IndexError"):
        sides.both(refuse, lambda: None)


def test_a_crash_of_the_cpu_is_not_the_devices(document):
    entry = op_entry(document, "cpu_aborts", "forward")
    assert entry == {"status": "skipped", "reason": "the CPU crashes: SIGABRT", "sample": 1}
    assert op_entry(document, "cpu_aborts", "zero_dim")["status"] == "passed"


def test_a_result_on_the_wrong_device_is_marked(document):
    assert op_entry(document, "wrong_device", "forward")["wrong_device"] is True
    assert "wrong_device" not in op_entry(document, "wrong_value", "forward")


@pytest.mark.parametrize(
    ("module", "phase", "says"),
    [
        ("WrongResult", "forward", "result: Mismatched elements: 3 / 3"),
        ("WrongInEvaluation", "forward", "result: Mismatched elements: 3 / 3"),
        ("WrongParameterGradient", "backward", "gradient of a parameter"),
        ("WrongArgumentGradient", "backward", "gradient of an argument"),
        ("WrongState", "forward", "state after the call"),
        ("CreatedElsewhere", "created", "created with device=: calls on meta"),
    ],
)
def test_a_wrong_module_is_reported_as_what_it_is(document, module, phase, says):
    entries = document["modules"][module]["float32"]
    assert entries[phase]["status"] == "failed"
    assert says in entries[phase]["error"]


def test_a_module_is_called_in_both_modes(document):
    entries = document["modules"]
    assert entries["Right"]["float32"] == {
        phase: {"status": "passed", "samples": 2} for phase in PHASES["modules"]
    }
    assert entries["WrongResult"]["float32"]["forward"]["sample"] == 1
    assert entries["WrongInEvaluation"]["float32"]["forward"]["sample"] == 2


def test_a_crash_of_a_module_is_pinned_on_it(document):
    assert document["modules"]["Aborts"]["float32"]["forward"]["status"] == "crashed"


@pytest.mark.parametrize(
    ("optimizer", "says"),
    [
        ("WrongStep", "parameters (momentum) 0: Mismatched elements"),
        ("WrongState", "state (momentum): structure"),
        ("StateElsewhere", "on meta, not on cpu"),
        ("Raises", "NotImplementedError: no kernel"),
    ],
)
def test_a_wrong_optimizer_is_reported_as_what_it_is(document, optimizer, says):
    for implementation in ("forloop", "foreach"):
        entry = document["optimizers"][optimizer]["float32"][implementation]
        assert entry["status"] == "failed"
        assert says in entry["error"]


def test_a_right_optimizer_passes_with_the_implementations_that_it_has(document):
    passed = {"status": "passed", "samples": 1}
    right = document["optimizers"]["RightOne"]["float32"]
    assert right == {"forloop": passed, "foreach": passed}


def test_the_denominators_add_up(document):
    for kind, of in document["denominators"].items():
        section = document[kind]
        assert of["described"] == of["selected"] == len(section)
        assert sum(of["dtypes"].values()) == sum(map(len, section.values()))
        total = document["counts"][kind]["total"]
        for phase in PHASES[kind]:
            counts = total[phase]
            assert sum(counts.values()) - counts["unsupported_dtype"] == of["phases"][phase]
            by_dtype = [document["counts"][kind][dtype][phase] for dtype in of["dtypes"]]
            assert counts == {
                status: sum(numbers[status] for numbers in by_dtype) for status in counts
            }


def test_shards_are_disjoint_and_complete():
    settings = [Settings(device="cpu", **BROKEN, shard=Shard(i, 3)) for i in (1, 2, 3)]
    everything = catalog.load(settings[0])
    parts = [set(map(key_of, catalog.select(everything, part))) for part in settings]
    assert sum(map(len, parts)) == len(set.union(*parts)) == len(everything)


def test_a_backend_that_cannot_be_imported_is_not_a_result(server):
    with pytest.raises(WorkerFailed, match="no_such_backend"):
        run(server, imports=("no_such_backend",))


def test_an_unknown_operator_is_named(server):
    with pytest.raises(WorkerFailed, match="no such operator, module or optimizer: no_such_op"):
        run(server, ops=("no_such_op",))


def test_a_worker_has_the_backend_that_torch_loads_by_itself(server):
    entry = op_entry(run(server, device="acme", ops=("wrong_value",)), "wrong_value", "forward")
    assert entry["status"] == "failed" and "Mismatched elements: 1 / 4" in entry["error"]


def test_where_there_is_nobody_to_fork_workers_they_are_started():
    settings = SuiteSettings("cpu", (), ("plain",), "small_suites").to_json()
    heard = []
    with ForkServer(os.environ, "conformance.no_such_module") as nobody:
        supervisor = Supervisor(
            suite_settings.SOURCE, settings, nobody, lambda *it: heard.append(it)
        )
        checks = [each["key"] for each in supervisor.describe().said["catalog"]]
        supervisor.run([("plain/fails", "")])
    assert "plain/fails" in checks
    [(address, entry, _)] = heard
    assert address == ("plain/fails", "")
    assert entry["status"] == "failed" and "assert 2 == 3" in entry["error"]


def test_a_worker_that_may_still_be_forked_is_not_started_twice(tmp_path, monkeypatch):
    """By a server that takes a request, and answers as late as never."""
    server = "requests = socket.socket(fileno=int(sys.argv[1]))\n"
    server += "held = socket.recv_fds(requests, 1, 4)\nrequests.recv(1)\n"
    package = tmp_path / "late"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "server.py").write_text(f"import socket, sys\n{server}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "late", importlib.import_module("late"))
    with ForkServer(os.environ, "late.server") as late, (tmp_path / "any").open("w+b") as file:
        with pytest.raises(TimeoutError, match=r"not imported in 0\.2 s"):
            late.start(file, file.fileno(), file, 0.2)


def test_what_torch_has_started_is_not_forked(monkeypatch):
    """An accelerator of torch's own: its driver may have been started by an import."""
    monkeypatch.setattr(fork_server_process, "make_imports", lambda _: None)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("it forked"))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        monkeypatch.setattr(sys, "argv", ["", str(theirs.detach()), ""])
        ours.send(b"w")
        fork_server_process.main()


def test_the_file_is_the_same_each_time_and_refuses_edits(tmp_path, command):
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    arguments = ["--ops", "a_right_one,wrong_value", "--out"]
    code, printed = command(*arguments, str(files[0]))
    assert code == 0, printed
    program = [sys.executable, str(HERE / "run.py"), "--device=cpu", "--jobs=1", *OPTIONS]
    done = subprocess.run(
        [*program, *arguments, str(files[1])], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert files[0].read_text() == files[1].read_text()
    results.load(files[0])
    files[0].write_text(files[0].read_text().replace('"failed"', '"passed"'))
    with pytest.raises(results.NotOurs, match="edited"):
        results.load(files[0])


@pytest.mark.parametrize(
    "option, text, words",
    [
        ("--check", None, "No such file or directory"),
        ("--check", "{", "is no result file"),
        ("--check", "[]", "is no result file"),
        ("--check", "{}", "format None"),
        ("--exemptions", None, "No such file or directory"),
        ("--exemptions", "{", "is no JSON"),
        ("--exemptions", "[]", "expected an object"),
        ("--exemptions", '{"skipped": []}', "unknown kind of exemption: skipped"),
        ("--exemptions", '{"skip": [{"name": "mul"}]}', "skip: expected a list of objects"),
        ("--exemptions", '{"skip": 5}', "skip: expected a list of objects"),
        ("--out", "folder", "Is a directory"),
        ("--out", "/proc/results.json", "No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_before_anything_runs(
    tmp_path, monkeypatch, capsys, option, text, words
):
    monkeypatch.setattr(cli, "_run", lambda *_: pytest.fail("it ran"))
    file = tmp_path / "file.json"
    if text == "folder":
        file.mkdir()
    elif option == "--out":
        file = Path(text)
    elif text is not None:
        file.write_text(text)
    with pytest.raises(SystemExit) as ended:
        cli.main(["--device", "cpu", option, str(file)])
    assert ended.value.code == 2
    said = capsys.readouterr().out
    assert str(file) in said.replace("\n", "") and words in said


@pytest.mark.parametrize(
    "given",
    ["--samples=0", "--samples=-1", "--jobs=0", "--timeout=0", "--timeout=nan", "--timeout=inf"],
)
def test_a_number_with_which_nothing_would_run_is_refused(monkeypatch, capsys, given):
    monkeypatch.setattr(cli, "_run", lambda *_: pytest.fail("it ran"))
    with pytest.raises(SystemExit) as ended:
        cli.main(["--device", "cpu", given])
    assert ended.value.code == 2
    assert f"argument {given.replace('=', ': ')}: expected " in capsys.readouterr().err


def test_the_gate_fails_on_a_regression_and_only_then(tmp_path, document, command):
    committed = tmp_path / "committed.json"
    results.save(document, committed)
    assert not gate.compare(results.load(committed), document).regressions
    assert command("--ops", "a_right_one", "--check", str(committed))[0] == 0

    better = changed(document, "passed", "wrong_value", "forward")
    results.save(better, committed)
    code, printed = command("--ops", "wrong_value", "--check", str(committed))
    assert code == 1
    assert "regression wrong_value, float32, forward: passed, now failed" in printed


def changed(document: dict, status: str, op: str, phase: str) -> dict:
    document = json.loads(json.dumps(document))
    document["ops"][op]["float32"][phase]["status"] = status
    return document


@pytest.mark.parametrize(
    ("op", "before", "regressions", "improvements"),
    [
        ("a_right_one", "failed", 0, 1),
        ("wrong_value", "failed", 0, 0),
        ("wrong_value", "passed", 1, 0),
        ("wrong_value", "refused", 1, 0),
        ("wrong_value", "skipped", 1, 0),
        ("wrong_value", "crashed", 0, 1),
        ("aborts", "failed", 1, 0),
        ("cpu_raises", "passed", 1, 0),
    ],
)
def test_what_does_not_pass_can_only_become_less(document, op, before, regressions, improvements):
    committed = changed(document, before, op, "forward")
    found = gate.compare(committed, document)
    assert len(found.regressions) == regressions
    assert len(found.improvements) == improvements


@pytest.mark.parametrize("remark", ["values_ignored", "tolerance"])
def test_a_pass_by_comparing_less_is_a_regression(document, remark):
    now = json.loads(json.dumps(document))
    op_entry(now, "a_right_one", "forward")[remark] = "a reason"
    assert len(gate.compare(document, now).regressions) == 1
    assert len(gate.compare(now, document).improvements) == 1


def test_what_fails_and_was_not_there_before_is_a_regression(document):
    before = json.loads(json.dumps(document))
    del before["ops"]["wrong_value"], before["ops"]["a_right_one"]
    found = gate.compare(before, document)
    assert {change.phase for change in found.regressions} >= {"forward"}
    assert {change.name for change in found.regressions} == {"wrong_value"}


def test_the_list_names_what_does_not_pass_and_why(document, tmp_path):
    results.save(document, tmp_path / "cpu-0-test.json")
    listing.write(tmp_path)
    lines = (tmp_path / listing.FILE).read_text().splitlines()
    bad = [e for _, e in results.entries(document) if e["status"] in compact.NOT_PASSED]
    assert f"### Does not pass: {len(bad)}" in lines
    assert any("crashed: SIGSEGV" in line and "`segfaults`" in line for line in lines)
    assert any("`cpu_aborts` (float32: forward" in line for line in lines)
    assert not any("`a_right_one`" in line for line in lines)


def test_the_gate_refuses_results_of_another_torch(document):
    other = json.loads(json.dumps(document))
    other["versions"]["torch"] = "1.0"
    with pytest.raises(gate.NotComparable, match=r"of torch 1\.0"):
        gate.compare(other, document)


@pytest.mark.parametrize("op", ["a_right_one", "wrong_value", "aborts", "cpu_aborts"])
def test_an_operator_that_is_gone_is_a_regression(document, op):
    now = json.loads(json.dumps(document))
    gone = now["ops"].pop(op)["float32"]
    found = gate.compare(document, now)
    assert [change.name for change in found.regressions] == [op] * len(gone)
    assert not found.improvements
