"""The command `outback ops`."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from .. import writing
from ..refused import Refused

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(
    "ops",
    no_args_is_help=True,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("script", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-m", "is_module", is_flag=True, help="SCRIPT is a module, as of python -m.")
@click.option(
    "--with-stack", is_flag=True, help="Tell apart the lines that operators are called from."
)
@click.option(
    "--device-model",
    "model_text",
    default="",
    metavar="RATES",
    help="What your device can do, as 2TB/s,100TFLOP/s: the gain is the time above that.",
)
@click.option(
    "--most", type=click.IntRange(min=1), default=20, show_default=True, help="Rows to show."
)
@click.option(
    "--json",
    "json_to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a document of JSON.",
)
@click.option(
    "--html", "html_to", type=click.Path(dir_okay=False, path_type=Path), help="Write a page."
)
@click.option(
    "--read", "to_read", type=_FILE, help="Show this document instead of running a SCRIPT."
)
@click.option(
    "--diff",
    "to_compare",
    nargs=2,
    type=_FILE,
    metavar="BEFORE AFTER",
    help="Compare two documents.",
)
@click.option(
    "--list", "lists", is_flag=True, help="Say who would serve each operator of ATen's here."
)
@click.option(
    "--skeleton",
    "operator",
    default="",
    metavar="OPERATOR",
    help="Print a kernel to begin with: of aten::addmm.",
)
@click.option(
    "--dialect",
    "kernel_to",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --skeleton: begin the kernel in the dialect, in a new FILE, and print its launch.",
)
@click.pass_context
def ops(
    context: click.Context,
    script: str | None,
    arguments: tuple[str, ...],
    is_module: bool,
    with_stack: bool,
    model_text: str,
    most: int,
    json_to: Path | None,
    html_to: Path | None,
    to_read: Path | None,
    to_compare: tuple[Path, Path] | None,
    lists: bool,
    operator: str,
    kernel_to: Path | None,
) -> None:
    """Run SCRIPT, and say which operators it called, who served them, and which kernels to write
    next.

    Exits as the SCRIPT does; with 2 where nothing was recorded.
    """
    from . import comparing, document, gain, listing, page, rendering, running, skeleton

    ways = [script, to_read, to_compare, lists, operator]
    if sum(map(bool, ways)) != 1:
        raise Refused("outback ops takes one of: a SCRIPT, --read, --diff, --list, --skeleton")
    for option, file, others in (
        ("--json", json_to, {"--diff": to_compare, "--skeleton": operator}),
        ("--html", html_to, {"--diff": to_compare, "--skeleton": operator, "--list": lists}),
    ):
        for other, is_given in others.items():
            if file and is_given:
                raise Refused(f"{other} has nothing for {option}: leave it out")
    model = gain.read_model(model_text)
    _check_files(script if not is_module else None, json_to, html_to)
    if kernel_to:
        click.echo(_begin_in_dialect(operator, kernel_to), nl=False)
        return
    if operator:
        click.echo(skeleton.text(operator), nl=False)
        return
    if lists:
        served = listing.providers()
        files = {json_to: lambda: json.dumps(dataclasses.asdict(served), indent=1)}
        _show(listing.lines(served), files)
        return
    if to_compare:
        before, after = map(document.read, to_compare)
        for line in rendering.of_changes(comparing.changes(before, after), most):
            click.echo(line)
        return
    code = 0
    if to_read:
        found = document.read(to_read)
    else:
        given = [script or "", *arguments]
        found, code = running.run([*(["-m"] if is_module else []), *given], with_stack)
    files = {json_to: lambda: document.text(found), html_to: lambda: page.text(found, model)}
    _show(rendering.lines(found, model, most), files)
    context.exit(code if code >= 0 else 128 - code)


def _begin_in_dialect(operator: str, file: Path) -> str:
    """Writes the kernel, and returns its launch."""
    from . import skeleton_in_dialect

    if not operator:
        raise Refused("--dialect is for --skeleton: which operator is the kernel for?")
    if not re.fullmatch(r"[A-Za-z_]\w*\.k", file.name):
        raise Refused(f"--dialect {file}: expected a name such as addmm.k, of the packed module")
    made = skeleton_in_dialect.texts(operator, file.stem)
    try:
        with file.open("x", encoding="utf-8") as kernel:
            kernel.write(made.kernel)
    except OSError as error:
        raise Refused(f"{file} cannot be written: {error.strerror}") from None
    return made.launch


def _show(lines: Iterable[str], files: dict[Path | None, Callable[[], str]]) -> None:
    """Writes the files, and prints the lines. A file that cannot be written costs neither the lines
    nor the other file: the program may have run for hours."""
    failures = []
    for file, text in files.items():
        if file is None:
            continue
        try:
            writing.write(file, text())
        except OSError as error:
            failures.append(f"{file} cannot be written: {error.strerror}")
    for line in lines:
        click.echo(line)
    if failures:
        raise Refused("; ".join(failures))


def _check_files(script: str | None, *results: Path | None) -> None:
    """Before the program runs, which may take long."""
    if script is not None and script != "-" and not Path(script).exists():
        why = "is no option" if script.startswith("-") else "does not exist"
        raise Refused(f"{script} {why}: outback ops runs a file, or a module by -m")
    for result in filter(None, results):
        if not result.parent.is_dir():
            raise Refused(f"{result} cannot be written: there is no folder {result.parent}")
        try:
            writing.check(result)
        except OSError as error:
            raise Refused(f"{result} cannot be written: {error.strerror}") from None
