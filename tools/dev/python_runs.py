"""The runs of tests/python: a backend each, and which tests it takes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import build
from .stand_ins import STAND_INS, StandIn, require

TESTS = "tests/python"


@dataclass(frozen=True)
class Run:
    name: str
    package: str  # the scaffold's folder in the build tree
    marks: str  # pytest's -m: which tests a short run takes; "" for all of them, as a long run does
    environment: Mapping[str, str] = field(default_factory=dict)
    few: bool = False  # tests in a short run
    driver: StandIn | None = None

    @property
    def short_name(self) -> str:
        """As it stands in the names of parts and of files."""
        return re.sub("[ ,]+", "-", self.name.lower())

    def require(self, folder: Path) -> None:
        """Raises NotRun where the build tree `folder` has not got it."""
        if self.driver:
            self.driver.require(folder)
        else:
            require(folder, self.package, self.name)

    def variables(self, folder: Path) -> dict[str, str]:
        """The environment in which `import torch` finds the backend."""
        if self.driver:
            return {**self.driver.variables(folder), **self.environment}
        return {**build.python_path(folder, self.package), **self.environment}


# The CPU's kernels over copies, to the bit: portable kernels have a run of their own.
_OVER_COPIES = {"OUTBACK_PORTABLE": "never"}

# The host's runtime has every group and several devices, so its run takes all tests. The others
# take the tests whose answer may turn on what is different there; that a driver keeps the contract
# is proved by tests/runtime, which ctest runs on each.
RUNS = (
    Run("host", "python", "not slow and not turns_on_kernels"),
    Run(
        "host, memory apart",
        "python_protected",
        "turns_on_memory and not slow",
        {"OUTBACK_HOST_PROTECTED": "1", **_OVER_COPIES},
    ),
    Run("null", "python_null", "turns_on_groups", few=True),
    *(
        Run(
            driver.name,
            driver.package,
            "turns_on_driver and not slow",
            _OVER_COPIES,
            few=True,
            driver=driver,
        )
        for driver in STAND_INS
    ),
)

# Conformance at standard alone: the tests of portable kernels have a suite of their own.
PORTABLE_RUN = Run("portable kernels", "python_protected", "", {"OUTBACK_HOST_PROTECTED": "1"})
