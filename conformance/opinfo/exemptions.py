"""What cannot be compared like the rest, and why: data, in exemptions.json."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Protocol

import torch


class Named(Protocol):
    """What an exemption may speak for."""

    name: str
    family: str  # the name without a variant, which stands for all its variants
    dtype: torch.dtype | None


class WrongExemptions(ValueError):
    """The file is not what it has to be."""


@dataclasses.dataclass(frozen=True)
class Exemption:
    """For what is named in it; a name without a variant speaks for all its variants."""

    reason: str
    names: list[str]
    phases: list[str] | None = None  # none: in all of them
    dtypes: list[str] | None = None  # none: with all of them
    rtol: float | None = None  # of a `tolerance`: none is torch.testing's
    atol: float | None = None

    def speaks_for(self, subject: Named, phase: str) -> bool:
        return (
            bool({subject.name, subject.family} & set(self.names))
            and (self.phases is None or phase in self.phases)
            and (self.dtypes is None or str(subject.dtype).removeprefix("torch.") in self.dtypes)
        )


@dataclasses.dataclass(frozen=True)
class Exemptions:
    """The kinds that there are."""

    random: list[Exemption]  # values are compared only in samples that do not depend on the seed
    uninitialised: list[Exemption]  # values are never compared
    tolerance: list[Exemption]  # values are compared with the tolerance that is given here
    host_arguments: list[Exemption]  # all but the first argument stay on the CPU
    skip: list[Exemption]  # not run at all

    @classmethod
    def load(cls, path: str | Path) -> Exemptions:
        """Raises WrongExemptions or OSError."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise WrongExemptions(f"{path}: is no JSON: {error}") from None
        if not isinstance(document, dict):
            raise WrongExemptions(f"{path}: expected an object of kinds of exemptions")
        fields = [field.name for field in dataclasses.fields(cls)]
        unknown = sorted(set(document) - set(fields))
        if unknown:
            raise WrongExemptions(f"{path}: unknown kind of exemption: {', '.join(unknown)}")
        return cls(**{name: _group(path, name, document.get(name, [])) for name in fields})


def _group(path: str | Path, kind: str, group: object) -> list[Exemption]:
    try:
        return [Exemption(**exemption) for exemption in group]
    except TypeError as error:
        known = ", ".join(field.name for field in dataclasses.fields(Exemption))
        raise WrongExemptions(
            f"{path}: {kind}: expected a list of objects with {known}: {error}"
        ) from None


def find(kind: list[Exemption], subject: Named, phase: str) -> Exemption | None:
    return next((exemption for exemption in kind if exemption.speaks_for(subject, phase)), None)
