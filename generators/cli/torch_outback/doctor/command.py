"""The command `outback doctor`."""

from __future__ import annotations

import math
from typing import Any

import click


class _Seconds(click.FloatRange):
    """A range has no words for what is no number."""

    def convert(self, value: Any, parameter: Any, context: Any) -> float:
        seconds = super().convert(value, parameter, context)
        if math.isnan(seconds):
            self.fail(f"{value!r} is no number of seconds.", parameter, context)
        return seconds


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print a document of JSON, and nothing else.")
@click.option(
    "--timeout",
    type=_Seconds(min=0, min_open=True, max=3600),
    default=30.0,
    show_default=True,
    help="Seconds for each import, which has a process of its own.",
)
@click.pass_context
def doctor(context: click.Context, as_json: bool, timeout: float) -> None:
    """Say what is here of all that a backend needs, what is wrong with it, and what to do.

    Exits with 0 if nothing is wrong; with 1 if something is; with 2 for a wrong option.
    """
    from . import document, examination, rendering  # what only this command needs

    found = examination.examine(timeout)
    if as_json:
        click.echo(document.text(found))
    else:
        for line in rendering.lines(found):
            click.echo(line)
    context.exit(1 if found.problems else 0)
