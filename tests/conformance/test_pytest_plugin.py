"""Entries as tests of pytest: what fails, is unsupported or expected, in its words."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import lent
import pytest

from conformance.run import Servers

ROOT = Path(__file__).resolve().parents[2]


def pytest_of(
    folder: Path, *arguments: str, servers: Servers | None = None
) -> subprocess.CompletedProcess:
    """Of a vendor, with one test of his own. The workers are forked by what `servers` lends, or as
    they are for a vendor."""
    (folder / "test_own.py").write_text("def test_own():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "conformance.pytest_plugin", "-rA"]
    command += ["-p", "no:cacheprovider", "--conformance-device=cpu", *arguments]
    command += ["--conformance-package=small_suites", "--conformance-timeout=8"]
    paths = os.pathsep.join((str(ROOT), os.environ["PYTHONPATH"]))
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    environment |= {"PYTHONPATH": paths, "COLUMNS": "200"}
    with contextlib.ExitStack() as lends:
        if servers is not None:
            environment |= lends.enter_context(lent.lending(servers, folder))
            command += ["-p", "lent"]
        return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)


def test_entries_are_tests_beside_the_vendors_own(tmp_path):
    expected = tmp_path / "expectations"
    expected.write_text("plain/raises: not done yet\nplain/passes: not done yet\n")
    done = pytest_of(
        *(tmp_path, "--conformance-suite=plain", f"--conformance-expectations={expected}")
    )
    assert done.returncode == 1, done.stderr
    said = done.stdout
    assert "3 failed, 2 passed, 3 skipped, 1 xfailed" in said
    assert "fail: assert 2 == 3" in said
    assert "called by:   torch/nn/modules/module.py: Module.to" in said
    assert "unsupported: no graphs" in said and "there is one cpu" in said
    assert "[XPASS(strict)] not done yet" in said
    assert "2 of 8 entries declared unsupported; 2 pass, 2 fail, 0 crash" in said


def test_k_chooses_and_a_late_end_of_a_worker_fails_the_run(tmp_path, servers):
    words = "dying and (aborts or leaks)"
    done = pytest_of(tmp_path, "--conformance-suite=dying", "-k", words, servers=servers)
    assert done.returncode == 1
    assert "SIGABRT" in done.stdout
    # In the summary, or as the failure of its test where the worker had ended before it was asked.
    assert "at exit: exit status 5" in done.stdout
    assert "test_own" not in done.stdout


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("--conformance-suite=nothing", "no such suite: nothing"),
        ("--conformance-device=nova", "no module has registered a device type 'nova'"),
        ("--conformance-jobs=0", "--conformance-jobs: invalid count value: '0'"),
        ("--conformance-timeout=nan", "--conformance-timeout: invalid seconds value: 'nan'"),
    ],
)
def test_what_cannot_be_run_ends_pytest(tmp_path, servers, given, says):
    done = pytest_of(tmp_path, "--conformance-suite=plain", given, servers=servers)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert says in done.stderr


@pytest.mark.parametrize("processes", [[], ["-n", "2"]])
def test_a_run_in_which_nothing_passed_is_not_green(tmp_path, servers, processes):
    words = "plain and (is_skipped or is_unsupported)"
    lends = None if processes else servers  # those of pytest-xdist have servers of their own here
    done = pytest_of(
        *(tmp_path, "--conformance-suite=plain", "-k", words, *processes), servers=lends
    )
    assert done.returncode == 1, done.stdout
    assert "2 skipped" in done.stdout
    assert "1 of 2 entries declared unsupported; 0 pass" in done.stdout
    assert "nothing has passed" in done.stdout


@pytest.mark.parametrize("processes", [[], ["-n", "2"]])
def test_a_backend_that_crashes_at_each_exit_fails_the_run(tmp_path, servers, processes):
    given = ["--conformance-suite=plain", "--conformance-import=small_backends.crashes_at_exit"]
    given += ["-k", "plain/passes or own"]
    done = pytest_of(tmp_path, *given, *processes, servers=servers)
    assert done.returncode == 1, done.stdout
    assert "3 passed" in done.stdout
    assert done.stdout.count("at exit: SIGSEGV, after loading the backend alone too") == 1
