"""The parts in Python: the demo, and the tests on all cores."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from .. import console
from ..paths import ROOT
from .packed import joined
from .programs import Finished
from .results import Failed, Outcome
from .work import Work

_TESTS = "tests/python"
_BESIDE = "tests/beside"
# What needs a module that a bare Python lacks: to be collected, or for a program that it runs.
NEED = {
    "expecttest": ("amp/test_rules.py", "test_device_type_tests.py", "test_opinfo_subset.py"),
    "hypothesis": (
        "methods/test_normalization.py",
        "streams/test_random_programs.py",
    ),
    "rich": ("test_bench.py", "test_opinfo_subset.py", "test_train_digits.py"),
    "sklearn": ("test_train_digits.py",),
}
_EACH = 2 << 30  # bytes of a device's memory for each process that tests on it
_FEW = 25  # tests that failed beside others, and run again by themselves
_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)")


def demo(work: Work) -> Outcome:
    train = [work.environment.python, ROOT / "examples/train_digits/train.py"]
    with console.step("demo") as step:
        done = work.run(train, env=work.python_variables()).check()
        step.note = " ".join(done.last("accuracy").replace("│", " ").split())
    return Outcome(step.note)


def python(work: Work) -> Outcome:
    lacking = work.provisions.lacking
    left_out = sorted({file for name in lacking for file in NEED.get(name, ())})
    with console.step("pytest") as step:
        done = _pytest(work, "--cache-clear", *_processes(work), *_selection(work, left_out))
        failed, counts = _failed(work), _counts(done)
        figures = {"tests": counts, "left out": left_out, "passed alone": []}
        note = ", ".join(f"{count} {what}" for what, count in counts.items())
        # Beside others a test has less of the device's memory, and less time.
        if failed and len(failed) <= _FEW and done.limit is None:
            done = _pytest(work, "--last-failed", *_selection(work, left_out))
            still = _failed(work)
            figures["passed alone"] = [test for test in failed if test not in still]
            note += f"; by itself {len(figures['passed alone'])} of {len(failed)} pass"
            failed = still
        if left_out:
            note += f"; {len(left_out)} files left out, for want of modules"
        figures["failed"] = failed
        if not done.passed:
            raise Failed(note, done.failure(), figures)
        step.note = note
    return Outcome(note, figures)


def in_place(work: Work) -> Outcome:
    """The device beside PyTorch's own, whose kernels it runs: its values, then its speed. The tests
    have the device to themselves."""
    with console.step("beside torch.cuda") as step:
        done = _pytest(work, "--cache-clear", _BESIDE)
        counts = _counts(done)
        step.note = note = ", ".join(f"{count} {what}" for what, count in counts.items())
    measure = [work.environment.python, ROOT / "bench/run.py", "--only", "twin", "twin-device"]
    if work.request.save:
        measure += ["--save", work.devices.description.partition(";")[0].replace(" ", "-").lower()]
    with console.step("speed beside torch.cuda"):
        measured = work.run(measure, env=work.python_variables())
    if failures := [each.failure() for each in (done, measured) if not each.passed]:
        raise Failed(note, "\n\n".join(failures), {"tests": counts})
    return Outcome(note, {"tests": counts})


def _pytest(work: Work, *options: str) -> Finished:
    """Each test's line is in the log when it ends; one that hangs shows there where it does."""
    command = [work.environment.python, "-m", "pytest", "-v", "--tb=short", "-rfEs"]
    command += ["--continue-on-collection-errors", "--color=no", "-o", "faulthandler_timeout=120"]
    command += ["-o", f"cache_dir={_cache(work)}", *options]
    command += ["-p", "tools.dev.gpu.failures"]
    variables = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **work.python_variables()}
    variables["PYTHONPATH"] = joined(variables["PYTHONPATH"], ROOT)
    return work.run(command, env=variables)


def _processes(work: Work) -> list[str]:
    """As many as there are cores, and room on the device."""
    if "xdist" in work.provisions.lacking:
        return []
    count = work.environment.jobs
    if work.devices and work.devices.memory:
        count = max(1, min(count, work.devices.memory // _EACH))
    return ["-n", str(count)]


def _selection(work: Work, left_out: Sequence[str]) -> list[str]:
    options = [f"--ignore={_TESTS}/{file}" for file in left_out]
    chosen = list(work.request.pytest)
    if not any((ROOT / word.partition("::")[0]).exists() for word in chosen):
        chosen.append(_TESTS)
    return [*options, *chosen]


def _counts(done: Finished) -> dict[str, int]:
    return {what: int(count) for count, what in _COUNT.findall(done.last(" in "))}


def _failed(work: Work) -> list[str]:
    """What pytest keeps for --last-failed."""
    file = _cache(work) / "v/cache/lastfailed"
    return sorted(json.loads(file.read_text())) if file.exists() else []


def _cache(work: Work) -> Path:
    return work.folder / "pytest"
