"""The command `outback`, which is `python -m torch_outback` too."""

import contextlib
import dataclasses
import errno
import io
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from . import answers, cache, names, new, toolkit
from . import update as updating
from .answers import Answers
from .conformance.command import conformance
from .doctor.command import doctor
from .operators.command import ops
from .refused import Refused
from .upgrade.command import upgrade_report
from .wheel.command import wheel


class _Group(click.Group):
    """Prints a refusal as one line, the system's too, and exits with 2."""

    def main(self, *args: Any, **extra: Any) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
            # A path is bytes, and Python's text of them is printed as the bytes that it stands for.
            sys.stdout.reconfigure(errors="surrogateescape")
        with _ended_as_interrupted():
            return super().main(*args, **extra)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _refusals_told():  # what is printed while options are read
            return super().make_context(*args, **extra)

    def invoke(self, context: click.Context) -> object:
        with _refusals_told():
            return super().invoke(context)


@contextlib.contextmanager
def _ended_as_interrupted() -> Iterator[None]:
    """Whoever ends this process lets it take back what it has half done, as Control-C does."""

    def stop(number: int, _: object) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _refusals_told() -> Iterator[None]:
    try:
        yield
        return
    except Refused as refused:
        why = str(refused)
    except OSError as error:
        if error.errno == errno.EPIPE:  # nobody reads what we print: click ends quietly
            raise
        why = _told(error)
    click.echo(f"outback: {why}", err=True)
    raise click.exceptions.Exit(2)


def _told(error: OSError) -> str:
    """Without its number."""
    if error.strerror is None:
        return str(error)
    if error.filename is None:
        return error.strerror
    return f"{error.filename}: {error.strerror}"


def _folder_option(name: str, folder: Callable[[], Path], what: str) -> Callable:
    """An option that prints a folder, and exits."""

    def print_it(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted:
            click.echo(folder())
            context.exit()

    return click.option(
        name,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=print_it,
        help=f"Print {what}, and exit.",
    )


@click.group(cls=_Group, no_args_is_help=True)
@click.version_option(toolkit.version(), prog_name="outback")
@_folder_option("--cmake-dir", toolkit.cmake_dir, "the folder for -D Outback_DIR=")
@_folder_option("--include-dir", toolkit.include_dir, "the folder of outback/runtime.h")
def main() -> None:
    """PyTorch backends from a device runtime.

    Exits with 0; with 1 where a project is behind or has conflicts; with 2 where what was asked for
    cannot be done, and nothing was changed.
    """


main.add_command(conformance)
main.add_command(doctor)
main.add_command(ops)
main.add_command(upgrade_report)
main.add_command(wheel)


@main.command("new")
@click.argument("name", default="")
@click.option(
    "--runtime",
    type=click.Choice(answers.RUNTIMES),
    help="custom: one of your own, which works from the first build. The others are Outback's.",
)
@click.option("--language", type=click.Choice(answers.LANGUAGES), help="Of a custom runtime.")
@click.option("--license", type=click.Choice(answers.LICENSES), help="Of the project.")
@click.option("--author", default="", help="Who has the copyright; git's user.name.")
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="The project's folder; ./NAME."
)
@click.option(
    "--toolkit",
    default="",
    metavar="PATH|URL",
    help="Where pip finds torch-outback, if not on its index: sources, a wheel, or a URL.",
)
@click.option("--yes", "-y", is_flag=True, help="Ask nothing: what is not given is the default.")
def _new(
    name: str,
    runtime: str | None,
    language: str | None,
    license: str | None,
    author: str,
    folder: Path | None,
    toolkit: str,
    yes: bool,
) -> None:
    """Make a project that is a working backend for the device NAME."""
    asked = {"runtime": runtime, "language": language, "license": license}
    given: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    source = answers.toolkit_url(toolkit) if toolkit else ""
    wanted = Answers(name, author=author, toolkit=source, **given)
    defaults = ""
    if not yes and sys.stdin is not None and sys.stdin.isatty():
        wanted = _asked(wanted, set(given))
    elif not name:
        raise Refused("outback new needs a NAME, and there is no terminal to ask for it")
    elif not yes:
        defaults = ", ".join(f"--{key} {getattr(wanted, key)}" for key in _not_given(given))
    wanted.check()
    folder = folder or Path(wanted.name)
    made = new.create(folder, wanted)
    if defaults:
        click.echo(f"There was no terminal to ask in, so these are the defaults: {defaults}")
    click.echo(f"torch_{made.name} is in {folder}, for torch {made.torch}. Next:")
    for command in (
        f"cd {shlex.quote(str(folder))}",
        "pip install --no-build-isolation '.[test]'",
        "python -m pytest tests",
    ):
        click.echo(f"  {command}")


