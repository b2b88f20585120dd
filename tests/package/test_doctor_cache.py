"""`outback doctor`: the cache of compiled torch halves."""

import errno
import os
from pathlib import Path

import pytest
from filelock import FileLock
from torch_outback import cache, toolkit
from torch_outback.cache_key import Key
from torch_outback.doctor import cache as of_cache
from torch_outback.doctor.finding import Finding

SOMEBODY = 54321  # neither root nor whoever runs the tests
BEGINNING = f"{toolkit.version()}-torch-2.13.0-cpython-311"
KEY = Key(f"{BEGINNING}-{'a' * 16}", "b" * 16)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file to another user")


@pytest.fixture
def root(monkeypatch, tmp_path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("OUTBACK_CACHE_DIR", str(folder))
    return folder


def build(root: Path, name: str) -> Path:
    """One that is whole, as the cache makes it."""
    made = root / f"{name}~abcdefgh/made"
    (made / "lib").mkdir(parents=True, mode=0o700)
    (made / "lib/libx.a").write_text("archive")
    cache.module_in(made).write_text(f"module of {name}")
    for folder in (made.parent, made, made / "lib"):
        folder.chmod(0o700)
    for file in (made / "lib/libx.a", cache.module_in(made)):
        file.chmod(0o600)
    cache.seal(made)
    (root / name).symlink_to(f"{name}~abcdefgh/made")
    (root / f"{name}.lock").touch()
    return made


def found() -> dict[str, Finding]:
    return {it.name: it for it in of_cache.findings(KEY, has_backend=False)}


def test_the_cache_is_told_with_its_owner_mode_and_size(root):
    build(root, KEY.name)
    build(root, f"{BEGINNING}-{'c' * 16}-{'b' * 16}")
    told = found()
    assert "mode 700, 2 builds, " in told["folder"].found and told["folder"].status == "ok"
    assert KEY.name in told["torch half"].found and told["torch half"].status == "ok"


def test_what_is_not_whole_is_none(root):
    cache.module_in(build(root, KEY.name)).write_text("cut")
    assert found()["torch half"].found.startswith("none for this torch")


def test_what_others_keep_there_is_no_build(root):
    for name in ("notes~", "letter.txt~"):
        (root / name).mkdir()
    assert "0 builds" in found()["folder"].found


def test_a_cache_that_is_not_there_yet_is_no_problem(root):
    root.rmdir()
    assert found()["folder"].status == "ok"
    assert "the first build makes it" in found()["folder"].found


def test_a_cache_that_cannot_be_made_is_a_note(root, monkeypatch):
    (root.parent / "file").write_text("")
    monkeypatch.setenv("OUTBACK_CACHE_DIR", str(root.parent / "file/cache"))
    assert found()["folder"].status == "note"


@pytest.mark.parametrize("leads_to", ["nowhere", "cache", "file"])
def test_a_cache_that_is_no_folder_is_a_note(root, leads_to):
    root.rmdir()
    (root.parent / "file").write_text("mine")
    root.symlink_to(leads_to)
    assert found()["folder"].status in ("note", "problem")
    assert "first build makes it" not in found()["folder"].found
    assert (root.parent / "file").read_text() == "mine"


def test_a_name_that_is_too_long_is_a_problem(root, monkeypatch):
    monkeypatch.setenv("OUTBACK_CACHE_DIR", str(root / ("x" * 300)))
    assert found()["folder"].status == "problem" and "too long" in found()["folder"].found


def test_a_folder_that_cannot_be_entered_is_a_problem(root, monkeypatch):
    """As of a HOME that `sudo -u` has left; root may enter each."""

    def refuse(self, **_):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "stat", refuse)
    assert found()["folder"].found == f"{root} cannot be read: Permission denied"


def test_a_build_that_cannot_be_read_is_a_problem(root, monkeypatch):
    def is_whole(folder):
        raise PermissionError(errno.EACCES, "Permission denied", "SHA256")

    build(root, KEY.name)
    monkeypatch.setattr(cache, "is_whole", is_whole)
    assert found()["torch half"].status == "problem"
    assert "SHA256: Permission denied" in found()["torch half"].found


def test_a_relative_folder_is_a_problem(monkeypatch):
    monkeypatch.setenv("OUTBACK_CACHE_DIR", "cache")
    assert found()["folder"].status == "problem"
    assert found()["folder"].found.startswith("OUTBACK_CACHE_DIR=cache: expected the absolute")


@as_root
def test_a_cache_of_somebody_elses_is_a_problem(root):
    build(root, KEY.name)
    os.chown(root, SOMEBODY, SOMEBODY)
    assert found()["folder"].status == "problem"
    assert f"belongs to user {SOMEBODY}" in found()["folder"].found
    assert "torch half" not in found()  # it would say the same


def test_a_build_that_is_going_on_is_told_and_left_alone(root):
    scratch = root / f"{KEY.name}~making"
    scratch.mkdir()
    with FileLock(root / f"{KEY.name}.lock"):
        assert found()["torch half"].found == "a process builds it now"
    assert scratch.exists()


def test_others_have_to_lose_the_right_to_write_to_the_cache(root):
    build(root, KEY.name)
    root.chmod(0o777)
    assert found()["folder"].status == "problem"
    assert found()["folder"].command == f"chmod go-w {root}"
    root.chmod(0o755)
    assert found()["folder"].status == "ok"


def test_a_folder_that_is_for_everybody_stays_so(root):
    """As /tmp, which is of no use to anybody afterwards."""
    root.chmod(0o1777)
    assert found()["folder"].status == "problem"
    assert found()["folder"].command.startswith("export OUTBACK_CACHE_DIR=")


def test_a_build_that_others_could_have_changed_has_to_go(root):
    made = build(root, KEY.name)
    cache.module_in(made).chmod(0o666)
    assert found()["torch half"].status == "problem"
    assert found()["torch half"].command == f"rm -r {root / KEY.fixed}*"
