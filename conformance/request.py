"""What a run is asked to do."""

from __future__ import annotations

import dataclasses
from typing import Any

from . import catalog, levels
from .opinfo.settings import DEFAULT_MODULE_DB, DEFAULT_OP_DB, DEFAULT_OPTIM_DB
from .opinfo.settings import Settings as SampleSettings
from .suite_settings import SuiteSettings
from .tolerance import Tolerance


@dataclasses.dataclass(frozen=True)
class Request:
    """`suites` are those that run, by catalog.chosen."""

    device: str
    imports: tuple[str, ...] = ()
    level: str = "standard"
    suites: tuple[str, ...] = ()
    chosen: bool = False  # whether somebody has chosen the suites, rather than all
    filter: str = ""
    jobs: int = 2
    timeout: float = 120.0
    seed: int = 0
    tolerances: tuple[Tolerance, ...] = ()
    package: str = catalog.PACKAGE
    op_db: str = DEFAULT_OP_DB
    module_db: str = DEFAULT_MODULE_DB
    optim_db: str = DEFAULT_OPTIM_DB

    @property
    def whole(self) -> bool:
        """Whether it is about all that there is at its level."""
        return not self.chosen and not self.filter

    def loosened(self, tolerances: tuple[Tolerance, ...]) -> Request:
        """With those of a file, after those that are there: the first that fits is taken."""
        return dataclasses.replace(self, tolerances=self.tolerances + tolerances)

    @property
    def samples(self) -> levels.Samples:
        return levels.SAMPLES[self.level]

    def suite_settings(self) -> SuiteSettings | None:
        """None: there is no suite of checks to run."""
        suites = tuple(name for name in self.suites if name not in catalog.KINDS)
        if not suites:
            return None
        return SuiteSettings(self.device, self.imports, suites, self.package)

    def sample_settings(self) -> SampleSettings | None:
        """None: there are no samples to run."""
        kinds = tuple(catalog.KINDS[name] for name in self.suites if name in catalog.KINDS)
        if not kinds:
            return None
        databases: dict[str, Any] = {
            "op_db": self.op_db,
            "module_db": self.module_db,
            "optim_db": self.optim_db,
        }
        return SampleSettings(
            device=self.device,
            imports=self.imports,
            kinds=kinds,
            seed=self.seed,
            dtypes=self.samples.dtypes,
            samples=self.samples.count,
            tolerances=self.tolerances,
            other_dtypes=self.level != "quick",
            **databases,
        )

    def said(self) -> dict[str, Any]:
        """What a document says of it."""
        return {
            "suites": list(self.suites),
            "filter": self.filter,
            "dtypes": list(self.samples.dtypes),
            "samples": self.samples.count or None,
            "seed": self.seed,
            "tolerances": [str(each) for each in self.tolerances],
            "imports": list(self.imports),
            "jobs": self.jobs,
            "timeout": self.timeout,
        }
