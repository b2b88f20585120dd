"""torch_outback.trust: what others could have put at a path is not opened."""

import os
import stat

import pytest
from conftest import ROOT  # noqa: F401  (finds torch_outback)
from torch_outback import trust
from torch_outback.refused import Refused

SOMEBODY = 54321  # neither root nor whoever runs the tests

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file to another user")


@pytest.fixture
def folder(tmp_path):
    """<folder>/inner/file, which nobody else can write."""
    (tmp_path / "folder/inner").mkdir(parents=True)
    (tmp_path / "folder/inner/file").write_bytes(b"good")
    for path in ("folder", "folder/inner"):
        (tmp_path / path).chmod(0o755)
    (tmp_path / "folder/inner/file").chmod(0o644)
    return tmp_path / "folder"


def test_what_is_this_users_is_read(folder):
    assert trust.read_trusted(folder / "inner/file") == b"good"
    descriptor = trust.open_trusted(folder / "inner")
    assert os.listdir(descriptor) == ["file"]
    os.close(descriptor)


@pytest.mark.parametrize("place", ["folder", "folder/inner", "folder/inner/file"])
def test_what_anybody_can_write_is_refused_wherever_it_is_on_the_path(folder, place):
    wrong = folder.parent / place
    wrong.chmod(0o777)
    with pytest.raises(Refused, match=rf"^{wrong} can be written by others .*mode 777.*chmod go-w"):
        trust.read_trusted(folder / "inner/file")


@as_root
@pytest.mark.parametrize("place", ["folder", "folder/inner", "folder/inner/file"])
def test_what_is_another_users_is_refused_wherever_it_is_on_the_path(folder, place):
    wrong = folder.parent / place
    os.chown(wrong, SOMEBODY, 0)
    with pytest.raises(Refused, match=f"^{wrong} belongs to user {SOMEBODY}: .* root's"):
        trust.read_trusted(folder / "inner/file")


@as_root
def test_what_a_group_of_others_can_write_is_refused(folder):
    os.chown(folder, 0, SOMEBODY)
    assert trust.read_trusted(folder / "inner/file") == b"good"
    folder.chmod(0o775)
    with pytest.raises(Refused, match="can be written by others"):
        trust.read_trusted(folder / "inner/file")


def test_what_a_group_of_one_can_write_is_not(folder, monkeypatch):
    folder.chmod(0o775)
    me = trust.pwd.getpwuid(os.geteuid()).pw_name

    def group(name: str, *members: str):
        return lambda number: trust.grp.struct_group((name, "x", number, list(members)))

    monkeypatch.setattr(trust.grp, "getgrgid", group(me))
    assert trust.read_trusted(folder / "inner/file") == b"good"
    for named, *members in ((me, me, "mallory"), ("staff",)):
        monkeypatch.setattr(trust.grp, "getgrgid", group(named, *members))
        with pytest.raises(Refused):
            trust.read_trusted(folder / "inner/file")


def test_below_a_folder_like_tmp_is_this_users_what_belongs_to_it(folder):
    folder.chmod(0o1777)
    assert trust.read_trusted(folder / "inner/file") == b"good"
    with pytest.raises(Refused, match="can be written by others"):
        trust.open_trusted(folder)  # anybody can put something into it
    os.close(trust.open_trusted(folder, sticky=True))


# ---- Symbolic links


@pytest.mark.parametrize("absolute", [True, False])
def test_links_are_followed_where_all_that_they_lead_through_is_this_users(folder, absolute):
    link = folder.parent / "link"
    link.symlink_to(folder if absolute else "./folder/../folder")
    assert trust.read_trusted(link / "inner/file") == b"good"
    folder.chmod(0o777)
    with pytest.raises(Refused, match=f"^{folder} can be written"):
        trust.read_trusted(link / "inner/file")


@as_root
def test_another_users_link_is_refused(folder):
    link = folder.parent / "link"
    link.symlink_to(folder)
    os.chown(link, SOMEBODY, 0, follow_symlinks=False)
    with pytest.raises(Refused, match=f"^{link} belongs to"):
        trust.read_trusted(link / "inner/file")


def test_a_link_to_itself_ends(tmp_path):
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(Refused, match="more than 40 symbolic links"):
        trust.open_trusted(tmp_path / "link")


def test_what_is_exchanged_while_the_path_is_looked_at_is_not_read(folder, monkeypatch):
    evil = folder.parent / "evil/inner"
    evil.mkdir(parents=True)
    (evil / "file").write_bytes(b"evil")
    check = trust._check

    def exchange(facts, place, sticky):
        check(facts, place, sticky=sticky)
        if place == folder:
            folder.rename(folder.parent / "away")
            folder.symlink_to(evil.parent)

    monkeypatch.setattr(trust, "_check", exchange)
    assert trust.read_trusted(folder / "inner/file") == b"good"


def test_what_is_not_there_is_no_refusal(folder):
    with pytest.raises(FileNotFoundError):
        trust.read_trusted(folder / "gone/file")
    with pytest.raises(NotADirectoryError):
        trust.read_trusted(folder / "inner/file/below")


def test_no_descriptor_is_left_open(folder):
    before = len(os.listdir("/proc/self/fd"))
    trust.read_trusted(folder / "inner/file")
    with pytest.raises(FileNotFoundError):
        trust.read_trusted(folder / "gone/file")
    assert len(os.listdir("/proc/self/fd")) == before


# ---- Making folders


def test_folders_are_made_for_this_user_alone(folder):
    before = os.umask(0)
    try:
        trust.make_private(folder / "a/b/c")
    finally:
        os.umask(before)
    for made in ("a", "a/b", "a/b/c"):
        assert stat.S_IMODE((folder / made).stat().st_mode) == 0o700
    trust.make_private(folder / "a/b/c")  # which is there


def test_nothing_is_made_where_others_can_write(folder):
    folder.chmod(0o777)
    with pytest.raises(Refused, match="can be written by others"):
        trust.make_private(folder / "a/b")
    assert not (folder / "a").exists()


def test_a_folder_that_is_there_is_looked_at(folder):
    (folder / "inner").chmod(0o1777)
    with pytest.raises(Refused, match="can be written by others"):
        trust.make_private(folder / "inner")
    trust.make_private(folder / "inner/own")  # as in /tmp
