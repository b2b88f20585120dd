"""What the source of the suites is told; without torch, for who starts the workers."""

from __future__ import annotations

import dataclasses
import json

SOURCE = f"{__package__}.suite_source"
COMPARING = f"{__package__}.comparing_imports"
SHARED = ("torch", f"{__package__}.check", COMPARING)  # its workers import them, once for all
LOADING = "loading"  # the name of the entry of a suite that cannot be loaded


@dataclasses.dataclass(frozen=True)
class SuiteSettings:
    """Which suites of which package, on which device."""

    device: str
    imports: tuple[str, ...]
    suites: tuple[str, ...]
    package: str

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> SuiteSettings:
        fields = json.loads(text)
        lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
        return cls(**(fields | lists))
