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
from dev import console, gpu, shell
from dev.environment import Environment
from dev.gpu import command
from dev.gpu.parts import Part
from dev.gpu.results import Results


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
    seen = []

    def look(line):
        seen.append((line, (tmp_path / "part.log").read_text()))

    words = [sys.executable, "-c", "print('one', flush=True); print('two')"]
    shell.run(f"{tmp_path}/part", words, on_line=look, deadline=float("inf"))
    assert [line for line, _ in seen] == ["one\n", "two\n"]
    assert seen[0][1].endswith("one\n")


def test_a_deadline_ends_a_program_and_its_children(tmp_path):
    start = time.monotonic()
    words = ["sh", "-c", "sleep 60 & echo $!; wait"]
    done = shell.run(f"{tmp_path}/part", words, check=False, deadline=start + 0.5)
    assert time.monotonic() - start < 30
    assert done.returncode == -signal.SIGKILL
    assert ends(int(done.stdout))


def test_a_program_that_ends_in_time_fails_by_itself(tmp_path):
    later = time.monotonic() + 60
    with pytest.raises(console.Failure, match="exit code 3"):
        shell.run(f"{tmp_path}/part", ["sh", "-c", "exit 3"], deadline=later)


# ---- Results


def test_a_result_is_kept_before_the_next_part_begins(tmp_path):
    results = Results(tmp_path, {"device": "one"})
    results.part("build", lambda: "done")
    before = []
    results.part("suite", lambda: before.append(results_in(tmp_path)) or "")
    assert (before[0]["build"]["outcome"], before[0]["build"]["note"]) == ("passed", "done")
    assert before[0]["build"]["device"] == "one"
    assert before[0]["suite"]["outcome"] == "running"


def test_a_failure_is_kept_with_the_end_of_its_log(tmp_path):
    results = Results(tmp_path, {})

    def part():
        (tmp_path / "suite.log").write_text("this\nwent wrong\n")
        raise console.Failure("a text")

    results.part("suite", part)
    kept = results_in(tmp_path)["suite"]
    assert kept["outcome"] == "failed"
    assert kept["end_of_log"] == ["this", "went wrong"]
    assert results.finish() == 1


def test_what_an_earlier_call_left_stays(tmp_path):
    Results(tmp_path, {"device": "one"}).part("suite", lambda: "175 passed")
    Results(tmp_path, {"device": "two"}).part("bench", lambda: "9 rows")
    kept = results_in(tmp_path)
    assert kept["suite"]["note"] == "175 passed"
    assert [kept["suite"]["device"], kept["bench"]["device"]] == ["one", "two"]


# ---- The parts


@pytest.fixture
def run(monkeypatch, environment, tmp_path):
    """Runs parts that do as told, and returns the exit code, what ran and what was kept."""

    def run(only, *, programs=("compute-sanitizer", "nvcc"), built=True, **parts):
        ran = []

        def body(name):
            def run(work):
                ran.append(name)
                outcome = parts.get(name, "good")
                if isinstance(outcome, Exception):
                    raise outcome
                return outcome(work) if callable(outcome) else outcome

            return run

        known = {name: Part(body(name), p.built, (), p.program) for name, p in gpu.PARTS.items()}
        monkeypatch.setattr(command, "PARTS", known)
        monkeypatch.setattr("shutil.which", lambda name: name if name in programs else None)
        monkeypatch.setenv("OUTBACK_CUDART", "libcudart.so")
        for part in gpu.PARTS.values() if built else ():
            if part.built:
                there = environment.build / "gpu" / part.built.replace("*", "so")
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
        next(work.folder.glob("python_cuda/torch_acme/_half/*/_C.*")).unlink()
        raise console.Failure("not built")

    code, ran, outcomes = run(None, build=build)
    assert code == 1
    assert ran == ["build", "suite", "sanitizer", "bench"]
    assert outcomes["python"] == outcomes["demo"] == "not run"


def test_without_a_build_nothing_runs_and_it_is_no_success(run):
    code, ran, outcomes = run(["suite", "python"], built=False)
    assert (code, ran) == (1, [])
    assert set(outcomes.values()) == {"not run"}


@pytest.mark.parametrize("part, program", [("sanitizer", "nvcc"), ("kernel", "compute-sanitizer")])
def test_a_toolkits_program_may_be_missing_unless_it_was_asked_for(run, part, program):
    code, ran, _ = run(None, programs=[program])
    assert (code, set(gpu.PARTS) - set(ran)) == (0, {part})
    assert run(["suite", part], programs=[program])[0] == 1


def test_a_device_is_what_the_driver_names(monkeypatch):
    monkeypatch.delenv("OUTBACK_CUDART", raising=False)
    answer = "NVIDIA H200, 143771, 580.1\nNVIDIA T4, 16000, 580.1"
    monkeypatch.setattr(shell, "output", lambda _: answer)
    assert command._devices() == ("NVIDIA H200, NVIDIA T4; driver 580.1", 16000 << 20)
    monkeypatch.setattr(shell, "output", lambda _: "No devices were found")
    with pytest.raises(console.Failure, match="nvidia-smi finds no device"):
        command._devices()


PROGRAM = """
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from dev import console, gpu
from dev.environment import Environment
from dev.gpu import command
from dev.gpu.parts import Part

here = Path(sys.argv[2])
command.PARTS["build"] = Part(lambda work: work.run(
    "sh", "-c", "echo $$; sleep 60", on_line=lambda line: print(line, flush=True)
))
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
