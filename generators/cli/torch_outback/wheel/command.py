"""The command `outback wheel`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("wheel")
@click.argument("project", default=".", type=_FOLDER)
@click.option(
    "--torch",
    default="",
    metavar="RELEASES",
    help="Minor releases, as 2.11,2.13; all that Outback supports.",
)
@click.option(
    "--python", default="", metavar="RELEASES", help="Of Python, as 3.11,3.12; that of this one."
)
@click.option(
    "--runtime-only",
    is_flag=True,
    help="Replace the runtime and the Python sources of the wheel in --out; needs no torch.",
)
@click.option("--out", type=_FOLDER, help="The wheel's folder; PROJECT/dist.")
@click.option("--work", type=_FOLDER, help="What is made on the way; PROJECT/build/outback-wheel.")
@click.option(
    "--no-repair", is_flag=True, help="Leave out auditwheel: the wheel is tagged linux_x86_64."
)
@click.option("--yes", "-y", is_flag=True, help="Download without a question.")
def wheel(
    project: Path,
    torch: str,
    python: str,
    runtime_only: bool,
    out: Path | None,
    work: Path | None,
    no_repair: bool,
    yes: bool,
) -> None:
    """Make one wheel of PROJECT for several releases of torch.

    Each torch is installed into an environment of its own, one at a time, and removed again; that
    of this Python is taken as it is where it fits. A half that is finished is not made again: what
    was interrupted goes on.
    """
    from . import making, wanted
    from . import project as projects
    from . import runtime_only as replacing
    from .downloads import shown

    found = projects.load(project)
    pythons = wanted.pythons(python)
    halves = [wanted.Half(it, each) for it in wanted.torches(torch) for each in pythons]
    out = (out or found.folder / "dist").resolve()
    work = (work or found.folder / "build/outback-wheel").resolve()
    sources = making.sources_of(found, out, work)
    request = making.Request(found, sources, halves, pythons, out, work, repair=not no_repair)
    making.check(request)
    with making.alone(request.work):
        if runtime_only:
            with _progress() as say:
                made = replacing.replace(request, say)
        else:
            missing = making.needed(request, click.echo)
            if making.planned(request, missing, click.echo) and not yes:
                _ask()
            with _progress() as say:
                try:
                    for half in missing:
                        making.make_half(request, half, say)
                except KeyboardInterrupt:
                    say(f"stopped; the halves that are finished stay in {work}: start it again")
                    raise
                say("merging")
                made = making.merge(request)
    click.echo(f"{made}, {shown(made.stat().st_size)}")


def _ask() -> None:
    """Where somebody can answer."""
    if sys.stdin is not None and sys.stdin.isatty():
        click.confirm("Download that, one environment after the other?", default=True, abort=True)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """What says a step, in a terminal with a sign that it goes on. Without rich, which an extra of
    torch-outback brings, the lines alone."""
    try:
        from rich.console import Console
        from rich.markup import escape
    except ImportError:
        yield click.echo
        return
    console = Console()
    if not console.is_terminal:
        yield click.echo
        return
    with console.status("") as status:

        def say(step: str) -> None:
            console.print(step, markup=False, highlight=False)
            status.update(f"[dim]{escape(step)} ...")

        yield say
