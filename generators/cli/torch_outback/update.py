"""outback update: brings a project up to the present scaffold, and keeps its author's edits.

A three-way merge of each file: what `outback new` or the last update wrote, which the project keeps
in .outback/template; what the author made of it; and what this Outback writes for the same answers.
"""

import dataclasses
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from . import answers, new, template, toolkit
from .refused import Refused

_MARKER = "<<<<<<< "


@dataclass
class Changes:
    """What an update does to a project, as paths in it."""

    added: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)  # gone from the scaffold, but edited
    left_out: list[str] = field(default_factory=list)  # the author deleted it, and so it stays


def files_behind(project: Path) -> list[str]:
    """The files that an update would bring something new for. Raises Refused."""
    was, now = _was_and_now(project)[1:]
    return sorted(path for path in was.keys() | now.keys() if was.get(path) != now.get(path))


def update(project: Path) -> Changes:
    """Writes the merged files into `project`. Raises Refused, and has changed nothing then."""
    made, was, now = _was_and_now(project)
    if shutil.which("git") is None:
        raise Refused("outback update merges with git, and there is no git on the PATH")
    changes = Changes()
    texts: dict[str, str | None] = {}  # what to write; None: to delete
    for path in sorted(was.keys() | now.keys()):
        before, after = was.get(path), now.get(path)
        file = project / path
        mine = file.read_text(encoding="utf-8") if file.is_file() else None
        if mine is not None and any(line.startswith(_MARKER) for line in mine.splitlines()):
            raise Refused(f"{file} has conflicts of an earlier update: resolve them first")
        if before == after or mine == after:
            continue
        if after is None:
            if mine == before:
                texts[path] = None
                changes.removed.append(path)
            elif mine is not None:
                changes.kept.append(path)
        elif mine is None:
            if before is None:
                texts[path] = after
                changes.added.append(path)
            else:
                changes.left_out.append(path)
        else:
            texts[path], clean = _merge(before or "", mine, after)
            (changes.merged if clean else changes.conflicts).append(path)
    _write(project, texts)
    pristine = project / new.PRISTINE
    shutil.rmtree(pristine)
    new.write(pristine, now)
    answers.file_in(project).write_text(made.save(), encoding="utf-8")
    return changes


def _was_and_now(project: Path) -> tuple[answers.Answers, dict[str, str], dict[str, str]]:
    """The answers, with this Outback's release; the files as they were made, and would be now."""
    given = answers.load(project)
    version = toolkit.minor_version()
    if _numbers(given.outback) > _numbers(version):
        raise Refused(
            f"{project} was made by Outback {given.outback}, and this is {version}: "
            f"pip install --upgrade torch-outback"
        )
    pristine = project / new.PRISTINE
    if not pristine.is_dir():
        raise Refused(
            f"{pristine} is missing, without which nobody can tell your edits from what was made: "
            f"take it from the project's history"
        )
    was = {
        file.relative_to(pristine).as_posix(): file.read_text(encoding="utf-8")
        for file in pristine.rglob("*")
        if file.is_file()
    }
    made = dataclasses.replace(given, outback=version)
    return made, was, template.render(toolkit.template(), made)


def _merge(before: str, mine: str, after: str) -> tuple[str, bool]:
    """Merged as git does it; False where there are conflicts, which the text then marks."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, text in (("mine", mine), ("before", before), ("after", after)):
            file = Path(folder) / name
            file.write_text(text, encoding="utf-8")
            files.append(file)
        labels = ["-L", "yours", "-L", "as it was made", "-L", "Outback"]
        done = subprocess.run(
            ["git", "merge-file", "-p", "--diff3", *labels, *files],
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
    if done.returncode < 0 or done.returncode > 127:  # else it is the number of conflicts
        raise Refused(f"git merge-file failed: {done.stderr.strip()}")
    return done.stdout, done.returncode == 0


def _write(project: Path, texts: dict[str, str | None]) -> None:
    for path, text in texts.items():
        if text is None:
            (project / path).unlink()
        else:
            new.write(project, {path: text})


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
