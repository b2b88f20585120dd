"""Whatever a check does to its process is its own verdict, and the others run."""

from __future__ import annotations

import os
import subprocess

import pytest
import torch
from product import Product

from conformance import document, program
from conformance.backend import Backend
from conformance.request import Request
from conformance.run import Run
from conformance.running import interpreter

ARGUMENTS = ["--device=cpu", "--level=quick", "--package=small_suites", "--timeout=8", "--jobs=2"]
SUITES = ("plain", "imported", "dying", "made_for_a_backend", "no_module", "dies_when_loaded")


@pytest.fixture(scope="module")
def found(product: Product) -> dict[str, dict]:
    """One run of all of them, by id."""
    made = product.document(*ARGUMENTS, *(f"--suite={suite}" for suite in SUITES))
    assert made["complete"] and made["problems"] == []
    return {document.id_of(entry): entry for entry in made["entries"]}


@pytest.mark.parametrize(
    ("name", "verdict", "says"),
    [
        ("plain/passes", "pass", None),
        ("plain/fails", "fail", "assert 2 == 3"),
        ("plain/fails_with_words", "fail", "the words"),
        ("plain/raises", "fail", "TypeError: an unexpected argument"),
        ("plain/is_unsupported", "unsupported", "no graphs"),
        ("plain/has_no_kernel", "unsupported", "Could not run 'aten::foo'"),
        ("plain/is_skipped", "skipped", "there is one cpu"),
        ("imported/comparing_imports_nothing", "pass", None),
        ("dying/aborts", "crash", "SIGABRT"),
        ("dying/segfaults", "crash", "SIGSEGV"),
        ("dying/ends_by_a_signal_without_a_name", "crash", "signal 37"),
        ("dying/exits_with_zero", "crash", "exit status 0"),
        ("dying/exits_as_python_does", "crash", "exit status 3"),
        ("dying/hangs", "timeout", "no end after 8 s"),
        ("dying/hangs_with_a_child", "crash", "exit status 1"),
        ("dying/forks_and_comes_back_twice", "pass", None),
        ("dying/leaks_an_exit_code", "crash", "at exit: exit status 5"),
        ("dying/leaks_an_exit_code_alone", "crash", "at exit: exit status 6"),
        ("made_for_a_backend/_add[cpu, 1 and 2]", "pass", None),
        ("made_for_a_backend/_add[1 and 1]", "fail", "assert first + second == 3"),
        ("no_module/loading", "fail", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("dies_when_loaded/loading", "crash", "SIGABRT"),
    ],
)
def test_each_has_its_verdict(found, name, verdict, says):
    entry = found[name]
    assert entry["verdict"] == verdict
    said = entry.get("message", entry.get("reason"))
    assert (said is None) if says is None else (says in said)


def test_what_stands_beside_a_death_passes(found):
    for number in range(4):
        assert found[f"dying/_passes[{number}]"]["verdict"] == "pass"


def test_only_checks_of_the_level_run(found):
    assert "plain/is_of_standard" not in found
    assert "made_for_a_backend/is_its_own" not in found


def test_a_failure_says_what_pytorch_needs_it_for(found):
    entry = found["plain/fails"]
    assert entry["promise"] == "Two is three."
    assert entry["called_by"] == "torch/nn/modules/module.py: Module.to"
    assert entry["without"] == "modules cannot be moved"
    assert "in fails\n    assert 2 == 3" in entry["trace"]
    assert "suite_source" not in entry["trace"]


def test_a_failure_has_the_command_that_runs_it_alone(found, product):
    assert found["plain/raises"]["reproduction_language"] == "shell"
    command = found["plain/raises"]["reproduction"]
    assert command == (
        "outback conformance --device cpu --level quick --suite plain -k plain/raises"
    )
    again = product.document(*ARGUMENTS, "--suite=plain", "-k", "plain/raises")
    assert [entry["name"] for entry in again["entries"]] == ["raises"]


def test_a_run_that_is_stopped_does_not_ask_how_its_worker_ends(servers):
    words = "leaks_an_exit_code_alone"
    asked = Request("cpu", suites=("dying",), filter=words, package="small_suites")
    told = []

    def hear(entry: dict) -> None:
        told.append(entry["verdict"])
        run.stop()

    with Run(asked, hear, servers) as run:
        run.run(run.catalog().selected)
    assert told == ["pass"] and run.unclean_exits == []


def test_a_program_may_say_what_is_no_text():
    backend = Backend(torch.device("cpu"), ("small_backends.prints_what_is_no_text",))
    assert program.run_well(backend, "print('the program')").endswith("driver\nthe program")


def test_the_current_folder_hides_nothing_from_a_process(tmp_path):
    (tmp_path / "json.py").write_text("raise ImportError('the wrong one')")
    command = interpreter.program("import json, sys; print(json.dumps(sys.argv[1:]))", "one", "two")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == '["one", "two"]\n'


def test_a_module_of_this_process_is_found_wherever_it_is(tmp_path):
    """Also where PYTHONPATH leads to another package of that name."""
    (tmp_path / "conformance.py").write_text("raise ImportError('the wrong one')")
    command = interpreter.command("conformance.running.worker", "not a number")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "ValueError: invalid literal for int() with base 10: 'not a number'" in done.stderr
