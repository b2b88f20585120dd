"""`outback doctor`: the cache of compiled torch halves, and what --fix removes from it."""

import errno
import os
import time
from pathlib import Path

import pytest
from filelock import FileLock
from torch_outback import cache, cache_key, cache_lock, toolkit
from torch_outback.cache_key import Key
from torch_outback.doctor import cache as of_cache
from torch_outback.doctor import cached_builds, fixing
from torch_outback.doctor.finding import Finding

SOMEBODY = 54321  # neither root nor whoever runs the tests
BEGINNING = f"{toolkit.version()}-torch-2.13.0-cpython-311"
KEY = Key(f"{BEGINNING}-{'a' * 16}", "b" * 16)
DAY = 24 * 3600

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file to another user")


@pytest.fixture
def root(monkeypatch, tmp_path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("OUTBACK_CACHE_DIR", str(folder))
    return folder


def build(root: Path, name: str, random: str = "abcdefgh", age: float = 0.0) -> Path:
    """One that is whole, as the cache makes it; last read so many seconds ago."""
    made = root / f"{name}~{random}/made"
    (made / "lib").mkdir(parents=True, mode=0o700)
    (made / "lib/libx.a").write_text("archive")
    cache.module_in(made).write_text(f"module of {name}")
    for folder in (made.parent, made, made / "lib"):
        folder.chmod(0o700)
    for file in (made / "lib/libx.a", cache.module_in(made)):
        file.chmod(0o600)
    cache.seal(made)
    then = time.time() - age
    os.utime(made / cache.SEAL, (then, then))
    (root / name).symlink_to(f"{name}~{random}/made")
    (root / f"{name}.lock").touch()
    return made


def found() -> dict[str, Finding]:
    return {it.name: it for it in of_cache.findings(KEY, has_backend=False)}


def names(root: Path) -> set[str]:
    return {entry.name for entry in root.iterdir() if not entry.name.endswith(".lock")}


def kinds(root: Path) -> dict[str, str]:
    return {it.path.name: it.kind for it in cached_builds.look(root, KEY)}


@pytest.fixture
def full(root) -> dict[str, str]:
    """A cache with one of everything, and what each is."""
    build(root, KEY.name)
    other = f"{BEGINNING.replace('2.13', '2.11')}-{'c' * 16}-{'b' * 16}"
    build(root, other, age=20 * DAY)
    unused = f"{BEGINNING.replace('2.13', '2.12')}-{'c' * 16}-{'b' * 16}"
    build(root, unused, age=40 * DAY)
    flags = f"{KEY.fixed}-{'d' * 16}"
    build(root, flags, age=3 * DAY)
    superseded = f"{BEGINNING}-{'e' * 16}-{'b' * 16}"
    build(root, superseded, age=3 * DAY)
    recent = f"{BEGINNING}-{'f' * 16}-{'b' * 16}"
    build(root, recent, age=DAY)
    half = f"{BEGINNING}-{'1' * 16}-{'b' * 16}"
    cache.module_in(build(root, half)).write_text("cut")
    dangling = f"{BEGINNING}-{'2' * 16}-{'b' * 16}"
    (root / dangling).symlink_to(f"{dangling}~gone/made")
    killed = f"{BEGINNING}-{'3' * 16}-{'b' * 16}~killed"
    (root / killed / "build").mkdir(parents=True)
    return {
        KEY.name: cached_builds.PRESENT,
        other: cached_builds.OTHER,
        flags: cached_builds.OTHER,
        recent: cached_builds.OTHER,
        unused: cached_builds.UNUSED,
        superseded: cached_builds.SUPERSEDED,
        half: cached_builds.HALF,
        dangling: cached_builds.HALF,
        killed: cached_builds.LEFT,
    }


# ---- What is said


def test_each_build_is_what_it_is(root, full):
    assert kinds(root) == full


def test_the_cache_is_told_with_its_owner_mode_and_size(root, full):
    told = found()
    assert "mode 700, 9 builds, " in told["folder"].found and told["folder"].status == "ok"
    assert KEY.name in told["torch half"].found
    stale = told["stale builds"]
    assert stale.status == "note" and stale.command == "outback doctor --fix"
    assert stale.found.startswith("5, ") and "2 not whole" in stale.found


def test_to_look_at_a_build_is_not_to_use_it(root, full):
    for _ in range(2):
        assert kinds(root) == full
        found()


def test_without_a_torch_nothing_is_superseded(root, full):
    told = {it.kind for it in cached_builds.look(root, None)}
    assert cached_builds.SUPERSEDED not in told and cached_builds.PRESENT not in told


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
    assert "first build makes it" not in found()["folder"].found and fixing.fix(KEY) == []
    assert (root.parent / "file").read_text() == "mine"


def test_a_name_that_is_too_long_is_a_problem(root, monkeypatch):
    monkeypatch.setenv("OUTBACK_CACHE_DIR", str(root / ("x" * 300)))
    assert found()["folder"].status == "problem" and "too long" in found()["folder"].found
    (said,) = fixing.fix(KEY)
    assert "was left as it is: File name too long" in said


def test_a_folder_that_cannot_be_entered_is_a_problem(root, monkeypatch):
    """As of a HOME that `sudo -u` has left; root may enter each."""

    def refuse(self, **_):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "stat", refuse)
    assert found()["folder"].found == f"{root} cannot be read: Permission denied"
    assert fixing.fix(KEY) == [f"{root} was left as it is: Permission denied"]


