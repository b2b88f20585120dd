"""outback new: a project that is a working backend."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from . import answers, template, toolkit
from .answers import Answers
from .refused import Refused

PRISTINE = Path(".outback/template")  # the files as they were made, which `outback update` wants


def create(folder: Path, wanted: Answers) -> Answers:
    """Makes the project, whole or not at all. Raises Refused."""
    wanted.check()
    made = wanted.completed()
    files = template.render(toolkit.template(), made)
    try:
        _check_empty(folder)
        _make(folder, files, made)
    except OSError as error:
        raise Refused(
            f"{folder} cannot be written: {error.strerror or error}. Choose another folder with "
            f"--dir"
        ) from None
    return made


def _check_empty(folder: Path) -> None:
    """Empty, or with no more in it than a history that has yet to begin."""
    if folder.is_symlink() and not folder.exists():
        raise Refused(f"{folder} is a link that leads nowhere: choose another with --dir")
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise Refused(f"{there} is there already, and is no folder: choose another with --dir")
    if folder.exists() and any(entry.name != ".git" for entry in folder.iterdir()):
        raise Refused(f"{folder} is not empty: choose another folder with --dir")


def _make(folder: Path, files: dict[str, str], made: Answers) -> None:
    # Where it is to be, so that it takes its place in one step. A folder that is there may be the
    # only place that can be written, and somebody's working directory: it stays the one it is.
    is_there = folder.exists()
    with _parents(folder):
        place = folder if is_there else folder.parent
        with tempfile.TemporaryDirectory(prefix=".outback-new-", dir=place) as scratch:
            project = Path(scratch) / "project"
            write(project, files)
            write(project / PRISTINE, files)
            answers.file_in(project).write_text(made.save(), encoding="utf-8")
            if is_there:
                _move_entries(project, folder)
            else:
                project.rename(folder)


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def _parents(folder: Path) -> Iterator[None]:
    """Makes the folders above, and takes them away again where what is inside fails."""
    missing = [parent for parent in folder.parents if not parent.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for parent in missing:
                parent.rmdir()
        raise


def _move_entries(project: Path, folder: Path) -> None:
    with contextlib.ExitStack() as undo:
        for entry in list(project.iterdir()):
            undo.callback(_move_back, entry, folder / entry.name)
            entry.rename(folder / entry.name)
        undo.pop_all()


def _move_back(entry: Path, moved: Path) -> None:
    if not os.path.lexists(entry):
        moved.rename(entry)
