"""A run of PyTorch's own tests, file by file; for a session as another Run is."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .. import filtering
from .. import run as workers
from ..expectations import Expectations
from ..item import Item
from ..run import Catalog
from ..running.fork_server import AUTOLOAD
from . import selection
from .file_run import Contents, FileRun, Told
from .request import Request
from .settings import SHARED_ON_CPU, SHARED_ON_DEVICE

IMPOSSIBLE = Path(__file__).with_name("impossible.txt")


class TestsRun:
    """The files of a request."""

    def __init__(
        self, request: Request, told: Told = lambda _: None, servers: workers.Servers | None = None
    ):
        self._request = request
        self._told = told
        self._servers = servers
        self._open = contextlib.ExitStack()
        self._files: list[FileRun] = []

    def __enter__(self) -> TestsRun:
        servers = self._servers or self._open.enter_context(workers.Servers())
        on_device = servers.of(SHARED_ON_DEVICE)
        on_cpu = servers.of(SHARED_ON_CPU, **{AUTOLOAD: "0"})
        impossible = Expectations.load(IMPOSSIBLE)
        request = self._request
        self._files = [
            FileRun(file, request, on_device, on_cpu, self._told, impossible)
            for file in selection.files_of(request.level, request.files, request.chosen)
        ]
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._open.close()

    def stop(self) -> None:
        """Ends it from another thread, with what it has."""
        for file in self._files:
            file.stop()

    def catalog(self) -> Catalog:
        """Raises WorkerFailed where that cannot be said, and Refused where the filter is none."""
        wanted = filtering.compiled(self._request.filter) if self._request.filter else None
        with ThreadPoolExecutor(self._request.jobs) as threads:
            try:
                contents = list(threads.map(FileRun.contents, self._files))
            except BaseException:  # an interrupt: or else the threads are waited for
                self.stop()
                raise
        found = Catalog({}, {file.suite: file.title for file in self._files}, [], [], {})
        for each in contents:
            found.versions |= each.versions
            found.backend |= each.backend
            found.items += each.items
            chosen = selection.tests_of(self._request.level, each.items)
            found.selected += [item for item in chosen if wanted is None or wanted(item.id)]
            if each.result is not None:
                found.results[each.result["id"]] = each.result
        found.versions["pytorch_tests"] = self._request.tests_version
        found.sampled = self._sampled(contents, found)
        return found

    def run(self, items: Sequence[Item]) -> None:
        """Raises WorkerFailed."""
        for file in self._files:
            todo = [each for each in items if each.suite == file.suite]
            if todo:
                file.run(todo)

    @property
    def unclean_exits(self) -> list[str]:
        """Of workers with the backend, which are no entry's result."""
        return [said for file in self._files for said in file.unclean_exits]

    def _sampled(self, contents: list[Contents], found: Catalog) -> str:
        """What of all that there is."""
        request = self._request
        of = f" and -k {request.filter!r}" if request.filter else ""
        files = f"{len(self._files)} of {len(request.files)} files of PyTorch's tests"
        said = [
            f"By level {request.level}{of}: {files} ({request.tests_version});"
            f" {len(found.selected)} tests of {len(found.items)}, {selection.said(request.level)}",
        ]
        if request.level != "full":
            said.append("the CPU ran those alone that did not pass on the device")
        if unpaired := sum(each.unpaired for each in contents):
            said.append(f"{unpaired} more are made for the CPU only")
        if absent := sorted({name for each in contents for name in each.stand_ins}):
            said.append(f"skipped is what needs {', '.join(absent)}, which this torch has not")
        return "; ".join(said) + "."
