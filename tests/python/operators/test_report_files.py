"""The document of torch.acme.record_operators: where it goes, and the places in it."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.any_runtime
acme = torch.acme


def test_the_place_in_a_program_without_a_file_is_its_line():
    program = """
import torch
x = torch.ones(3, device="acme")
def work():
    return x.neg()
with torch.acme.record_operators(with_stack=True) as record:
    work()
    exec("x.exp()")
print([row.place for row in record.operators if row.operator in ("aten::neg", "aten::exp")])
"""
    for arguments, name in ((["-c", program], "<string>"), (["-"], "<stdin>")):
        ran = subprocess.run(
            [sys.executable, *arguments], input=program, capture_output=True, text=True, check=True
        )
        assert {*ast.literal_eval(ran.stdout)} == {"<string>:1", f"{name}:5"}, ran


def test_a_files_name_need_not_be_text(run_python):
    told = run_python(
        r"""
        import torch
        x = torch.ones(3, device="acme")
        with torch.acme.record_operators(with_stack=True) as record:
            exec(compile("x.neg()", "\udcff\x1b[2J.py", "exec"))
        print(ascii(record.operators[0].place))
        print(record)
        """
    )
    assert r"'\\udcff\x1b[2J.py:1'" in told.output
    assert "\x1b" not in told.output and r"\x1b[2J" in told.output.splitlines()[-1]


def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    x = torch.ones(3, device="acme")
    with acme.record_operators() as record:
        x.neg()
    target, link, pipe = (tmp_path / it for it in ("target.json", "link.json", "pipe"))
    link.symlink_to(target)
    record.save(link)
    assert link.is_symlink() and json.loads(target.read_text())["schema"] == 1
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    record.save(pipe)
    assert json.loads(os.read(reader, 1 << 16))["schema"] == 1
    os.close(reader)
    with open(tmp_path / "own", "w+") as own:
        own.write("before\n")
        own.flush()
        record.save(f"/dev/fd/{own.fileno()}")
        own.seek(0)
        assert own.readline() == "before\n" and json.loads(own.read())["schema"] == 1
    assert sorted(it.name for it in tmp_path.iterdir()) == [
        *("link.json", "own", "pipe", "target.json")
    ]


def test_a_document_goes_to_the_programs_own_output(run_python):
    told = run_python(
        "import torch; torch.ones(3, device='acme').neg(); print('first')",
        OUTBACK_OPERATORS="/dev/stdout",
    )
    first, document = told.output.split("\n", 1)
    assert first == "first" and json.loads(document)["schema"] == 1


@pytest.mark.parametrize("kind", ["symbolic link", "folder", "file of several names"])
def test_a_document_takes_the_place_of_nothing_else(run_python, tmp_path, kind):
    (tmp_path / "kept.json").write_text("kept")
    file = tmp_path / "named.json"
    if kind == "folder":
        file.mkdir()
    else:
        (file.symlink_to if kind == "symbolic link" else file.hardlink_to)(tmp_path / "kept.json")
    told = run_python(
        """
        try:
            import torch, torch_acme
        except ImportError as error:
            print(error)
        """,
        OUTBACK_OPERATORS=str(file),
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert f"expected a file to write, not one that is a {kind}" in told.output
    assert (tmp_path / "kept.json").read_text() == "kept"


def test_an_operator_that_is_gone_is_in_the_report(run_python, tmp_path):
    file = tmp_path / "report.json"
    run_python(
        """
        import torch
        def work():
            library = torch.library.Library("outback_gone", "DEF")
            library.define("twice(Tensor x) -> Tensor")
            library.impl("twice", lambda x: x * 2, "PrivateUse1")
            torch.ops.outback_gone.twice(torch.ones(3, device="acme"))
            library._destroy()
        work()
        """,
        OUTBACK_OPERATORS=str(file),
    )
    rows = {row["operator"]: row for row in json.loads(file.read_text())["operators"]}
    assert rows["outback_gone::twice"]["signature"] == "outback_gone::twice(...)"


def test_a_link_beside_the_file_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr("os.urandom", lambda size: b"0")
    x = torch.ones(3, device="acme")
    with acme.record_operators() as record:
        x.neg()
    other, link = tmp_path / "other", tmp_path / ".report.json.30"
    other.write_text("kept")
    link.symlink_to(other)
    with pytest.raises(FileExistsError):
        record.save(tmp_path / "report.json")
    assert other.read_text() == "kept" and link.is_symlink()
    link.unlink()
    (tmp_path / "report.json").touch(mode=0o640)
    record.save(tmp_path / "report.json")
    assert (tmp_path / "report.json").stat().st_mode & 0o777 == 0o640


ANOTHER_USER = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")


def link_of_another_user(link, target):
    link.symlink_to(target)
    os.chown(link, ANOTHER_USER, ANOTHER_USER, follow_symlinks=False)


@needs_root
def test_a_link_of_another_user_is_not_followed(tmp_path):
    x = torch.ones(3, device="acme")
    with acme.record_operators() as record:
        x.neg()
    other = tmp_path / "other"
    other.write_text("kept")
    link_of_another_user(tmp_path / "report.json", other)
    link_of_another_user(tmp_path / "folder", tmp_path)
    for file in ("report.json", "folder/other"):
        with pytest.raises(PermissionError, match="symbolic link of another user"):
            record.save(tmp_path / file)
        with pytest.raises(PermissionError, match="symbolic link of another user"):
            acme.memory._dump_snapshot(tmp_path / file)
    assert other.read_text() == "kept"


@pytest.mark.parametrize("whose", ["own", pytest.param("another user's", marks=needs_root)])
def test_a_link_that_is_made_after_the_start_is_not_followed(tmp_path, run_python, whose):
    other, file = tmp_path / "other", tmp_path / "report.json"
    other.write_text("kept")
    told = run_python(
        f"""
        import os, torch
        torch.ones(3, device="acme").neg()
        os.symlink({str(other)!r}, {str(file)!r})
        if {whose!r} != "own":
            os.chown({str(file)!r}, {ANOTHER_USER}, {ANOTHER_USER}, follow_symlinks=False)
        """,
        check=False,
        OUTBACK_OPERATORS=str(file),
    )
    assert told.code == 0
    assert other.read_text() == "kept" and file.is_symlink()
    assert f"OUTBACK_OPERATORS={file} cannot be written: " in told.errors
    assert "not followed" in told.errors


def test_the_copy_of_how_files_are_written_is_one():
    root = Path(__file__).parents[3]
    one, other = (
        (root / folder / "safe_files.py").read_text()
        for folder in ("conformance", "backend_template/module/_outback")
    )
    assert one == other


def test_what_failed_to_begin_may_begin_again(monkeypatch):
    recording = acme.record_operators()
    with monkeypatch.context() as broken:
        broken.setattr(acme._outback._native, "noted_outside_operators", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            recording.__enter__()
    with recording as record:
        torch.ones(3, device="acme").neg()
    assert "aten::neg" in {row.operator for row in record.operators}
