"""What is written at a path that a user named follows no link of another user's, and is whole."""

import errno
import os
import stat
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import ROOT
from torch_outback import writing
from torch_outback.cli import main

sys.path.insert(0, str(ROOT))
from conformance import files, safe_files

ANOTHER_USER = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")
FOREIGN = "symbolic link of another user"


@pytest.fixture
def victim(tmp_path):
    file = tmp_path / "victim"
    file.write_text("precious")
    yield file
    assert file.read_text() == "precious"


def foreign_link(link: Path, target: Path) -> None:
    link.symlink_to(target)
    os.chown(link, ANOTHER_USER, ANOTHER_USER, follow_symlinks=False)


WAYS = {
    "report": lambda path: safe_files.write(path, b"report"),
    "all": lambda path: writing.write_all({path: "report"}),
    "one": lambda path: writing.write(path, "report"),
    "conformance": lambda path: files.write(path, "report"),
    "check": writing.check,
    "check of conformance": files.check_writable,
}


@needs_root
@pytest.mark.parametrize("way", WAYS)
def test_a_link_of_another_user_is_not_followed(tmp_path, victim, way):
    foreign_link(tmp_path / "file", victim)
    foreign_link(tmp_path / "folder", tmp_path)
    (tmp_path / "own").symlink_to("file")  # which leads to theirs
    for path in (tmp_path / "file", tmp_path / "folder/victim", tmp_path / "own"):
        with pytest.raises(PermissionError, match=FOREIGN) as raised:
            WAYS[way](path)
        assert raised.value.filename == str(path)


@needs_root
@pytest.mark.parametrize(
    "arguments",
    [
        ["ops", "--read", "{document}", "--html", "{link}"],
        ["ops", "--read", "{document}", "--json", "{link}"],
        ["conformance", "--device=x", "--suite=errors", "--html={link}"],
        ["conformance", "--device=x", "--suite=errors", "--json={link}"],
        ["conformance", "--device=x", "--suite=errors", "--junit={link}"],
        ["conformance", "--device=x", "--suite=errors", "--badge={link}"],
        ["conformance", "--device=x", "--suite=errors", "--relay={link}"],
    ],
    ids=lambda given: f"{given[0]} {given[-2]} {given[-1]}",
)
def test_a_command_says_so_before_it_begins(tmp_path, victim, arguments):
    link, document = tmp_path / "link", tmp_path / "document.json"
    foreign_link(link, victim)
    document.write_text("{}")
    done = CliRunner().invoke(main, [it.format(link=link, document=document) for it in arguments])
    assert done.exit_code == 2 and FOREIGN in done.output, done.output
    assert str(link) in done.output and done.output.count("\n") == 1


@needs_root
def test_an_update_follows_no_link_of_another_user(tmp_path, victim):
    def outback(*arguments):
        return CliRunner().invoke(main, list(map(str, arguments)))

    project = tmp_path / "foo"
    assert outback("new", "foo", "--yes", "--dir", project).exit_code == 0
    (project / "README.md").unlink()
    foreign_link(project / "README.md", victim)
    answers = project / ".outback/project.json"
    pristine = project / ".outback/template/README.md"
    pristine.write_text(pristine.read_text() + "older\n")
    victim_text = victim.read_text()
    victim.write_text(pristine.read_text())  # as if it were not edited
    before = answers.read_text()
    done = outback("update", project)
    assert done.exit_code == 2 and FOREIGN in done.output, done.output
    assert victim.read_text() == pristine.read_text() and answers.read_text() == before
    victim.write_text(victim_text)


def test_an_own_link_stays_one(tmp_path):
    target, link = tmp_path / "a/target", tmp_path / "link"
    target.parent.mkdir()
    link.symlink_to("a/target")
    safe_files.write(link, b"report")
    assert link.is_symlink() and target.read_bytes() == b"report"
    with pytest.raises(OSError, match="not followed"):
        safe_files.write(link, b"other", follows=False)
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(OSError) as raised:
        safe_files.write(link, b"report")
    assert raised.value.errno == errno.ELOOP


