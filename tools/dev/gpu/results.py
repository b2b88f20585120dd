"""results.json: what came of each part, written anew whenever one starts or ends."""

import json
import os
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path

from .. import console

_TAIL = 60


class Results:
    """In `folder`, beside a log for each part. What other parts left there earlier stays."""

    def __init__(self, folder: Path, facts: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "results.json"
        self._facts = facts
        self._parts = json.loads(self._file.read_text())["parts"] if self._file.exists() else {}
        self._now: list[str] = []
        self._failures: list[str] = []
        self._failed = False

    def part(self, name: str, run: Callable[[], str]) -> None:
        """Runs a part and keeps what came of it."""
        log = self._file.with_name(f"{name}.log")
        log.write_text("")
        start = time.monotonic()

        def keep(outcome: str, note: str) -> None:
            end = [] if outcome == "passed" else log.read_text(errors="replace").splitlines()
            self._keep(name, outcome, note, time.monotonic() - start, end[-_TAIL:])

        keep("running", "")
        try:
            keep("passed", run())
        except console.Failure as failure:
            self._failures.append(str(failure))
            self._failed = True
            keep("failed", "")
        except BaseException as error:
            keep("interrupted", repr(error))
            raise

    def not_run(self, name: str, why: str, *, is_failure: bool) -> None:
        self._failed |= is_failure
        self._keep(name, "not run", why, 0.0, [])

    def finish(self) -> int:
        """Prints what failed and then the table; returns the exit code."""
        for failure in self._failures:
            console.title(f"\n{failure}")
        console.title("")
        for name in self._now:
            part = self._parts[name]
            outcome = "" if part["outcome"] == "passed" else part["outcome"].upper() + " "
            line = f"  {name:<26} {part['seconds']:6.1f} s  {outcome}{part['note']}"
            console.title(line.rstrip())
        verdict = "FAILED" if self._failed else "all passed"
        console.title(f"\n{verdict}; results in {self._file.parent}")
        return int(self._failed)

    def _keep(self, name: str, outcome: str, note: str, seconds: float, end: list[str]) -> None:
        if name not in self._now:
            self._now.append(name)
        self._parts[name] = {
            "outcome": outcome,
            "note": note,
            "seconds": round(seconds, 1),
            "at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            **self._facts,
            "end_of_log": end,
        }
        whole = self._file.with_suffix(".new")  # whoever ends us leaves the old one or the new one
        whole.write_text(json.dumps({"parts": self._parts}, indent=1) + "\n")
        os.replace(whole, self._file)
