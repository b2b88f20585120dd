"""./dev gpu: its parts run whichever of them fail, and what came of each is kept."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev import console, gpu
from dev.environment import Environment
from dev.gpu import building, command, needs, programs
from dev.gpu.results import Failed, Outcome, Results


@pytest.fixture
def environment(tmp_path):
    return Environment(Path(sys.executable), "2.13.0", tmp_path / "build")


def results_in(folder):
    return json.loads((folder / "results.json").read_text())["parts"]


def ends(process):
    """Whether it ends soon; who asks how it ended is another matter."""
    state = Path(f"/proc/{process}/stat")
    for _ in range(100):
        try:
            if state.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


# ---- Programs


def test_output_is_in_the_log_before_the_program_ends(tmp_path):
    log = tmp_path / "log"
    seen = []

    def look(line):
        seen.append((line, log.read_text()))

    programs.run(
        log, [sys.executable, "-c", "print('one', flush=True); print('two')"], on_line=look
    )
    assert [line for line, _ in seen] == ["one\n", "two\n"]
    assert seen[0][1].endswith("one\n")


def test_a_limit_ends_a_program_and_its_children(tmp_path):
    start = time.monotonic()
    script = "sleep 60 & echo $!; wait"
    done = programs.run(tmp_path / "log", ["sh", "-c", script], deadline=start + 0.5, limit=0.5)
    assert time.monotonic() - start < 30
    assert ends(int(done.lines[0]))
    with pytest.raises(console.Failure, match=r"not done after 0\.5 s"):
        done.check()


def test_a_program_that_ends_in_time_is_none_of_the_limits(tmp_path):
    later = time.monotonic() + 60
    done = programs.run(tmp_path / "log", ["sh", "-c", "exit 3"], deadline=later, limit=60)
    with pytest.raises(console.Failure, match="exit code 3"):
        done.check()


# ---- Results


def test_a_result_is_kept_before_the_next_part_begins(tmp_path):
    results = Results(tmp_path, {"device": "one"})
    results.part("build", lambda: Outcome("done", {"targets": 3}))
    before = []
    results.part("suite", lambda: before.append(results_in(tmp_path)) or Outcome(""))
    assert before[0]["build"]["outcome"] == "passed"
    assert before[0]["build"]["figures"] == {"targets": 3}
    assert before[0]["build"]["device"] == "one"
    assert before[0]["suite"]["outcome"] == "running"


def test_a_failure_is_kept_with_the_end_of_its_log(tmp_path):
    results = Results(tmp_path, {})

    def part():
        results.log("suite").write_text("this\nwent wrong\n")
        raise Failed("1 failed", "a text", {"failed": 1})

    assert not results.part("suite", part)
    kept = results_in(tmp_path)["suite"]
    assert kept["outcome"] == "failed"
    assert kept["note"] == "1 failed"
    assert kept["figures"] == {"failed": 1}
    assert kept["end_of_log"] == ["this", "went wrong"]
    assert results.finish() == 1


def test_what_an_earlier_call_left_stays(tmp_path):
    Results(tmp_path, {"device": "one"}).part("suite", lambda: Outcome("175 passed"))
    Results(tmp_path, {"device": "two"}).part("bench", lambda: Outcome("9 rows"))
    kept = results_in(tmp_path)
    assert kept["suite"]["note"] == "175 passed"
    assert [kept["suite"]["device"], kept["bench"]["device"]] == ["one", "two"]


# ---- The parts


@pytest.fixture
def run(monkeypatch, environment, tmp_path):
    """Runs parts that do as told, and returns the exit code, what ran and what was kept."""

    def run(only, *, blocked=None, targets=tuple(needs.TARGETS), built=True, **parts):
        ran = []

        def part(name):
            def body(work):
                ran.append(name)
                outcome = parts.get(name, Outcome("good"))
                if isinstance(outcome, Exception):
                    raise outcome
                return outcome(work) if callable(outcome) else outcome

            return body

        found = needs.Provisions(list(targets), [], {}, {}, set(), None, blocked or {})
        monkeypatch.setattr(command, "_RUN", {name: part(name) for name in gpu.PARTS})
        monkeypatch.setattr(needs, "provide", lambda *_: found)
        monkeypatch.setenv("OUTBACK_CUDART", "libcudart.so")
        if built:
            for file in building._FILES.values():
                there = environment.build / "gpu" / file.replace("*", "so")
                there.parent.mkdir(parents=True, exist_ok=True)
                there.touch()
        out = tmp_path / "out"
        code = gpu.run(environment, gpu.Request(only, out, None, False, ()))
        return code, ran, {name: about["outcome"] for name, about in results_in(out).items()}

    return run


def test_all_parts_run_in_their_order(run):
    assert run(None)[:2] == (0, list(gpu.PARTS))
    assert run(["bench", "suite", "build"])[1] == ["build", "suite", "bench"]


def test_a_part_that_fails_stops_no_other(run):
    code, ran, outcomes = run(None, suite=console.Failure("no"), demo=console.Failure("no"))
    assert code == 1
    assert ran == list(gpu.PARTS)
    assert [name for name in ran if outcomes[name] == "failed"] == ["suite", "demo"]


def test_what_does_not_build_stops_its_own_parts_alone(run):
    def build(work):
        work.not_built.add("torch_acme_cuda")
        raise Failed("not built", "text")

    code, ran, outcomes = run(None, build=build)
    assert code == 1
    assert ran == ["build", "suite", "sanitizer", "bench"]
    assert outcomes["python"] == outcomes["demo"] == "not run"


def test_without_a_build_nothing_runs_and_it_is_no_success(run):
    code, ran, outcomes = run(["suite", "python"], built=False)
    assert (code, ran) == (1, [])
    assert set(outcomes.values()) == {"not run"}


def test_a_part_that_lacks_something_is_not_run(run):
    code, ran, outcomes = run(["suite", "demo"], blocked={"demo": ["rich"]})
    assert (code, ran) == (1, ["suite"])
    assert outcomes["demo"] == "not run"


@pytest.mark.parametrize("part, program", [("sanitizer", "compute-sanitizer"), ("kernel", "nvcc")])
def test_a_toolkits_program_may_be_missing_unless_it_was_asked_for(run, part, program):
    missing = {part: [program]}
    assert run(None, blocked=missing)[0] == 0
    assert run(["suite", part], blocked=missing)[0] == 1


PROGRAM = """
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from dev import console, gpu
from dev.environment import Environment
from dev.gpu import command, needs

here = Path(sys.argv[2])
needs.provide = lambda *_: needs.Provisions(["x"], [], {}, {}, set(), None)
command._RUN["build"] = lambda work: work.run(
    ["sh", "-c", "echo $$; sleep 60"], on_line=lambda line: print(line, flush=True)
)
request = gpu.Request(["build"], here, None, False, ())
environment = Environment(Path(sys.executable), "2.13.0", here)
sys.exit(console.exit_code_of(lambda: gpu.run(environment, request)))
"""


def test_who_is_terminated_ends_what_runs_and_says_so(tmp_path):
    """As at the end of a lease."""
    command = [sys.executable, "-c", PROGRAM, ROOT / "tools", tmp_path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with process:
        child = int(next(line for line in process.stdout if line.strip().isdigit()))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 130
    assert ends(child)
    assert results_in(tmp_path)["build"]["outcome"] == "interrupted"
