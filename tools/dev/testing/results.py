"""What each part of ./dev test came to, kept as it ends: build/results/<part>.json."""

import dataclasses
import datetime
import json
import os
from dataclasses import dataclass
from pathlib import Path

from .. import shell
from ..report import PASSED, Outcome


@dataclass(frozen=True)
class State:
    """Which sources are tested: `tree` is git's name of a commit's files, `dirty` says that the
    working tree has others."""

    commit: str
    tree: str
    dirty: bool

    @classmethod
    def now(cls) -> "State":
        commit, _, tree = shell.output(["git", "log", "-1", "--format=%H %T"]).partition(" ")
        changed = shell.output(["git", "status", "--porcelain"])
        return cls(commit, tree, not tree or bool(changed))


@dataclass(frozen=True)
class Result:
    part: str
    state: str  # of report.Outcome
    note: str
    seconds: float
    torch: str
    date: str
    commit: str
    tree: str
    dirty: bool


class Results:
    """Those of one torch."""

    def __init__(self, folder: Path, torch: str) -> None:
        self._folder = folder
        self._torch = torch

    def last(self, part: str) -> Result | None:
        try:
            return Result(**json.loads((self._folder / f"{part}.json").read_text("utf-8")))
        except (OSError, ValueError, TypeError):  # none, or of another release of this program
            return None

    def passed(self, part: str, state: State) -> Result | None:
        """The last result, where it holds for `state`: the same committed files and torch."""
        last = self.last(part)
        same = last and (last.tree, last.torch) == (state.tree, self._torch)
        return last if same and last.state == PASSED and not (last.dirty or state.dirty) else None

    def keep(self, part: str, outcome: Outcome, before: State, after: State) -> None:
        """`before` and `after` are the sources when the part began and ended."""
        date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        dirty = before.dirty or after != before
        result = Result(
            part,
            outcome.state,
            outcome.note,
            round(outcome.seconds or 0, 1),
            self._torch,
            date,
            before.commit,
            before.tree,
            dirty,
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        whole = self._folder / f"{part}.json"
        partial = whole.with_suffix(".partial")
        partial.write_text(json.dumps(dataclasses.asdict(result), indent=2) + "\n", "utf-8")
        os.replace(partial, whole)