def test_a_build_that_cannot_be_read_hides_no_other(root, full, monkeypatch):
    barred = next(name for name, kind in full.items() if kind == cached_builds.OTHER)
    plain = cache.is_whole

    def is_whole(folder):
        if folder.name == barred:
            raise PermissionError(errno.EACCES, "Permission denied", "SHA256")
        return plain(folder)

    monkeypatch.setattr(cache, "is_whole", is_whole)
    assert kinds(root) == full | {barred: cached_builds.UNREADABLE}
    assert found()["reading"].status == "note" and barred in found()["reading"].found
    assert found()["stale builds"].found.startswith("5, ")
    assert len(fixing.fix(KEY)) == 5 and (root / barred).exists()
    (root / barred).rename(root / KEY.name)
    barred = KEY.name
    assert found()["reading"].status == "problem"


def test_a_relative_folder_is_a_problem(monkeypatch):
    monkeypatch.setenv("OUTBACK_CACHE_DIR", "cache")
    assert found()["folder"].status == "problem"
    assert found()["folder"].found.startswith("OUTBACK_CACHE_DIR=cache: expected the absolute")


@as_root
def test_a_cache_of_somebody_elses_is_a_problem_and_stays(root, full):
    os.chown(root, SOMEBODY, SOMEBODY)
    before = names(root)
    assert found()["folder"].status == "problem"
    assert f"belongs to user {SOMEBODY}" in found()["folder"].found
    assert "rights" not in found()  # each build would say the same
    said = fixing.fix(KEY)
    # What is stale is stale; that the folder is not trusted says nothing of what is in it.
    assert not [it for it in said if cached_builds.UNSAFE in it]
    assert {KEY.name, *(it for it in before if "2.11" in it)} <= names(root)


def test_a_build_that_is_going_on_is_told_and_left_alone(root):
    scratch = root / f"{KEY.name}~making"
    scratch.mkdir()
    with FileLock(root / f"{KEY.name}.lock"):
        assert kinds(root) == {scratch.name: cached_builds.BUSY}
        assert found()["torch half"].found == "a process builds it now"
        assert fixing.fix(KEY) == []
    assert scratch.exists()
    assert len(fixing.fix(KEY)) == 1 and not scratch.exists()


# ---- What --fix does


def test_it_removes_what_is_stale_and_nothing_else(root, full):
    (root / "build.log").write_text("failed")
    said = fixing.fix(KEY)
    assert len(said) == 5 and all(it.startswith("removed ") for it in said)
    stays = {name for name, kind in full.items() if kind not in cached_builds.STALE}
    assert names(root) == stays | {f"{name}~abcdefgh" for name in stays} | {"build.log"}
    assert cache.is_whole(root / KEY.name)


def test_a_second_time_there_is_nothing_to_do(root, full):
    root.chmod(0o777)
    assert fixing.fix(KEY)
    before = names(root)
    assert fixing.fix(KEY) == [] and names(root) == before
    assert "stale builds" not in found() and found()["folder"].status == "ok"


def test_it_says_what_it_removed_and_how_much(root, full):
    (said,) = (it for it in fixing.fix(KEY) if "~killed" in it)
    assert (
        said == f"removed {BEGINNING}-{'3' * 16}-{'b' * 16}~killed, 0 bytes: {cached_builds.LEFT}"
    )


def test_others_lose_the_right_to_write_to_the_cache(root):
    build(root, KEY.name)
    root.chmod(0o777)
    assert found()["folder"].status == "problem"
    assert found()["folder"].command == "outback doctor --fix"
    (said,) = fixing.fix(KEY)
    assert said == (f"took the rights to write from others: {root}, mode 777, is 755 now")
    assert found()["folder"].status == "ok" and cache.is_whole(root / KEY.name)


