"""The bar while a run is going on: counts by verdict, and the time that is left."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from rich import progress
from rich.console import Console

from .document import totals


class Progress:
    """Nothing where nobody looks at it."""

    def __init__(self, console: Console):
        self._bar = progress.Progress(
            progress.TextColumn("{task.fields[counts]}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("[dim]{task.description}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task: progress.TaskID | None = None

    @contextlib.contextmanager
    def over(self, count: int, results: Mapping[str, Any]) -> Iterator[None]:
        """`results` are there already."""
        with self._bar:
            self._task = self._bar.add_task(
                "starting", total=count, completed=len(results), counts=_counts(results)
            )
            yield

    def show(self, entry: Mapping[str, Any], results: Mapping[str, Any]) -> None:
        if self._task is not None and not self._bar.disable:
            self._bar.update(
                self._task,
                completed=len(results),
                description=entry["id"],
                counts=_counts(results),
            )


def _counts(results: Mapping[str, Any]) -> str:
    of = totals(results.values())
    return " ".join(f"{verdict} {count}" for verdict, count in of.items() if count)
