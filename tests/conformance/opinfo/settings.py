"""What one run is asked to do; travels from the supervisor to its workers as JSON."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

# What is tried of an operator, in this order; each alone decides about its own result.
PHASES = ("forward", "backward", "inplace", "out")

DEFAULT_OP_DB = "torch.testing._internal.common_methods_invocations:op_db"
DEFAULT_EXEMPTIONS = str(Path(__file__).with_name("exemptions.json"))


@dataclasses.dataclass(frozen=True)
class Shard:
    """The ``index``-th of ``count`` interleaved parts of a list, counted from 1."""

    index: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.count:
            raise ValueError(
                f"shard {self} does not exist: 1/{self.count} to {self.count}/{self.count}"
            )

    @classmethod
    def parse(cls, text: str) -> Shard:
        try:
            index, count = (int(part) for part in text.split("/"))
        except ValueError:
            raise ValueError(f"a shard is written i/n, not {text!r}") from None
        return cls(index, count)

    def of(self, items: list) -> list:
        return items[self.index - 1 :: self.count]

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything that decides an operator's result, but for the machine and the packages."""

    device: str
    imports: tuple[str, ...] = ()
    dtype: str = "float32"
    other_dtypes: bool = True  # an operator without `dtype` runs with the first one it has
    samples: int = 3
    seed: int = 0
    rtol: float | None = None  # None: torch.testing's for the dtype
    atol: float | None = None
    ops: tuple[str, ...] = ()  # none: all
    shard: Shard = Shard()
    op_db: str = DEFAULT_OP_DB
    exemptions: str = DEFAULT_EXEMPTIONS

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        fields = json.loads(text)
        fields["imports"] = tuple(fields["imports"])
        fields["ops"] = tuple(fields["ops"])
        fields["shard"] = Shard(**fields["shard"])
        return cls(**fields)
