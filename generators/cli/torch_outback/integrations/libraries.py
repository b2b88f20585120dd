"""The libraries, in which versions the names that are changed mean what these modules expect."""

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet

from .. import variables
from ..refused import Refused
from . import accelerate, lightning, transformers
from .changes import Change


@dataclass(frozen=True)
class Library:
    distribution: str
    versions: str
    changes: tuple[Change, ...]
    needs: tuple[str, ...] = ()  # other libraries of the list
    is_too_late: Callable[[], bool] = lambda: False

    def installed(self) -> str | None:
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return None

    def check_version(self, installed: str) -> None:
        """Raises Refused for a version that nobody has tried."""
        if variables.flag("OUTBACK_INTEGRATIONS_ANY_VERSION"):
            return
        if not SpecifierSet(self.versions).contains(installed, prereleases=True):
            raise Refused(
                f"{self.distribution} {installed} is not one of those that this torch-outback "
                f"knows ({self.versions}), and stays as it is: install one of these, or a "
                "torch-outback that knows it, or try it with OUTBACK_INTEGRATIONS_ANY_VERSION=1"
            )


LIBRARIES = {
    "accelerate": Library(
        "accelerate", ">=1.15,<1.16", accelerate.CHANGES, is_too_late=accelerate.is_too_late
    ),
    "transformers": Library(
        "transformers", ">=5.24,<5.25", transformers.CHANGES, needs=("accelerate",)
    ),
    "lightning": Library("lightning", ">=2.6,<2.7", lightning.CHANGES),
    "pytorch_lightning": Library(
        "pytorch-lightning", ">=2.6,<2.7", lightning.CHANGES_OF_PYTORCH_LIGHTNING
    ),
}
