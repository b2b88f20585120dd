"""`outback conformance` in this process, with workers that are forked of shared servers."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance import run
from conformance.command import conformance
from conformance.run import Servers

PLAIN = ["--device=cpu", "--level=quick", "--package=small_suites", "--suite=plain", "--jobs=1"]


@dataclasses.dataclass(frozen=True)
class Said:
    """What a command came to."""

    status: int
    out: str
    err: str


@dataclasses.dataclass(frozen=True)
class Product:
    """The command."""

    servers: Servers
    folder: Path

    def __call__(self, *arguments: str) -> Said:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run, "Servers", lambda: contextlib.nullcontext(self.servers))
            done = CliRunner().invoke(conformance, arguments, catch_exceptions=False)
        return Said(done.exit_code, done.stdout, done.stderr)

    def document(self, *arguments: str) -> dict:
        """Of a run with those arguments."""
        file = self.folder / "document.json"
        said = self(*arguments, f"--json={file}")
        assert said.status in (0, 1), said
        return json.loads(file.read_text())


@dataclasses.dataclass(frozen=True)
class Plain:
    """A run of the whole suite `plain`, which many tests look at; nobody changes its files."""

    said: Said
    document: Path
    junit: Path
