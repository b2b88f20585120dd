"""outback new: a project that is a working backend."""

from pathlib import Path

from . import answers, names, template, toolkit, writing
from .answers import Answers
from .refused import Refused

PRISTINE = Path(".outback/template")  # the files as they were made, which `outback update` wants


def create(folder: Path, wanted: Answers) -> Answers:
    """Makes the project, whole or not at all. Raises Refused."""
    wanted.check()
    if why := names.package_problem(wanted.name):
        raise Refused(f"{why}. Try: outback new {names.suggestion(wanted.name)}")
    made = wanted.completed()
    files: dict[Path, str | None] = {}
    for path, text in template.render(toolkit.template(), made).items():
        files[folder / path] = files[folder / PRISTINE / path] = text
    files[answers.file_in(folder)] = made.save()
    try:
        _check_empty(folder)
        writing.write_all(files)
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
