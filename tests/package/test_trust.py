"""torch_outback.trust: what others could have put at a path is not opened."""

import os
import stat
import struct

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


def test_a_group_is_of_those_too_whose_first_one_it_is(folder, monkeypatch):
    folder.chmod(0o775)
    os.chown(folder, -1, os.getegid())
    me = trust.pwd.getpwuid(os.geteuid())
    mallory = trust.pwd.struct_passwd(("mallory", "x", SOMEBODY, os.getegid(), "", "/", ""))
    alone = trust.grp.struct_group((me.pw_name, "x", os.getegid(), []))
    monkeypatch.setattr(trust.grp, "getgrgid", lambda number: alone)
    for users in ([me], [me, mallory]):
        monkeypatch.setattr(trust.pwd, "getpwall", lambda users=users: users)
        if mallory not in users:
            assert trust.read_trusted(folder / "inner/file") == b"good"
            continue
        with pytest.raises(Refused, match="can be written by others"):
            trust.read_trusted(folder / "inner/file")


@pytest.mark.parametrize("place", ["folder", "folder/inner", "folder/inner/file"])
@pytest.mark.parametrize("permissions", [7, 5], ids=["may write", "may read"])
def test_whom_an_access_list_lets_write_is_another(folder, monkeypatch, place, permissions):
    me = trust.pwd.getpwuid(os.geteuid())
    alone = trust.grp.struct_group((me.pw_name, "x", os.getegid(), []))
    monkeypatch.setattr(trust.grp, "getgrgid", lambda number: alone)
    monkeypatch.setattr(trust.pwd, "getpwall", lambda: [me])
    owner, somebody, group, mask, others, nobody = 1, 2, 4, 16, 32, 0xFFFFFFFF
    entries = (owner, 7, nobody), (somebody, permissions, SOMEBODY), (group, 5, nobody)
    entries += (mask, permissions, nobody), (others, 0, nobody)
    listed = b"".join((struct.pack("<I", 2), *(struct.pack("<HHI", *it) for it in entries)))
    wrong = folder.parent / place
    try:
        os.setxattr(wrong, "system.posix_acl_access", listed)
    except OSError as error:
        pytest.skip(f"this file system keeps no access lists: {error}")
    if permissions == 5:
        assert trust.read_trusted(folder / "inner/file") == b"good"
        return
    with pytest.raises(
        Refused, match=rf"^{wrong} can be .*mode 770 and an access list.*chmod go-w"
    ):
        trust.read_trusted(folder / "inner/file")
    wrong.chmod(0o750)  # as the message says
    assert trust.read_trusted(folder / "inner/file") == b"good"


def test_below_a_folder_like_tmp_is_this_users_what_belongs_to_it(folder):
    folder.chmod(0o1777)
    assert trust.read_trusted(folder / "inner/file") == b"good"
    with pytest.raises(Refused, match="can be written by others") as refused:
        trust.open_trusted(folder)  # anybody can put something into it
    assert "chmod" not in str(refused.value)  # it is to stay so
    os.close(trust.open_trusted(folder, sticky=True))


@as_root
def test_a_program_with_other_rights_than_its_users_trusts_root_alone(folder, monkeypatch):
    monkeypatch.setattr(trust.variables, "has_other_rights", lambda: True)
    assert trust.read_trusted(folder / "inner/file") == b"good"
    os.chown(folder / "inner", SOMEBODY, 0)
    monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
    with pytest.raises(Refused, match=f"inner belongs to user {SOMEBODY}: .* root's"):
        trust.read_trusted(folder / "inner/file")


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

    def exchange(opened, facts, place, sticky):
        check(opened, facts, place, sticky=sticky)
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
