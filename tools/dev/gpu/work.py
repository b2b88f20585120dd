"""What a part of ./dev gpu works with."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..environment import Environment
from . import programs
from .device import Devices
from .needs import Provisions
from .packed import joined
from .programs import Finished
from .results import Results


@dataclass(frozen=True)
class Request:
    only: Sequence[str] | None  # parts; None is all of them
    out: Path
    limit: float | None  # seconds for each part
    save: bool
    pytest: Sequence[str]  # options for it


class Work:
    """What a part works with."""

    def __init__(
        self,
        environment: Environment,
        request: Request,
        provisions: Provisions,
        devices: Devices | None,
        results: Results,
    ) -> None:
        self.environment = environment
        self.request = request
        self.provisions = provisions
        self.devices = devices
        self.folder = environment.build / "gpu"
        self.not_built: set[str] = set()  # targets that were to be built just now
        self._results = results
        self._part = ""
        self._deadline: float | None = None

    def begin(self, part: str) -> None:
        self._part = part
        limit = self.request.limit
        self._deadline = None if limit is None else time.monotonic() + limit

    @property
    def log(self) -> Path:
        return self._results.log(self._part)

    def run(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] = lambda line: None,
    ) -> Finished:
        """A program of the part that has begun, within what is left of its time."""
        return programs.run(
            self.log,
            command,
            env=env,
            deadline=self._deadline,
            limit=self.request.limit,
            on_line=on_line,
        )

    def python_variables(self) -> dict[str, str]:
        """With which Python finds the backend on CUDA's runtime, and what was packed."""
        found = self.provisions.python
        path = joined(self.folder / "python_cuda", found.get("PYTHONPATH"))
        return {**found, "PYTHONPATH": path}
