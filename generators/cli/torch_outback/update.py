"""outback update: brings a project up to the present scaffold, and keeps its author's edits.

A three-way merge of each file: what `outback new` or the last update wrote, which the project keeps
in .outback/template; what the author made of it; and what this Outback writes for the same answers.
"""

import dataclasses
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from . import answers, new, template, toolkit, writing
from .refused import Refused

# A line of "=======" alone may be a heading's, of a text.
_MARKER = re.compile(r"^(<{7}|\|{7}|>{7}) ", re.MULTILINE)


@dataclass
class Changes:
    """What an update does to a project, as paths in it."""

    added: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)  # gone from the scaffold, but edited
    left_out: list[str] = field(default_factory=list)  # the author deleted it, and so it stays


@dataclass
class State:
    """How a project stands, as paths in it."""

    behind: list[str]  # an update would bring something new for them
    conflicts: list[str]  # they have the marks of an update's conflicts in them


def state(project: Path, torch: str = "", source: str | None = None) -> State:
    """For the project's torch and source of torch-outback, or others. Raises Refused."""
    was, now = _was_and_now(project, torch, source)[1:]
    paths = sorted(was.keys() | now.keys())
    return State(
        [path for path in paths if was.get(path) != now.get(path)],
        [path for path in paths if _has_conflicts(_text(project / path))],
    )


def update(project: Path, torch: str = "", source: str | None = None) -> Changes:
    """Writes the merged files into `project`, for its torch and source of torch-outback, or others.
    Raises Refused or OSError, and has changed nothing then.
    """
    made, was, now = _was_and_now(project, torch, source)
    if shutil.which("git") is None:
        raise Refused("outback update merges with git, and there is no git on the PATH")
    changes = Changes()
    texts: dict[str, str | None] = {}  # what to write; None: to delete
    for path in sorted(was.keys() | now.keys()):
        before, after = was.get(path), now.get(path)
        mine = _text(project / path)
        if _has_conflicts(mine):
            raise Refused(
                f"{project / path} has conflicts of an earlier update: resolve them first"
            )
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
            texts[path], clean = _merge(path, before or "", mine, after)
            (changes.merged if clean else changes.conflicts).append(path)
    _write(project, texts, was, now, made)
    return changes


def _was_and_now(
    project: Path, torch: str, source: str | None
) -> tuple[answers.Answers, dict[str, str], dict[str, str]]:
    """The answers, with this Outback's release; the files as they were made, and would be now."""
    given = answers.load(project, torch)
    pristine = project / new.PRISTINE
    if not pristine.is_dir():
        raise Refused(
            f"{pristine} is missing, without which nobody can tell your edits from what was made: "
            f"take it from the project's history"
        )
    was = {
        file.relative_to(pristine).as_posix(): writing.read(file)
        for file in pristine.rglob("*")
        if file.is_file()
    }
    made = dataclasses.replace(given, outback=toolkit.minor_version())
    if source is not None:
        made = dataclasses.replace(made, toolkit=source)
        made.check()
    return made, was, template.render(toolkit.template(), made)


def _text(file: Path) -> str | None:
    """Of the author's file; None where there is none."""
    if file.is_dir():
        raise Refused(f"{file} is a folder, and Outback has a file of that name: rename the folder")
    return writing.read(file) if file.is_file() else None


def _has_conflicts(text: str | None) -> bool:
    return text is not None and _MARKER.search(text) is not None


def _merge(path: str, before: str, mine: str, after: str) -> tuple[str, bool]:
    """Merged as git does it; False where there are conflicts, which the text then marks."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, text in (("mine", mine), ("before", before), ("after", after)):
            files.append(Path(folder) / name)
            writing.write(files[-1], text)
        labels = ["-L", "yours", "-L", "as it was made", "-L", "Outback"]
        done = subprocess.run(
            ["git", "merge-file", "-p", "--diff3", *labels, *files],
            capture_output=True,
        )
    said, merged = (
        output.decode("utf-8", "surrogateescape") for output in (done.stderr, done.stdout)
    )
    # The status is the number of conflicts, or says that git has failed.
    if done.returncode != 0 and not _has_conflicts(merged):
        raise Refused(f"git merge-file failed for {path}: {said.strip()}")
    return merged, done.returncode == 0


def _write(
    project: Path,
    texts: dict[str, str | None],
    was: dict[str, str],
    now: dict[str, str],
    made: answers.Answers,
) -> None:
    """The author's files, and what the next update compares with."""
    files = {project / path: text for path, text in texts.items()}
    pristine = project / new.PRISTINE
    for path in sorted(was.keys() | now.keys()):
        if was.get(path) != now.get(path):
            files[pristine / path] = now.get(path)
    files[answers.file_in(project)] = made.save()
    writing.write_all(files)
