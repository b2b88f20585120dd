"""The command `outback upgrade-report`."""

from __future__ import annotations

from pathlib import Path

import click

from .. import writing
from ..refused import Refused


@click.command("upgrade-report", no_args_is_help=True)
@click.argument("old")
@click.argument("new")
@click.option(
    "--project",
    type=click.Path(path_type=Path),
    default=Path("."),
    show_default="the current folder",
    help="The folder whose sources of C++ and Python are searched.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(("text", "markdown", "json")),
    default="text",
    show_default=True,
    help="json has all changes and all lines.",
)
@click.option(
    "--most",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Changes to show of each section that touch nothing of the project.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report to this file instead of printing it.",
)
def upgrade_report(
    old: str, new: str, project: Path, kind: str, most: int, output: Path | None
) -> None:
    """Say what changed for a backend between two releases of torch, and what touches a project.

    OLD and NEW are each a wheel of torch, a folder with torch/ in it, a virtual environment, or an
    environment's Python. Files are read, and nothing of them is run.

    Exits with 0, whatever changed; with 2 where there is no torch or no source to read.
    """
    from . import comparing, rendering

    if output is not None:
        _check(output)
    report = comparing.compare(old, new, project)
    if kind == "json":
        lines = [rendering.as_json(report)]
    else:
        shown = rendering.as_markdown if kind == "markdown" else rendering.as_text
        lines = list(shown(report, most))
    if output is None:
        for line in lines:
            click.echo(line)
        return
    text = click.unstyle("".join(f"{line}\n" for line in lines))
    try:
        writing.write(output, text)
    except OSError as error:
        raise Refused(f"{output} cannot be written: {error.strerror}") from None


def _check(output: Path) -> None:
    """Before the releases are read."""
    if not output.parent.is_dir():
        raise Refused(f"{output} cannot be written: there is no folder {output.parent}")
    try:
        writing.check(output)
    except OSError as error:
        raise Refused(f"{output} cannot be written: {error.strerror}") from None
