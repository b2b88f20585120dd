"""The cache of compiled halves: where it is, what is read of it, and what a build leaves there."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, clean_environment
from torch_outback import building, cache, cache_key, cache_lock, variables
from torch_outback.cache_key import Key
from torch_outback.refused import Refused

SOMEBODY = 54321  # neither root nor whoever runs the tests
KEY = Key("1-torch-2", "gcc")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file to another user")


# ---- Where it is


@pytest.fixture
def bare(monkeypatch):
    for name in ("OUTBACK_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    return monkeypatch


def test_it_is_in_the_users_caches(bare):
    assert cache.folder() == Path("/home/me/.cache/outback")
    bare.setenv("XDG_CACHE_HOME", "/caches")
    assert cache.folder() == Path("/caches/outback")
    bare.setenv("OUTBACK_CACHE_DIR", "/mine")
    assert cache.folder() == Path("/mine")


@pytest.mark.parametrize("value", [".", "caches", "./x", "~/x", ""])
def test_a_relative_xdg_cache_home_is_ignored(bare, value):
    bare.setenv("XDG_CACHE_HOME", value)
    assert cache.folder() == Path("/home/me/.cache/outback")


@pytest.mark.parametrize("value", [".", "cache", "~/cache", "\udcff"])
def test_a_relative_outback_cache_dir_is_refused(bare, value):
    bare.setenv("OUTBACK_CACHE_DIR", value)
    shown = "\\\\udcff" if value == "\udcff" else value
    with pytest.raises(Refused, match=f"^OUTBACK_CACHE_DIR={shown}: expected the absolute path"):
        cache.folder()


def test_a_program_with_other_rights_than_its_users_has_none_of_the_variables(bare):
    bare.setenv("OUTBACK_CACHE_DIR", "/mine")
    bare.setenv("XDG_CACHE_HOME", "/caches")
    bare.setattr(variables, "has_other_rights", lambda: True)
    assert cache.folder() == Path(variables.pwd.getpwuid(os.getuid()).pw_dir, ".cache/outback")


@pytest.mark.parametrize("value", [None, "", ".", "me"])
def test_without_a_home_that_is_a_path_it_is_the_one_of_the_password_database(bare, value):
    bare.delenv("HOME")
    if value is not None:
        bare.setenv("HOME", value)
    of_user = variables.pwd.struct_passwd(("me", "x", 1, 1, "", "/home/of/me", "/bin/sh"))
    bare.setattr(variables.pwd, "getpwuid", lambda user: of_user)
    assert cache.folder() == Path("/home/of/me/.cache/outback")

    def unknown(user):
        raise KeyError(user)

    bare.setattr(variables.pwd, "getpwuid", unknown)
    with pytest.raises(Refused, match=r"no home folder .* OUTBACK_CACHE_DIR"):
        cache.folder()


def test_a_refusal_is_one_line_of_some_length(bare):
    bare.setenv("OUTBACK_CACHE_DIR", "x\n\x1b[2J" + "y" * 100_000)
    with pytest.raises(Refused) as refused:
        cache.folder()
    shown = str(refused.value)
    assert shown.startswith(r"OUTBACK_CACHE_DIR=x\n\x1b[2Jyyy") and "yyy...: expected" in shown
    assert len(shown) < 600


# ---- Building


@pytest.fixture
def root(bare, tmp_path):
    """A cache in which `provide` builds a module whose text is `root.text`, without compilers."""

    class Root(type(tmp_path)):
        text = "first"
        builds = 0

        def during(self):
            """Called in the middle of a build."""

    root = Root(tmp_path / "cache")
    bare.setenv("OUTBACK_CACHE_DIR", os.fspath(root))
    bare.setattr(cache_key, "of_this_process", lambda *_: KEY)
    bare.setattr(building, "cmake", lambda: "cmake")

    def compile_into(
        made: Path, build: Path, log: Path, flags: str = "", portable: bool = False
    ) -> bool:
        Root.builds += 1
        build.mkdir(exist_ok=True)
        log.write_text("compiled\n" * 30 + root.text)
        root.during()
        if root.text == "broken":
            return False
        before = os.umask(0o077)  # that of its processes
        (made / "lib").mkdir(parents=True, exist_ok=True)
        (made / "lib/libx.a").write_text(f"archive{flags}")
        cache.module_in(made).write_text(root.text)
        os.umask(before)
        return True

    bare.setattr(building, "compile_into", compile_into)
    return root


def text_in(folder: Path) -> str:
    return cache.module_in(folder).read_text()


def names(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()}


def test_it_is_built_once_for_this_user_alone(root):
    before = os.umask(0)
    try:
        folder = cache.provide()
    finally:
        os.umask(before)
    assert folder == root / KEY.name and text_in(folder) == "first"
    assert cache.provide() == folder and root.builds == 1
    for made in (root, folder.resolve().parent):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert names(folder.resolve().parent) == {"made"}


def test_who_waits_for_the_compiler_is_told(root):
    told = []
    for _ in range(2):
        cache.provide(before_compiling=lambda: told.append(root.builds))
    assert told == [0]


def test_a_rebuild_leaves_what_was_there_until_it_is_done(root, monkeypatch):
    folder = cache.provide()
    loaded = folder.resolve()
    root.text = "second"
    root.during = lambda: seen.append(text_in(folder))
    seen = []
    remove = shutil.rmtree

    def removing(path, **how):
        seen.append(text_in(folder))
        remove(path, **how)

    monkeypatch.setattr(cache.shutil, "rmtree", removing)
    assert cache.provide(rebuild=True) == folder
    assert seen == ["first", "second", "second"]  # when built, then as its leftovers went
    assert text_in(folder) == "second" and not loaded.parent.exists()
    assert len(names(root)) == 3  # the link, the folder, the lock


def test_a_rebuild_that_fails_changes_nothing(root):
    folder = cache.provide()
    root.text = "broken"
    said = rf"(?s)could not be compiled, see {root}/build.log:\n.*broken"
    with pytest.raises(Refused, match=said):
        cache.provide(rebuild=True)
    assert text_in(folder) == "first"
    assert names(root) == {KEY.name, f"{KEY.name}.lock", folder.resolve().parent.name, "build.log"}


def test_a_folder_that_is_not_whole_makes_room(root):
    (root / KEY.name).mkdir(parents=True)  # a copy of somewhere else's, cut off
    (root / KEY.name / "half").write_text("")
    folder = cache.provide()
    assert text_in(folder) == "first" and names(folder.resolve().parent) == {"made"}


def a_folder_at(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "lib/libx.a").write_text("arch"),
        lambda folder: (folder / "lib/libx.a").unlink(),
        lambda folder: cache.module_in(folder).write_text("fir"),
        lambda folder: a_folder_at(cache.module_in(folder)),
        lambda folder: a_folder_at(folder / "SHA256"),
    ],
    ids=["archive cut off", "no archive", "module cut off", "no module", "no seal"],
)
def test_what_is_not_whole_any_more_is_built_again(root, spoil):
    folder = cache.provide()
    spoil(folder)
    assert cache.provide() == folder and root.builds == 2
    assert text_in(folder) == "first" and (folder / "lib/libx.a").read_text() == "archive"
    assert cache.provide() == folder and root.builds == 2


def test_the_log_follows_no_link(root, tmp_path):
    (tmp_path / "precious").write_text("precious")
    root.mkdir()
    (root / "build.log").symlink_to(tmp_path / "precious")
    root.text = "broken"
    with pytest.raises(Refused):
        cache.provide()
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (root / "build.log").is_symlink()
    assert "broken" in (root / "build.log").read_text()


def test_what_killed_builds_have_left_goes_with_the_next_one(root):
    cache.provide()
    for left in (f"{KEY.name}~abc", "1-torch-3-gcc~abc", "1-torch-4-gcc~abc"):
        (root / left / "build").mkdir(parents=True)
    with cache_lock.hold(root, "1-torch-4-gcc"):
        cache.provide(rebuild=True)
        assert {name for name in names(root) if name.endswith("~abc")} == {"1-torch-4-gcc~abc"}
    cache.provide(rebuild=True)
    assert not (root / "1-torch-4-gcc~abc").exists()
    assert text_in(cache.provide()) == "first"


def test_what_a_killed_build_of_anothers_has_left_is_in_nobodys_way(root):
    """As after `sudo outback build`: its lock cannot be taken."""
    left = root / "1-torch-4-gcc~abc"
    left.mkdir(parents=True)
    os.chmod(root, 0o700)
    (root / "1-torch-4-gcc.lock").symlink_to("nowhere")  # no rights are a matter of who tests
    assert text_in(cache.provide()) == "first" and left.is_dir()


def test_what_nobody_has_asked_for_in_a_month_goes(root, monkeypatch):
    made = []
    for torch, days in (("3", 29), ("4", 31), ("5", 31)):
        key = Key(f"1-torch-{torch}", "gcc")
        monkeypatch.setattr(cache_key, "of_this_process", lambda *_, key=key: key)
        folder = cache.provide()
        made.append(folder.resolve().parent)
        then = time.time() - days * 24 * 3600
        os.utime(folder / cache.SEAL, (then, then))
    cache.provide()  # who asks for the last one keeps it
    monkeypatch.setattr(cache_key, "of_this_process", lambda *_: KEY)
    cache.provide()
    assert [folder.exists() for folder in made] == [True, False, True]
    links = {path.name for path in root.iterdir() if path.is_symlink()}
    assert links == {"1-torch-3-gcc", "1-torch-5-gcc", KEY.name}


def test_links_of_others_stay_and_are_not_followed(root, tmp_path):
    (tmp_path / "precious/made").mkdir(parents=True)
    root.mkdir(mode=0o700)
    links = {
        "1-torch-3-gcc": "../precious/made",
        "1-torch-4-gcc": "1-torch-3-gcc~other/made",
        "1-torch-5-gcc~linked": "../precious",
        "mine": "nowhere",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    killed = root / "1-torch-6-gcc~killed"
    killed.mkdir()
    (killed / "out").symlink_to(tmp_path / "precious")
    cache.provide()
    assert {name for name in links if (root / name).is_symlink()} == set(links)
    assert (tmp_path / "precious/made").is_dir() and not killed.exists()


def test_what_others_keep_in_the_same_folder_stays(root):
    (root / "notes~").mkdir(parents=True)
    (root / "letter.txt~").write_text("mine")
    os.chmod(root, 0o700)
    cache.provide()
    cache.provide(rebuild=True)
    assert (root / "notes~").is_dir() and (root / "letter.txt~").read_text() == "mine"


def test_what_other_keys_lead_to_stays(root, monkeypatch):
    folder = cache.provide()
    monkeypatch.setattr(cache_key, "of_this_process", lambda *_: Key("1-torch-3", "gcc"))
    root.text = "third"
    assert text_in(cache.provide()) == "third" and text_in(folder) == "first"


# ---- What others could have put there


def test_what_others_can_write_is_not_loaded(root):
    folder = cache.provide()
    whole = folder.resolve()
    for wrong in (cache.module_in(whole), whole / "SHA256", whole / "lib/libx.a", whole, root):
        mode = stat.S_IMODE(wrong.stat().st_mode)
        wrong.chmod(mode | 0o022)
        with pytest.raises(Refused, match=f"^{wrong} can be written by others"):
            cache.provide()
        wrong.chmod(mode)
    assert cache.provide() == folder and root.builds == 1


@as_root
def test_what_another_user_put_there_is_not_loaded(root):
    """With a seal that fits: whoever writes the module writes the seal too."""
    planted = root / KEY.name
    planted.mkdir(parents=True)
    cache.module_in(planted).write_text("evil")
    cache.seal(planted)
    for wrong in (planted, *planted.iterdir()):
        os.chown(wrong, SOMEBODY, SOMEBODY)
    with pytest.raises(Refused, match=f"^{planted} belongs to user {SOMEBODY}"):
        cache.provide()
    assert root.builds == 0


def test_nothing_is_built_where_others_can_write(root):
    root.mkdir()
    root.chmod(0o1777)  # as /tmp is
    with pytest.raises(Refused, match=f"^{root} can be written by others"):
        cache.provide()
    assert root.builds == 0 and names(root) == set()


def test_the_working_directory_is_no_cache(bare, root, tmp_path):
    shutil.copytree(cache.provide(), tmp_path / "here/outback" / KEY.name)
    bare.chdir(tmp_path / "here")
    bare.delenv("OUTBACK_CACHE_DIR")
    bare.setenv("XDG_CACHE_HOME", ".")
    bare.setenv("HOME", os.fspath(tmp_path / "home"))
    root.text = "own"
    assert text_in(cache.provide()) == "own"


# ---- A cache that is read and never written


def as_somebody(call) -> str:
    """What `call` answers, or the refusal's text, in a child that is not root."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(SOMEBODY, SOMEBODY, SOMEBODY)
            os.setresuid(SOMEBODY, SOMEBODY, SOMEBODY)
            try:
                answer = str(call())
            except Refused as refused:
                answer = f"refused: {refused}"
            os.write(writing, answer.encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def image(root, tmp_path):
    """`root`, where a user who is not root gets at it."""
    above = [folder for folder in tmp_path.parents if folder.stat().st_mode & 0o005 != 0o005]
    modes = [(folder, folder.stat().st_mode) for folder in (tmp_path, *above)]
    for folder, mode in modes:
        folder.chmod(mode | 0o055)
    yield root
    for folder, mode in modes:
        folder.chmod(mode)


@as_root
def test_what_root_has_made_is_read_by_others_and_never_written(image, monkeypatch):
    folder = cache.provide()
    refusal = as_somebody(cache.provide)
    assert refusal.startswith("refused: the torch half for this torch can be neither read from")
    assert "Permission denied" in refusal and "OUTBACK_CACHE_DIR" in refusal
    subprocess.check_call(["chmod", "-R", "go+rX", image])
    before = sorted((path, path.lstat().st_mtime_ns) for path in image.rglob("*"))
    assert as_somebody(cache.provide) == str(folder)
    assert "Permission denied" in as_somebody(lambda: cache.provide(rebuild=True))
    monkeypatch.setattr(cache_key, "of_this_process", lambda *_: Key("1-torch-4", "gcc"))
    assert "Permission denied" in as_somebody(cache.provide)
    assert sorted((path, path.lstat().st_mtime_ns) for path in image.rglob("*")) == before


def test_without_a_compiler_what_another_one_made_is_read(root, monkeypatch):
    folder = cache.provide()
    monkeypatch.setattr(cache_key, "of_this_process", lambda *_: Key(KEY.fixed, None))
    assert cache.provide() == folder
    with pytest.raises(Refused, match="no C\\+\\+ compiler"):
        cache.provide(rebuild=True)
    monkeypatch.setattr(cache_key, "of_this_process", lambda *_: Key("1-torch-3", None))
    with pytest.raises(Refused, match="no C\\+\\+ compiler"):
        cache.provide()


# ---- A build that is killed


# Stands in for cmake and its compilers; one has a process group of its own, as Ninja has it.
SLOW = """#!/bin/sh
sleep 300 &
first=$!
timeout 300 sleep 300 &
echo $$ $first $! > "$PIDS.new"
mv "$PIDS.new" "$PIDS"
wait
"""
BUILD = """
import signal
from torch_outback import cache, cache_key
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's job ignores
cache_key.of_this_process = lambda *_: cache_key.Key("1-torch-2", "gcc")
cache.provide()
"""


def runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it has ended, before or in the reading
        return False


def wait_until(done) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end, "nothing happened for a minute"
        time.sleep(0.01)


# lifeline.py, where it takes time to kill.
SLOWLY = """
import os, runpy, sys, time
kill = os.kill
os.kill = lambda process, how: (kill(process, how), time.sleep(0.5))
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0])
"""


def test_none_is_left_when_the_first_of_them_has_ended(tmp_path):
    (tmp_path / "cmake").write_text(SLOW)
    reading, writing = os.pipe()
    pids = tmp_path / "pids"
    lifeline = ROOT / "generators/cli/torch_outback/lifeline.py"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOWLY, lifeline, str(reading), "sh", tmp_path / "cmake"],
        env=clean_environment(PIDS=os.fspath(pids)),
        pass_fds=[reading],
    )
    os.close(reading)
    wait_until(lambda: pids.exists() or process.poll() is not None)
    compilers = [int(number) for number in pids.read_text().split()]
    os.close(writing)
    process.wait(timeout=60)
    assert not any(map(runs, compilers))


@pytest.mark.parametrize("kill", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_killed_build_takes_its_compilers_along(root, tmp_path, kill):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/cmake").write_text(SLOW)
    (tmp_path / "bin/cmake").chmod(0o755)
    pids = tmp_path / "pids"
    environment = {
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "PYTHONPATH": os.fspath(ROOT / "generators/cli"),
        "OUTBACK_CACHE_DIR": os.fspath(root),
        "PIDS": os.fspath(pids),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", BUILD],
        env=clean_environment() | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    wait_until(lambda: pids.exists() or process.poll() is not None)
    compilers = [int(number) for number in pids.read_text().split()]
    assert len(compilers) == 3 and all(map(runs, compilers))
    process.send_signal(kill)
    process.communicate(timeout=60)
    assert process.returncode != 0
    wait_until(lambda: not any(map(runs, compilers)))
    assert text_in(cache.provide()) == "first"  # the next build
    assert names(root) == {KEY.name, f"{KEY.name}.lock", (root / KEY.name).resolve().parent.name}
