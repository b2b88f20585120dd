"""results.json: what came of each part, written anew whenever one starts or ends."""

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .. import console
from .programs import tail


@dataclass
class Outcome:
    """What a part that went to its end has to say."""

    note: str
    figures: Mapping[str, Any] = field(default_factory=dict)


class Failed(console.Failure):
    """A part that found something wrong, and has figures all the same."""

    def __init__(self, note: str, text: str, figures: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.note = note
        self.figures = figures or {}


class Results:
    """In `folder`, beside a log for each part. What other parts left there earlier stays."""

    def __init__(self, folder: Path, facts: Mapping[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "results.json"
        self._folder = folder
        self._facts = facts
        self._parts: dict[str, dict[str, Any]] = {}
        if self._file.exists():
            self._parts = json.loads(self._file.read_text())["parts"]
        self._now: list[str] = []
        self._failures: list[str] = []
        self._failed = False

    def log(self, part: str) -> Path:
        return self._folder / f"{part}.log"

    def part(self, name: str, run: Callable[[], Outcome]) -> bool:
        """Runs a part and keeps what came of it; whether it passed."""
        self.log(name).write_text("")
        start = time.monotonic()
        self._keep(name, "running", "", 0.0, {})
        try:
            outcome = run()
        except console.Failure as failure:
            note = getattr(failure, "note", "")
            figures = getattr(failure, "figures", {})
            self._failures.append(str(failure))
            self._failed = True
            self._keep(
                name, "failed", note, time.monotonic() - start, figures, tail(self.log(name))
            )
            return False
        except BaseException as error:
            note = "" if isinstance(error, KeyboardInterrupt) else repr(error)
            seconds, end = time.monotonic() - start, tail(self.log(name))
            self._keep(name, "interrupted", note, seconds, {}, end)
            raise
        self._keep(name, "passed", outcome.note, time.monotonic() - start, outcome.figures)
        return True

    def not_run(self, name: str, why: str, *, is_failure: bool = True) -> None:
        self._failed |= is_failure
        self._keep(name, "not run", why, 0.0, {})

    def finish(self) -> int:
        """Prints what failed and then the table; returns the exit code."""
        for failure in self._failures:
            console.title(f"\n{failure}")
        console.title("")
        for name in self._now:
            part = self._parts[name]
            outcome = "" if part["outcome"] == "passed" else part["outcome"].upper() + " "
            console.title(
                f"  {name:<26} {part['seconds']:6.1f} s  {outcome}{part['note']}".rstrip()
            )
        verdict = "FAILED" if self._failed else "all passed"
        console.title(f"\n{verdict}; results in {self._folder}")
        return 1 if self._failed else 0

    def _keep(
        self,
        name: str,
        outcome: str,
        note: str,
        seconds: float,
        figures: Mapping[str, Any],
        end_of_log: list[str] | None = None,
    ) -> None:
        if name not in self._now:
            self._now.append(name)
        self._parts[name] = {
            "outcome": outcome,
            "note": note,
            "seconds": round(seconds, 1),
            "at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            **self._facts,
            "figures": dict(figures),
            "end_of_log": end_of_log or [],
        }
        whole = self._file.with_suffix(".new")  # whoever ends us leaves the old one or the new one
        whole.write_text(json.dumps({"parts": self._parts}, indent=1) + "\n")
        os.replace(whole, self._file)
