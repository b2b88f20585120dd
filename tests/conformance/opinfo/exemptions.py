"""What cannot be compared like the rest, and why: data, in exemptions.json."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .subjects import Subject


@dataclasses.dataclass(frozen=True)
class Exemptions:
    """Reasons by name of an operator, module or optimizer; a name without variant speaks for all its variants."""

    random: dict[str, str]  # values are compared only in samples that do not depend on the seed
    uninitialised: dict[str, str]  # values are never compared
    host_arguments: dict[str, str]  # all but the first argument stay on the CPU
    skip: dict[str, str]  # not run at all

    @classmethod
    def load(cls, path: str | Path) -> Exemptions:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        fields = [field.name for field in dataclasses.fields(cls)]
        unknown = sorted(set(document) - set(fields))
        if unknown:
            raise ValueError(f"{path}: unknown kind of exemption: {', '.join(unknown)}")
        return cls(**{field: _by_name(document.get(field, [])) for field in fields})


def reason(kind: dict[str, str], subject: Subject) -> str | None:
    return kind.get(subject.name, kind.get(subject.family))


def _by_name(groups: list[dict]) -> dict[str, str]:
    return {name: group["reason"] for group in groups for name in group["names"]}