@pytest.mark.parametrize("way", ["report", "all", "conformance"])
def test_what_stands_beside_is_not_written(tmp_path, victim, monkeypatch, way):
    """Its name cannot be known; where it is, nothing is written."""
    monkeypatch.setattr(os, "urandom", lambda size: b"\1" * size)
    (tmp_path / f".file.{'01' * 8}").symlink_to(victim)
    with pytest.raises(FileExistsError):
        WAYS[way](tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_another_name_of_the_file_keeps_what_it_has(tmp_path, victim):
    (tmp_path / "file").hardlink_to(victim)
    safe_files.write(tmp_path / "file", b"report")
    assert (tmp_path / "file").read_bytes() == b"report"


@needs_root
def test_in_a_folder_that_takes_no_files_one_is_written_in_place(tmp_path, victim, monkeypatch):
    def refuses(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(safe_files.Place, "make", refuses)
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_text("older and longer")
    safe_files.check(file)
    safe_files.write(file, b"report")
    assert file.read_bytes() == b"report"
    other.hardlink_to(victim)
    with pytest.raises(OSError, match="several names"):
        safe_files.write(other, b"report")
    with pytest.raises(OSError, match="several names"):
        safe_files.check(other)
    with pytest.raises(PermissionError):
        safe_files.write(tmp_path / "new", b"report")
    os.mkfifo(tmp_path / "pipe")
    os.chown(tmp_path / "pipe", ANOTHER_USER, ANOTHER_USER)
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="belongs to another user"):
        safe_files.write(tmp_path / "pipe", b"report")
    os.close(reader)


@needs_root
@pytest.mark.parametrize("way", ["report", "one", "conformance", "check", "check of conformance"])
def test_a_pipe_of_another_user_is_not_waited_for(tmp_path, way):
    os.mkfifo(tmp_path / "pipe")
    os.chown(tmp_path / "pipe", ANOTHER_USER, ANOTHER_USER)
    with pytest.raises(PermissionError, match="belongs to another user"):
        WAYS[way](tmp_path / "pipe")


def test_a_pipe_needs_a_reader_when_it_is_written(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    safe_files.check(pipe)
    with pytest.raises(OSError, match="a pipe that nobody reads from") as raised:
        safe_files.write(pipe, b"report")
    assert raised.value.errno == errno.ENXIO and raised.value.filename == str(pipe)
    read = []
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)

    def read_all():
        with open(reader, "rb") as file:
            read.append(file.read())

    thread = threading.Thread(target=read_all, daemon=True)
    report = b"x" * (1 << 20)  # more than a pipe holds at once
    writer = os.open(pipe, os.O_WRONLY)  # so that the reader waits for what comes
    thread.start()
    safe_files.write(pipe, report)
    os.close(writer)
    thread.join(timeout=20)
    assert read == [report]


@needs_root
def test_what_a_sticky_folder_keeps_for_another_user_is_refused_at_once(tmp_path, monkeypatch):
    folder = tmp_path / "sticky"
    folder.mkdir()
    folder.chmod(0o1777)
    file, own = folder / "file", folder / "own"
    file.write_text("kept")
    file.chmod(0o666)
    own.touch()
    os.chown(own, ANOTHER_USER, ANOTHER_USER)
    monkeypatch.chdir(folder)  # the way to it is root's alone
    refused = []
    os.seteuid(ANOTHER_USER)
    try:
        for way in ("report", "all", "one", "check", "check of conformance"):
            try:
                WAYS[way](Path("file"))
            except PermissionError as error:
                refused.append(str(error))
            WAYS[way](Path("own"))
    finally:
        os.seteuid(0)
    assert len(refused) == 5 and all("its folder lets nobody else" in it for it in refused)
    assert file.read_text() == "kept" and own.read_text() == "report"
    assert sorted(it.name for it in folder.iterdir()) == ["file", "own"]
    folder.chmod(0o777)
    os.seteuid(ANOTHER_USER)
    try:
        safe_files.check("file")
        safe_files.write("file", b"report")
    finally:
        os.seteuid(0)
    assert file.read_text() == "report"


@pytest.mark.parametrize("name", ["ж" * 125 + ".json", "x" + "€" * 83 + ".json", "x" * 255])
def test_a_name_may_be_as_long_as_the_disk_takes(tmp_path, name):
    for _ in range(2):
        safe_files.check(tmp_path / name)
        safe_files.write(tmp_path / name, b"report")
    assert [it.name for it in tmp_path.iterdir()] == [name]


def test_modes_stay_and_nothing_is_left(tmp_path):
    file = tmp_path / "file"
    for mode in (0o640, 0o755):
        file.touch()
        file.chmod(mode)
        safe_files.write(file, b"report")
        assert stat.S_IMODE(file.stat().st_mode) == mode
    if os.geteuid() == 0:  # what another user may write is not what this one makes
        os.chown(file, ANOTHER_USER, ANOTHER_USER)
        file.chmod(0o666)
        safe_files.write(file, b"report")
        assert stat.S_IMODE(file.stat().st_mode) == 0o644 and file.stat().st_uid == 0
    assert [it.name for it in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("way", ["report", "all"])
def test_nobody_else_reads_what_is_not_theirs_while_it_is_written(tmp_path, monkeypatch, way):
    file, modes, fchmod = tmp_path / "file", [], os.fchmod

    def sees(descriptor, mode):
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        fchmod(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", sees)
    file.touch()
    file.chmod(0o600)
    WAYS[way](file)
    assert {*modes} == {0o600} and stat.S_IMODE(file.stat().st_mode) == 0o600


def test_folders_are_made_and_go_with_an_error(tmp_path):
    files.write(tmp_path / "a/b/file", "report")
    assert (tmp_path / "a/b/file").read_text() == "report"
    with pytest.raises(NotADirectoryError):
        files.write(tmp_path / "a/b/file/c", "report")
    with pytest.raises(OSError), safe_files.Folders() as folders:
        with safe_files.place(tmp_path / "c/d/file", folders=folders):
            assert (tmp_path / "c/d").is_dir()
            raise OSError
    assert not (tmp_path / "c").exists()
    with pytest.raises(IsADirectoryError):
        files.check_writable(tmp_path / "a")


def test_a_long_path_needs_few_descriptors(tmp_path, monkeypatch):
    links = tmp_path / "links"
    links.symlink_to(tmp_path)
    deep = links / "/".join(["folder"] * 60)
    deep.mkdir(parents=True)
    opened, most, step = {*os.listdir("/proc/self/fd")}, [0], os.open

    def counts(*arguments, **named):
        descriptor = step(*arguments, **named)
        most.append(len(os.listdir("/proc/self/fd")) - len(opened))
        return descriptor

    with monkeypatch.context() as counted:
        counted.setattr(os, "open", counts)
        safe_files.check(deep / "file")
        safe_files.write(deep / "file", b"report")
    assert (deep / "file").read_bytes() == b"report"
    assert max(most) <= 3 and len(most) > 120
    assert len(os.listdir("/proc/self/fd")) == len(opened)


def test_every_way_to_name_a_file(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    for path in ("file", "./file", "../a/file", "//" + str(tmp_path) + "/a//file"):
        safe_files.write(path, path.encode())
        assert Path("file").read_bytes() == path.encode()
    safe_files.write("/dev/null", b"report")
    for path in ("/", ".", "..", ""):
        with pytest.raises(OSError):
            safe_files.write(path, b"report")


@pytest.mark.parametrize("way", ["report", "one", "conformance"])
@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_a_link_to_an_open_file_of_this_process_names_that_one(tmp_path, way, kind):
    if kind == "pipe":
        reader, own = os.pipe()
    else:
        own = os.open(tmp_path / "own", os.O_RDWR | os.O_CREAT)
        reader = os.open(tmp_path / "own", os.O_RDONLY)
    os.write(own, b"before ")
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.symlink_to("/proc/thread-self/fd")
    link.symlink_to(f"/dev/fd/{own}")
    paths = [
        *(link, folder / str(own), Path(f"/proc/thread-self/fd/{own}")),
        *(Path(f"/proc/{os.getpid()}/fd/{own}"), Path(f"/dev/fd/../fd/{own}")),
    ]
    for path in paths:
        writing.check(path)
        files.check_writable(path)
        WAYS[way](path)
    assert os.read(reader, 1 << 10) == b"before " + b"report" * len(paths)
    assert link.is_symlink()
    os.close(own)
    os.close(reader)
    with pytest.raises(OSError):
        WAYS[way](link)


@needs_root
def test_a_link_of_another_user_to_an_open_file_is_not_followed(tmp_path):
    reader, own = os.pipe()
    foreign_link(tmp_path / "link", Path(f"/dev/fd/{own}"))
    for way in ("report", "check"):
        with pytest.raises(PermissionError, match=FOREIGN):
            WAYS[way](tmp_path / "link")
    os.close(own)
    assert os.read(reader, 10) == b""
    os.close(reader)


@pytest.mark.parametrize("end", ["/", "/.", "//", "/./"])
def test_the_path_of_a_folder_is_none_of_a_file(tmp_path, victim, end):
    (tmp_path / "link").symlink_to(f"missing{end}")
    (tmp_path / "folder").mkdir()
    for write in (safe_files.write, lambda path, _: safe_files.check(path)):
        for name in (f"new{end}", "link", f"folder{end}"):
            with pytest.raises(IsADirectoryError):
                write(f"{tmp_path}/{name}", b"report")
            with pytest.raises(IsADirectoryError), safe_files.Folders() as folders:
                safe_files.write(f"{tmp_path}/{name}", b"report", folders=folders)
        with pytest.raises(NotADirectoryError):
            write(f"{victim}{end}", b"report")
    safe_files.write(f"{tmp_path}/folder{end}/file", b"report")
    assert sorted(it.name for it in tmp_path.iterdir()) == ["folder", "link", "victim"]
