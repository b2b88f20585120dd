"""`outback conformance`: what it refuses, what it exits with, and the files that it writes."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import lent
import pytest
from product import PLAIN, Plain, Product
from small_suites.waiting import FOLDER

from conformance import by_schema, document, filtering, session, verdicts
from conformance.running import process
from conformance.running.refused import Refused

ROOT = Path(__file__).resolve().parents[2]
WAITING = [*PLAIN[:3], "--suite=waiting", "--jobs=1"]
SCHEMA = json.loads((ROOT / "conformance/schema/report-1.json").read_text())
GOOD = "passes"


@pytest.fixture(scope="module")
def made(plain: Plain) -> dict:
    return json.loads(plain.document.read_text())


# ---- What is refused


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--suite=nothing"], r"no such suite: nothing; there are dies_when_loaded, .*operators"),
        (["-k", "(mul"], r"-k '\(mul': expected words"),
        (["-k", "not"], "expected words"),
        (["-k", "no_entry_has_this"], "no entry has what -k 'no_entry_has_this' asks for"),
        (["--tolerance=geglu=1e-4,0"], "--tolerance operators/geglu=0.0001,0 stands for no entry"),
        (["--device=nova"], r"no module has registered a device type 'nova'.*--import torch_nova"),
        (["--device=no device"], "no device"),
        (["--device=cuda:x"], "cuda:x"),
        (["--import=no_such_backend"], "cannot import no_such_backend: No module named"),
        (["--json=/proc/no/file.json"], "/proc/no.*No such file or directory"),
        (["--junit={folder}"], "Is a directory"),
        (["--expectations={folder}/none"], "No such file or directory"),
        (["--expectations={file}"], r"file:2: a line is `suite/name\[/dtype\[/phase\]\]: reason`"),
        (["--expectations={latin}"], "latin: is no text in UTF-8"),
        (["--baseline={file}"], "is no result document"),
        (["--baseline={foreign}"], "foreign: is no result document: no headline"),
        (["--resume"], "--resume goes on with the file of --json"),
        (["--resume", "--json={file}"], "is no result document"),
    ],
)
def test_what_cannot_be_run_is_said_in_a_line(product, tmp_path, arguments, says):
    file = tmp_path / "file"
    file.write_text("# A comment, then a line without a reason.\nplain/fails\n")
    (tmp_path / "latin").write_bytes("plain/fails: später\n".encode("latin-1"))
    (tmp_path / "foreign").write_text('{"schema": 1, "entries": [{"suite": "plain"}]}')
    names = {name: tmp_path / name for name in ("file", "latin", "foreign")}
    given = [each.format(folder=tmp_path, **names) for each in arguments]
    said = product(*PLAIN, *given)
    assert said.status == 2
    assert re.search(says, said.err)
    assert said.err.startswith("outback: ") and said.err.count("\n") == 1
    assert said.out == ""


def test_a_backend_that_hangs_when_it_is_imported_is_refused(product, monkeypatch):
    product(*PLAIN, "--list")  # what the workers share has been imported
    monkeypatch.setattr(process, "START_SECONDS", 5.0)
    said = product(*PLAIN, "--import=small_backends.hangs_when_imported")
    assert said.status == 2
    assert said.err.startswith("outback: a worker died before its first entry: no end after 5 s\n")
    assert "hangs_when_imported.py" in said.err


def test_an_index_that_is_not_there_is_refused(product):
    said = product(*PLAIN, "--device=acme:7")
    assert said.status == 2
    assert said.err == "outback: acme:7: the index is out of range, there are 2 devices\n"


def test_help_needs_neither_torch_nor_rich():
    program = "import sys, torch_outback.cli; print({'torch', 'rich'} & sys.modules.keys())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "generators/cli")}
    command = [sys.executable, "-c", program]
    assert subprocess.check_output(command, env=environment, text=True) == "set()\n"


# ---- The filter


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("mul", True),
        ("MUL and float32", True),
        ("add or operators/mul", True),
        ("not add and not (bool or int64)", True),
        ("not mul", False),
        ("mul and (bool or int64)", False),
        ('"mul/float32"', True),
        ('"mul float32"', False),
    ],
)
def test_a_filter_is_read_as_pytest_reads_it(text, fits):
    assert filtering.compiled(text)("operators/mul/float32/forward") is fits


@pytest.mark.parametrize("text", ["", "()", "mul add", "mul or", "and mul", "(mul", "mul)", '"mul'])
def test_what_is_no_filter_is_refused(text):
    with pytest.raises(Refused):
        filtering.compiled(text)


# ---- What a run comes to


def test_a_failure_fails_the_run_and_the_first_line_counts_the_unsupported(plain):
    said = plain.said
    assert said.status == 1
    first = "2 of 8 entries declared unsupported; 2 pass, 3 fail, 0 crash, 0 timeout, 0 expected, 1"
    assert said.out.startswith(first)
    assert "torch/nn/modules/module.py: Module.to" in said.out
    assert "modules cannot be moved" in said.out
    assert "By level quick: 8 checks of 10." in said.out


def test_a_run_without_a_failure_is_green(product):
    assert product(*PLAIN, "-k", GOOD).status == 0


@pytest.mark.parametrize("words", ["is_skipped", "is_unsupported", "is_skipped or is_unsupported"])
def test_a_run_in_which_nothing_passed_is_not_green(product, words):
    assert product(*PLAIN, "-k", words).status == 1


def test_what_would_run_is_listed(product):
    said = product(*PLAIN, "--list", "-k", "is_ or words")
    assert said.status == 0
    names = ("fails_with_words", "is_unsupported", "is_skipped")
    assert said.out.split() == [f"plain/{name}" for name in names]


# ---- Expectations


def expecting(product: Product, tmp_path: Path, words: str, *lines: str) -> dict:
    file = tmp_path / "expectations"
    file.write_text("\n".join(("# What fails here.", "", *lines)))
    return product.document(*PLAIN, "-k", words, f"--expectations={file}")


def test_what_is_expected_to_fail_does_not_fail_the_run(product, tmp_path):
    found = expecting(product, tmp_path, f"{GOOD} or raises", "plain/raises: not done yet")
    (entry,) = (each for each in found["entries"] if each["name"] == "raises")
    assert (entry["verdict"], entry["found"]) == ("expected", "fail")
    assert entry["reason"] == "not done yet"
    assert entry["message"] == "TypeError: an unexpected argument"
    assert document.is_green(found)


def test_a_pattern_stands_for_all_that_it_fits(product, tmp_path):
    words = f"{GOOD} or plain/fails"
    found = expecting(product, tmp_path, words, "plain/fail*: not done yet")
    assert found["totals"] | {"pass": 2, "expected": 2} == found["totals"]
    assert document.is_green(found)


def test_what_passes_though_it_is_expected_to_fail_fails_the_run(product, tmp_path):
    found = expecting(product, tmp_path, GOOD, "plain/passes: not done yet")
    assert found["problems"] == [f"{tmp_path}/expectations:3: plain/passes passes: remove the line"]
    assert not document.is_green(found)


def test_what_is_unsupported_stays_so_whatever_is_expected(product, tmp_path):
    words = f"{GOOD} or is_unsupported"
    found = expecting(product, tmp_path, words, "plain/is_unsupported: no graphs yet")
    assert found["totals"]["unsupported"] == 1 and found["totals"]["expected"] == 0


# ---- The document


def test_the_document_fits_its_schema(made):
    assert list(by_schema.problems(made, SCHEMA, SCHEMA)) == []
    if importlib.util.find_spec("jsonschema"):
        import jsonschema

        jsonschema.validate(made, SCHEMA)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda made: made.pop("sampled"), ": no sampled"),
        (lambda made: made.update(started="noon"), "/started: 'noon' is no date-time"),
        (lambda made: made["entries"][0].update(verdict="great"), "/entries/0/verdict: 'great'"),
        (lambda made: made["entries"][1].pop("message"), "/entries/1: no message"),
        (lambda made: made["suites"][0].update(score=101), "/suites/0/score: 101 is out of range"),
        (lambda made: made["totals"].update(crash="none"), "/totals/crash: 'none' is no integer"),
    ],
)
def test_the_schema_refuses_what_is_no_document(made, change, says):
    made = json.loads(json.dumps(made))
    change(made)
    assert says in "\n".join(by_schema.problems(made, SCHEMA, SCHEMA))


def test_the_first_line_of_the_document_counts_the_unsupported(plain):
    first = plain.document.read_text().splitlines()[0]
    assert first.startswith('{"headline": "2 of 8 entries declared unsupported; 2 pass, 3 fail')


def test_the_score_is_of_what_has_an_answer(made):
    (suite,) = made["suites"]
    assert suite["title"] == "Checks of every verdict that leaves its process alive"
    assert suite["totals"] == made["totals"]
    assert suite["score"] == 40.0  # 2 of 5
    assert document.score(dict.fromkeys(verdicts.VERDICTS, 0)) is None


def test_junit_has_every_entry_with_its_reason(plain):
    assert "2 of 8 entries declared unsupported" in plain.junit.read_text().splitlines()[0]
    root = ElementTree.parse(plain.junit).getroot()
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("8", "3", "3")
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert cases["fails_with_words"].find("failure").get("message") == "the words"
    assert cases["is_unsupported"].find("skipped").get("message") == "unsupported: no graphs"
    assert list(cases["passes"]) == []


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_whatever_a_message_holds_the_reports_are_written(servers, tmp_path, encoding):
    files = [tmp_path / name for name in ("a.json", "a.html", "a.xml", "a.svg", "a.relay")]
    options = ("json", "html", "junit", "badge", "relay")
    given = [f"--{name}={file}" for name, file in zip(options, files, strict=True)]
    program = "import lent; from conformance.command import main; main()"
    paths = os.pathsep.join((str(ROOT), os.environ["PYTHONPATH"]))
    more = {"PYTHONPATH": paths, "PYTHONIOENCODING": encoding}
    with lent.lending(servers, tmp_path) as lends:
        done = subprocess.run(
            [
                *(sys.executable, "-c", program, *PLAIN[:3], "--suite=hostile", *given),
                "--import=small_backends.has_a_strange_version",
            ],
            env={**os.environ, **more, **lends},
            capture_output=True,
            check=False,
        )
    assert done.returncode == 1 and done.stderr == b""
    assert b"<script>[/bold] \\ud800" in done.stdout and b"\x1b" not in done.stdout
    assert b"has_a_strange_version 1[/red]" in done.stdout
    ElementTree.parse(files[2]), ElementTree.parse(files[3])
    assert document.load(files[0])["entries"][0]["message"].startswith("<script>[/bold] \ud800")
    assert b"<script>[/bold]" not in files[1].read_bytes()


def test_a_full_disk_costs_only_its_own_file(product, tmp_path):
    page = tmp_path / "page.html"
    said = product(*PLAIN, "--junit=/dev/full", f"--html={page}")
    assert said.status == 2
    assert said.err == "outback: /dev/full: No space left on device\n"
    assert "2 of 8 entries declared unsupported" in said.out
    assert f"written: {page}" in said.out and "/dev/full" not in said.out
    assert "</html>" in page.read_text()


def test_a_disk_that_is_full_for_a_while_does_not_end_the_run(product, monkeypatch):
    monkeypatch.setattr(session, "_EVERY_SECONDS", 0.0)
    said = product(*PLAIN, "-k", GOOD, "--json=/dev/full")
    assert said.out.startswith("0 of 2 entries declared unsupported; 2 pass")
    assert said.err == "outback: /dev/full: No space left on device\n"


# ---- Interrupted


def started(folder: Path, *arguments: str) -> subprocess.Popen:
    """The command as a process of its own."""
    program = (
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's job ignores\n"
        "from conformance.command import main\n"
        "main()\n"
    )
    paths = os.pathsep.join((str(ROOT), os.environ["PYTHONPATH"]))
    return subprocess.Popen(
        [sys.executable, "-c", program, *WAITING, *arguments],
        env={**os.environ, FOLDER: str(folder), "PYTHONPATH": paths},
        text=True,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )


def marks(folder: Path) -> list[str]:
    file = folder / "marks"
    return file.read_text().split() if file.exists() else []


def wait_for(run: subprocess.Popen, reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not reached():
        assert time.monotonic() < deadline and run.poll() in (None, -signal.SIGKILL)
        time.sleep(0.05)


def test_no_worker_outlives_a_run_that_was_killed(tmp_path):
    run = started(tmp_path)
    file = tmp_path / "process"
    wait_for(run, lambda: file.exists() and file.read_text() != "")
    worker = Path("/proc", file.read_text())
    assert worker.exists()
    run.kill()
    run.communicate(timeout=60)
    wait_for(run, lambda: not worker.exists())


def test_an_interrupted_run_leaves_what_it_has_and_is_gone_on_with(product, tmp_path):
    file = tmp_path / "document.json"
    run = started(tmp_path, f"--json={file}")
    wait_for(run, lambda: "waits" in marks(tmp_path))
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "interrupted; --resume goes on from here" in said
    partial = document.load(file)
    assert list(by_schema.problems(partial, SCHEMA, SCHEMA)) == []
    assert not partial["complete"] and "not completed" in partial["headline"]
    assert [entry["name"] for entry in partial["entries"]] == ["passes_at_once"]

    (tmp_path / "go").touch()
    other = product(*WAITING, f"--json={file}", "--resume", "-k", "waits")
    assert "is a run with another filter" in other.err
    assert other.status == 2
    assert started(tmp_path, f"--json={file}", "--resume").wait(60) == 0
    whole = document.load(file)
    assert whole["complete"] and whole["totals"]["pass"] == 2
    assert whole["started"] == partial["started"] and whole["seconds"] > partial["seconds"]
    assert marks(tmp_path) == ["passes_at_once", "waits", "waits"]


def test_a_wrong_end_of_a_worker_is_still_told_by_a_run_that_goes_on(product, tmp_path):
    file = tmp_path / "document.json"
    arguments = (*PLAIN, "-k", GOOD, f"--json={file}")
    imports = "--import=small_backends.crashes_at_exit"
    assert product(*arguments, imports).status == 1
    (problem,) = document.load(file)["problems"]
    assert problem == (
        "a worker did not end as it should: at exit: SIGSEGV, after loading the backend alone too"
    )
    assert document.load(file)["totals"]["crash"] == 0
    assert product(*arguments, imports, "--resume").status == 1
    assert document.load(file)["problems"] == [problem]