def _not_given(given: dict[str, str]) -> list[str]:
    """What a terminal would be asked for."""
    asked = ["runtime", "license"]
    if given.get("runtime", "custom") == "custom":
        asked.insert(1, "language")
    return [key for key in asked if key not in given]


def _asked(wanted: Answers, given: set[str]) -> Answers:
    name = wanted.name
    while why := names.problem(name) or names.package_problem(name):
        if name:
            click.echo(f"{why}: {names.suggestion(name)} would do", err=True)
        name = click.prompt("The device's name, in lower-case letters and underscores").strip()
    wanted = dataclasses.replace(wanted, name=name)
    for key, question, choices in (
        ("runtime", "Its runtime: a custom one, or one of Outback's", answers.RUNTIMES),
        ("language", "The language of the runtime", answers.LANGUAGES),
        ("license", "The licence", answers.LICENSES),
    ):
        if key in given or (key == "language" and wanted.runtime != "custom"):
            continue
        choice = click.prompt(question, default=choices[0], type=click.Choice(choices))
        chosen: dict[str, Any] = {key: choice}
        wanted = dataclasses.replace(wanted, **chosen)
    return wanted


@main.command("build")
@click.option("--rebuild", is_flag=True, help="Even where there is one.")
def _build(rebuild: bool) -> None:
    """Compile what torch_outback.load needs, for the torch of this Python."""
    try:
        built = cache.provide(rebuild)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise Refused(f"{sys.executable} has no torch, for which this compiles") from None
    except OSError as error:
        if error.filename is None:  # a library that torch lacks, say
            raise
        raise Refused(
            f"what is compiled cannot be kept: {_told(error)}; OUTBACK_CACHE_DIR names another "
            f"folder for it"
        ) from None
    click.echo(built)


@main.command("update")
@click.argument(
    "project", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if it is behind.")
@click.option(
    "--torch",
    default="",
    metavar="RELEASE",
    help="Another minor release of torch to build against, such as 2.14.",
)
@click.option(
    "--toolkit",
    metavar="PATH|URL|index",
    help="Where pip finds torch-outback from now on; index: on its index.",
)
@click.pass_context
def _update(
    context: click.Context, project: Path, check: bool, torch: str, toolkit: str | None
) -> None:
    """Bring PROJECT up to this Outback, and keep its author's edits."""
    source = "" if toolkit == "index" else answers.toolkit_url(toolkit) if toolkit else None
    state = updating.state(project, torch, source)
    if check or not state.behind:
        _say_how_it_stands(state)
        context.exit(1 if state.behind or state.conflicts else 0)
    changes = updating.update(project, torch, source)
    for what, paths in (
        ("added", changes.added),
        ("merged", changes.merged),
        ("removed", changes.removed),
        ("no longer Outback's, kept since it was edited: move your edits", changes.kept),
        ("new in Outback, left out since it was deleted", changes.left_out),
        ("CONFLICT", changes.conflicts),
    ):
        for path in paths:
            click.echo(f"{what}: {path}")
    if "src/module.cpp" in changes.kept:
        click.echo(_MOVE_OPTIONS.format(name=answers.load(project).name), err=True)
    if changes.conflicts:
        click.echo(_RESOLVE, err=True)
    if changes.conflicts or changes.kept:
        context.exit(1)


_RESOLVE = "resolve the conflicts, which are marked as git marks them"
_MOVE_OPTIONS = (
    "src/module.cpp is compiled no longer: the options of the backend are arguments of load() in "
    "torch_{name}/__init__.py now, by the same names. Write yours there, and delete the file"
)


def _say_how_it_stands(state: updating.State) -> None:
    if state.behind:
        click.echo("behind: `outback update` would change")
    for path in state.behind:
        click.echo(f"  {path}")
    for path in state.conflicts:
        click.echo(f"CONFLICT: {path}")
    if state.conflicts:
        click.echo(_RESOLVE, err=True)
    elif not state.behind:
        click.echo(f"up to date with Outback {toolkit.minor_version()}")
