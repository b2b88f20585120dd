"""What `outback conformance` does with its options: one run, and its reports."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from . import baseline, catalog, document, filtering, verdicts
from .expectations import Expectations
from .files import check_writable
from .progress import Progress
from .report import junit, relay, terminal
from .request import Request
from .run import Catalog, Run, Servers
from .running.refused import Refused, WorkerFailed
from .version import version

_EVERY_SECONDS = 20.0  # what has been found so far is written


@dataclasses.dataclass(frozen=True)
class Files:
    """Those that the command reads and writes."""

    html: Path | None = None
    junit: Path | None = None
    json: Path | None = None
    badge: Path | None = None
    relay: Path | None = None
    baseline: Path | None = None
    expectations: Path | None = None

    @property
    def written(self) -> list[Path]:
        files = (self.html, self.junit, self.json, self.badge, self.relay)
        return [path for path in files if path is not None]


FILES = tuple(field.name for field in dataclasses.fields(Files))


def requested(suites: tuple[str, ...], options: dict[str, Any]) -> Request:
    """Raises Refused where there is no such suite, or the filter is none."""
    package = options.get("package", catalog.PACKAGE)
    if options.get("filter"):
        filtering.compiled(options["filter"])
    return Request(suites=catalog.chosen(suites, package), chosen=bool(suites), **options)


def command(
    request: Request,
    files: Files,
    resume: bool,
    lists: bool,
    servers: Servers | None = None,
    runs: Callable[..., Run] = Run,
) -> int:
    """The exit status; `runs` makes the run of the request. Raises Refused."""
    try:
        return _command(request, files, resume, lists, servers, runs)
    except WorkerFailed as error:
        raise Refused(str(error).strip()) from None
    except OSError as error:
        if error.filename is None:
            raise
        raise Refused(f"{error.filename}: {error.strerror}") from None


def _command(
    request: Request,
    files: Files,
    resume: bool,
    lists: bool,
    servers: Servers | None,
    runs: Callable[..., Run],
) -> int:
    if resume and files.json is None:
        raise Refused("--resume goes on with the file of --json, which is not given")
    expectations = Expectations.load(files.expectations) if files.expectations else Expectations()
    given_tolerances = request.tolerances
    if expectations.tolerances:
        request = request.loosened(expectations.tolerances)
    older = document.load(files.baseline) if files.baseline else None
    before = document.load(files.json) if resume and files.json and files.json.exists() else None
    for path in files.written:
        check_writable(path)
    session = Session(request, files, expectations, older)
    with runs(request, session.told, servers) as run:
        found = run.catalog()
        if lists:
            for each in found.selected:
                click.echo(each.id)
            return 0
        if not found.selected:
            raise Refused(_NOTHING.format(request.filter, request.level))
        for given in given_tolerances:
            if not any(given.speaks_for(each.id) for each in found.selected):
                raise Refused(f"--tolerance {given} stands for no entry of this run")
        session.begin(found, before)
        return session.run(run)


_END = "a worker did not end as it should: "
_NOTHING = "no entry has what -k {!r} asks for, at level {}"


class Session:
    """One run with what it has found so far; the document is written now and then."""

    def __init__(
        self,
        request: Request,
        files: Files,
        expectations: Expectations,
        older: dict[str, Any] | None,
    ):
        self._request = request
        self._files = files
        self._expectations = expectations
        self._older = older
        self._started = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        self._clock = self._saved = time.monotonic()
        self._seconds_before = 0.0
        self._ends_before: list[str] = []  # wrong ends of workers, of a run that this goes on with
        self._run: Run | None = None
        self._results: dict[str, dict[str, Any]] = {}
        self._catalog = Catalog({}, {}, [], [], {})
        self._progress = Progress(_console())

    def begin(self, found: Catalog, before: dict[str, Any] | None) -> None:
        """`before` is the document that this goes on with. Raises Refused."""
        self._catalog = found
        selected = {each.id for each in found.selected}
        if before is not None:
            self._check_same(before)
            self._started, self._seconds_before = before["started"], before["seconds"]
            self._ends_before = [each for each in before["problems"] if each.startswith(_END)]
            taken = (_as_found(entry) for entry in before["entries"])
            self._results |= {entry["id"]: entry for entry in taken if entry["id"] in selected}
        self._results |= {id: e for id, e in found.results.items() if id in selected}

    def told(self, entry: dict[str, Any]) -> None:
        self._results[entry["id"]] = entry
        self._progress.show(entry, self._results)
        if self._files.json and time.monotonic() - self._saved > _EVERY_SECONDS:
            with contextlib.suppress(OSError):  # a full disk may have room again at the end
                document.save(self._document(complete=False), self._files.json)
            self._saved = time.monotonic()

    def run(self, run: Run) -> int:
        """The exit status."""
        self._run = run
        todo = [each for each in self._catalog.selected if each.id not in self._results]
        complete = False
        try:
            with self._progress.over(len(self._catalog.selected), self._results):
                run.run(todo)
            complete = True
        except (KeyboardInterrupt, SystemExit):  # SIGTERM too: what there is gets written
            click.echo("interrupted" + self._how_to_go_on(), err=True)
        except WorkerFailed:
            self._report(self._document(complete=False))
            raise
        made = self._document(complete)
        self._report(made)
        return 0 if document.is_green(made) else 1

    def _how_to_go_on(self) -> str:
        return "; --resume goes on from here" if self._files.json else ""

    def _document(self, complete: bool) -> dict[str, Any]:
        order = self._catalog.selected
        # A worker's thread may be adding to them.
        found = dict(self._results)
        entries = [found[each.id] for each in order if each.id in found]
        entries = self._expectations.applied(entries)
        ends = self._run.unclean_exits if self._run is not None else []
        problems = list(dict.fromkeys([*self._ends_before, *(_END + each for each in ends)]))
        if complete:
            problems += self._expectations.outlived(entries)
            if self._request.whole:
                problems += self._expectations.idle(self._catalog.items, self._request)
            if self._older is not None:
                problems += baseline.lost(self._older, entries)
        return document.build(
            *(self._request, self._catalog, entries),
            outback=version(),
            started=self._started,
            seconds=self._seconds_before + time.monotonic() - self._clock,
            complete=complete,
            problems=problems,
        )

    def _report(self, made: dict[str, Any]) -> None:
        """Raises the first OSError, after all that can be written has been."""
        errors, written = [], []
        for path, write in self._writers():
            try:
                write(made, path)
                written.append(path)
            except OSError as error:
                errors.append(error)
        compared = baseline.compare(self._older, made) if self._older else None
        terminal.show(_console(), made, compared)
        for path in written:
            click.echo(f"written: {path}")
        if errors:
            raise errors[0]

    def _writers(self) -> Iterator[tuple[Path, Callable[[dict[str, Any], Path], None]]]:
        """Of each file that is asked for, what writes it."""
        files = self._files
        if files.json:
            yield files.json, document.save
        if files.junit:
            yield files.junit, junit.write
        if files.relay:
            yield files.relay, relay.write
        if files.html:
            from .report import html

            yield files.html, functools.partial(html.write, baseline=self._older)
        if files.badge:
            from .report import badge

            yield files.badge, badge.write

    def _check_same(self, before: dict[str, Any]) -> None:
        """What is gone on with has to be of the same run."""
        path, request = self._files.json, self._request
        said = json.loads(json.dumps(request.said()))
        now = {"device": request.device, "level": request.level} | said
        was = {"device": before["device"], "level": before["level"]} | before["settings"]
        versions = {"outback": version(), **self._catalog.versions}
        for name in now.keys() - {"jobs", "timeout"}:
            if now[name] != was.get(name, [] if name == "tolerances" else None):
                other = "other" if name.endswith("s") else "another"
                raise Refused(f"{path}: is a run with {other} {name}: {was.get(name)}")
        if versions != before["versions"]:
            raise Refused(f"{path}: is a run with other versions: {before['versions']}")
        if (was := before.get("backend", self._catalog.backend)) != self._catalog.backend:
            raise Refused(f"{path}: is a run of another build of the backend: {was}")


def _as_found(entry: dict[str, Any]) -> dict[str, Any]:
    """As a worker has told it, before the expectations."""
    found = {"id": document.id_of(entry), **entry}
    if found["verdict"] == verdicts.EXPECTED:
        found["verdict"] = found.pop("found")
        del found["reason"]
    return found


def _console() -> Console:
    # A message can have what the terminal's encoding has not, or half of a surrogate pair.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    # Never narrower than its tables: a log is read later, on another screen.
    return Console(soft_wrap=True, width=None if sys.stdout.isatty() else 120)
