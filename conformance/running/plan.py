"""What a worker is to do; travels to it as JSON."""

from __future__ import annotations

import dataclasses
import json

Address = tuple[str, str]  # the key of a subject, and a phase


@dataclasses.dataclass(frozen=True)
class Plan:
    """The entries `todo` of a source, in that order; None: say which there are.

    Args:
        source: the module, by its whole name.
        settings: the source's own, as it writes them.
        without: the units that it is not to load, since a worker died of that.
    """

    source: str
    settings: str
    todo: tuple[Address, ...] | None = None
    without: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        fields = json.loads(text)
        todo = fields["todo"]
        return cls(
            fields["source"],
            fields["settings"],
            None if todo is None else tuple((key, phase) for key, phase in todo),
            tuple(fields["without"]),
        )
