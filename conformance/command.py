"""The command `outback conformance`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .levels import LEVELS
from .running.refused import Refused
from .tolerance import WrongTolerance, of_option


class _Refused(click.ClickException):
    """No run could be made; a line says why."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.echo(f"outback: {self.message}", err=True)


def _file(name: str, what: str, **more: Any) -> Callable:
    return click.option(name, type=click.Path(path_type=Path), metavar="FILE", help=what, **more)


@click.command("conformance")
@click.option("--device", required=True, help="With an index or without: acme, acme:1.")
@click.option(
    "--import",
    "imports",
    multiple=True,
    metavar="MODULE",
    help="A module that registers the device. Without one, torch loads it by itself or not.",
)
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="standard",
    show_default=True,
    help="How much: a minute, some minutes, or all that there is.",
)
@click.option(
    "--suite", "suites", multiple=True, metavar="NAME", help="Only this one; more than once."
)
@click.option(
    "-k",
    "filter",
    default="",
    metavar="EXPR",
    help="Only entries in whose ids these words are, with and, or, not and parentheses.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=lambda: min(8, len(os.sched_getaffinity(0))),
    show_default="the CPUs, at most 8",
    help="Processes at a time.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True, max=1e6),
    default=120.0,
    show_default=True,
    help="Seconds for one entry.",
)
@_file("--html", "Write a page.")
@_file("--junit", "Write JUnit's XML.")
@_file("--json", "Write the document; --resume goes on with it.")
@_file("--badge", "Write an SVG.")
@_file("--relay", "Write what PyTorch's relay between repositories takes from a backend's CI.")
@_file("--baseline", "A document to compare with.")
@_file("--expectations", "Lines of what is expected to fail: `suite/name: reason`.")
@click.option(
    "--tolerance",
    "tolerances",
    multiple=True,
    metavar="OPERATOR=ATOL,RTOL",
    help="How far an operator's values may be off where they are farther from float64 than the"
    " CPU's are; more than once.",
)
@click.option(
    "--pytorch-tests",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Run PyTorch's own tests instead: DIR is the folder test of its source. The suites are"
    " files there.",
)
@click.option("--resume", is_flag=True, help="Go on with the file of --json, if there is one.")
@click.option("--list", "lists", is_flag=True, help="Print the ids of what would run, and exit.")
@click.option("--package", hidden=True, help="With other suites.")
@click.option("--op-db", hidden=True)
@click.option("--module-db", hidden=True)
@click.option("--optim-db", hidden=True)
@click.pass_context
def conformance(
    context: click.Context,
    lists: bool,
    resume: bool,
    suites: tuple[str, ...],
    **given: Any,
) -> None:
    """Check what PyTorch promises of a device on any PrivateUse1 backend.

    Exits with 0 if nothing failed, crashed or timed out, no line of --expectations is out of date,
    and something ran; with 1 otherwise; with 2 where no run could be made.
    """
    given["imports"] = _each(given["imports"])
    try:
        context.exit(_command(lists, resume, _each(suites), given))
    except Refused as refused:
        raise _Refused(str(refused)) from None


def _each(given: tuple[str, ...]) -> tuple[str, ...]:
    """Options that are given more than once, or with commas."""
    return tuple(name for text in given for name in text.split(",") if name)


def _command(lists: bool, resume: bool, suites: tuple[str, ...], given: dict[str, Any]) -> int:
    """The exit status."""
    from . import installed

    installed.check()
    from . import session  # it imports rich, which `outback new` can do without

    files = session.Files(**{name: given.pop(name) for name in session.FILES})
    options = {name: value for name, value in given.items() if value is not None}
    try:
        options["tolerances"] = tuple(map(of_option, options["tolerances"]))
    except WrongTolerance as error:
        raise Refused(f"--tolerance {error}") from None
    if "pytorch_tests" in options:
        if options["tolerances"]:
            raise Refused("--tolerance is for PyTorch's samples, and not for its tests")
        from . import pytorch_tests

        return pytorch_tests.command(suites, options, files, resume, lists)
    request = session.requested(suites, options)
    return session.command(request, files, resume, lists)


def main() -> None:
    """Without the command `outback`, in a source tree."""
    conformance(prog_name="outback conformance")
