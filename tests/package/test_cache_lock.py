"""The lock of one build in the cache."""

import contextlib
import os
import stat
import threading
import time
from pathlib import Path

import pytest
from filelock import FileLock, Timeout
from torch_outback import cache_lock


def opened(file: Path) -> int:
    """How many descriptors of it this process has."""
    found = 0
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            found += os.readlink(each) == str(file)
    return found


def test_it_excludes_others_and_ends(tmp_path):
    with cache_lock.hold(tmp_path, "build"):
        assert cache_lock.is_held(tmp_path, "build")
        with pytest.raises(BlockingIOError), cache_lock.hold(tmp_path, "build", wait=False):
            pass
        with cache_lock.hold(tmp_path, "another", wait=False):
            pass
    assert not cache_lock.is_held(tmp_path, "build")
    with cache_lock.hold(tmp_path, "build", wait=False):
        pass


def test_it_and_that_of_older_releases_exclude_each_other(tmp_path):
    with cache_lock.hold(tmp_path, "build"), pytest.raises(Timeout):
        FileLock(tmp_path / "build.lock").acquire(timeout=0)
    with FileLock(tmp_path / "build.lock"):
        assert cache_lock.is_held(tmp_path, "build")
        with pytest.raises(BlockingIOError), cache_lock.hold(tmp_path, "build", wait=False):
            pass


def test_a_link_is_no_lock_and_what_it_leads_to_stays(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "build.lock").symlink_to(precious)
    assert not cache_lock.is_held(tmp_path, "build")
    with pytest.raises(OSError, match=r"build\.lock"), cache_lock.hold(tmp_path, "build"):
        pass
    os.unlink(tmp_path / "build.lock")
    os.link(precious, tmp_path / "build.lock")
    with cache_lock.hold(tmp_path, "build"):
        assert precious.read_text() == "precious"
    assert precious.read_text() == "precious"


def test_to_look_makes_no_file(tmp_path):
    assert not cache_lock.is_held(tmp_path, "build") and not os.listdir(tmp_path)


def test_it_is_for_this_user_alone(tmp_path):
    with cache_lock.hold(tmp_path, "build"):
        assert stat.S_IMODE((tmp_path / "build.lock").stat().st_mode) == 0o600


def test_who_waited_for_one_that_was_removed_has_the_new_one(tmp_path):
    has_it, done = threading.Event(), threading.Event()

    def wait_for_it():
        with cache_lock.hold(tmp_path, "build"):
            has_it.set()
            assert done.wait(60)

    waiting = threading.Thread(target=wait_for_it)
    with cache_lock.hold(tmp_path, "build"):
        waiting.start()
        while opened(tmp_path / "build.lock") < 2:
            time.sleep(0.001)
        os.unlink(tmp_path / "build.lock")
    assert has_it.wait(60)
    assert cache_lock.is_held(tmp_path, "build")
    done.set()
    waiting.join()
