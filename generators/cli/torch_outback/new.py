"""outback new: a project that is a working backend."""

import shutil
import tempfile
from pathlib import Path

from . import answers, template, toolkit
from .answers import Answers
from .refused import Refused

PRISTINE = Path(".outback/template")  # the files as they were made, which `outback update` wants


def create(folder: Path, wanted: Answers) -> Answers:
    """Makes the project, whole or not at all. Raises Refused."""
    wanted.check()
    if folder.exists() and not folder.is_dir():
        raise Refused(f"{folder} is there already, and is no folder: choose another with --dir")
    if folder.exists() and any(folder.iterdir()):
        raise Refused(f"{folder} is not empty: choose another folder with --dir")
    made = wanted.completed()
    files = template.render(toolkit.template(), made)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # On the same file system, so that it takes its place in one step.
    with tempfile.TemporaryDirectory(prefix=".outback-new-", dir=folder.parent) as scratch:
        project = Path(scratch) / "project"
        write(project, files)
        write(project / PRISTINE, files)
        answers.file_in(project).write_text(made.save(), encoding="utf-8")
        if folder.exists():  # it may be somebody's working directory: it stays the one it is
            for entry in project.iterdir():
                shutil.move(entry, folder)
        else:
            shutil.move(project, folder)
    return made


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
