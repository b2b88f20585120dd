"""What a run of PyTorch's own tests is asked to do; for a session as another run's Request is."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from ..opinfo.settings import DTYPES
from ..running.refused import Refused
from ..tolerance import Tolerance
from .settings import CPU, FileSettings
from .table import FILES, file_of, suite_of

_SEED = 1234  # torch.testing._internal.common_utils.SEED


@dataclasses.dataclass(frozen=True)
class Request:
    """`files` of `folder` run, by `chosen_files`."""

    device: str
    folder: Path
    imports: tuple[str, ...] = ()
    level: str = "standard"
    files: tuple[str, ...] = ()
    chosen: bool = False  # whether somebody has chosen the files, rather than all of the table
    filter: str = ""
    jobs: int = 2
    timeout: float = 120.0
    tolerances: tuple[Tolerance, ...] = ()  # none: they are of PyTorch's samples

    @property
    def suites(self) -> tuple[str, ...]:
        return tuple(map(suite_of, self.files))

    @property
    def whole(self) -> bool:
        """Whether it knows all tests of the folder; at level quick it reads a few files."""
        return not self.chosen and not self.filter and self.level != "quick"

    def loosened(self, _: tuple[Tolerance, ...]) -> Request:
        """The lines are PyTorch's samples', which are no tests of its."""
        return self

    @property
    def tests_version(self) -> str:
        """Of the source tree that the folder is of; "unknown" where it is of none."""
        file = self.folder.parent / "version.txt"
        return file.read_text(encoding="utf-8").strip() if file.is_file() else "unknown"

    def on_device(self, file: str) -> FileSettings:
        return FileSettings(str(self.folder), file, self.device, self.imports)

    def on_cpu(self, file: str) -> FileSettings:
        return FileSettings(str(self.folder), file, CPU)

    def said(self) -> dict[str, Any]:
        """What a document says of it."""
        return {
            "pytorch_tests": str(self.folder),
            "suites": list(self.suites),
            "filter": self.filter,
            "dtypes": list(DTYPES) if self.level == "standard" else [],
            "samples": None,
            "seed": _SEED,
            "imports": list(self.imports),
            "jobs": self.jobs,
            "timeout": self.timeout,
        }


def chosen_files(folder: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those, or all of the table that the folder has. Raises Refused."""
    there = tuple(file for file in FILES if (folder / file).is_file())
    if not names:
        if not there:
            inner = " Is it its folder test?" if (folder / "test").is_dir() else ""
            raise Refused(f"{folder}: has none of PyTorch's test files.{inner}")
        return there
    wanted = tuple(map(file_of, names))
    if absent := [file for file in wanted if not (folder / file).is_file()]:
        raise Refused(f"{folder}: has no {', '.join(absent)}; it has {', '.join(there) or 'none'}")
    return wanted