def test_a_folder_that_is_for_everybody_stays_so(root):
    """As /tmp, which is of no use to anybody afterwards."""
    root.chmod(0o1777)
    assert fixing.fix(KEY) == [] and root.stat().st_mode & 0o7777 == 0o1777
    assert found()["folder"].status == "problem"
    assert found()["folder"].command.startswith("export OUTBACK_CACHE_DIR=")


def test_a_build_that_others_could_have_changed_is_removed_and_not_trusted_anew(root):
    made = build(root, KEY.name)
    cache.module_in(made).chmod(0o666)
    assert kinds(root) == {KEY.name: cached_builds.UNSAFE}
    assert found()["rights"].status == "problem"
    (said,) = fixing.fix(KEY)
    assert said.startswith("removed ") and cached_builds.UNSAFE in said
    assert names(root) == set()


def test_links_are_not_followed_out_of_the_cache(root, tmp_path):
    precious = tmp_path / "precious"
    (precious / "made").mkdir(parents=True)
    (precious / "made/file").write_text("precious")
    outside = [f"{BEGINNING}-{digit * 16}-{'b' * 16}" for digit in "4567"]
    (root / outside[0]).symlink_to(precious / "made")
    (root / outside[1]).symlink_to("../precious/made")
    (root / f"{outside[2]}~linked").symlink_to(precious)
    (root / outside[2]).symlink_to(f"{outside[2]}~linked/made")
    killed = root / f"{outside[3]}~killed"
    killed.mkdir()
    (killed / "out").symlink_to(precious)
    fixing.fix(KEY)
    assert (precious / "made/file").read_text() == "precious"
    assert not killed.exists() and not (root / outside[0]).is_symlink()


def test_a_lock_that_is_a_link_is_not_followed(root, tmp_path):
    (tmp_path / "precious").write_text("precious")
    killed = root / f"{BEGINNING}-{'3' * 16}-{'b' * 16}~killed"
    killed.mkdir()
    lock = root / f"{killed.name.partition('~')[0]}.lock"
    lock.symlink_to(tmp_path / "precious")
    assert kinds(root) == {killed.name: cached_builds.LEFT}  # the lock is no build
    (said,) = fixing.fix(KEY)
    assert said.startswith(f"{killed.name} was left: {lock}: ") and lock.is_symlink()
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_second_name_for_a_build_takes_nothing_with_it(root):
    """Stale by its name, and the build is not."""
    made = build(root, KEY.name, age=3 * DAY)
    alias = f"{BEGINNING}-{'e' * 16}-{'b' * 16}"
    (root / alias).symlink_to(f"{KEY.name}~abcdefgh/made")
    (said,) = fixing.fix(KEY)
    assert said.startswith(f"removed {alias}, 0 bytes") and not (root / alias).is_symlink()
    assert cache.is_whole(root / KEY.name) and made.is_dir()


def test_each_build_is_looked_at_twice_however_many_there_are(root, monkeypatch):
    looked_at = []
    plain = cache.is_whole
    monkeypatch.setattr(cache, "is_whole", lambda it: looked_at.append(it.name) or plain(it))
    for number in range(20):
        cache.module_in(build(root, f"{BEGINNING}-{number:016x}-{'b' * 16}")).write_text("cut")
    assert len(fixing.fix(KEY)) == 20 and len(looked_at) == 40


def test_what_others_keep_in_the_same_folder_stays(root):
    others = {"notes~", "letter.txt~", "2.13.0-torch", "my-torch-models~old"}
    for name in others:
        (root / name).mkdir()
    assert fixing.fix(KEY) == [] and names(root) == others and kinds(root) == {}


def test_a_build_that_became_whole_meanwhile_stays(root, monkeypatch):
    """Another process had the lock between the look and the removal."""
    made = build(root, KEY.name)
    whole = cache.module_in(made).read_text()
    cache.module_in(made).write_text("cut")
    plain = cached_builds.kind_now

    def kind_now(*arguments):
        cache.module_in(made).write_text(whole)
        return plain(*arguments)

    monkeypatch.setattr(cached_builds, "kind_now", kind_now)
    (said,) = fixing.fix(KEY)
    assert said == f"{KEY.name} was left: it has changed meanwhile"
    assert cache.is_whole(root / KEY.name)


def test_a_removal_and_a_build_at_once_leave_a_whole_one(root, monkeypatch):
    """--fix waits for nobody, and who builds waits for it."""
    cache.module_in(build(root, KEY.name)).write_text("cut")
    with cache_lock.hold(root, KEY.name):
        assert fixing.fix(KEY) == [] and KEY.name in names(root)  # it counts as being built
    monkeypatch.setattr(cache_key, "of_this_process", lambda flags="": KEY)
    assert of_cache.present_key() == KEY
    assert len(fixing.fix(of_cache.present_key())) == 1 and names(root) == set()
