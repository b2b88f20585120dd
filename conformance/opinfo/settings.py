"""What one run is asked to do; travels from the supervisor to its workers as JSON."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from ..tolerance import Tolerance

# What is tried of each kind of subject, in this order; each phase has a result of its own.
PHASES = {
    "ops": (
        *("forward", "backward", "inplace", "out", "noncontiguous", "empty", "zero_dim"),
        *("forward_ad", "conj_neg"),
    ),
    "modules": ("forward", "backward", "created"),
    "optimizers": ("forloop", "foreach", "fused"),
}
KINDS = tuple(PHASES)
FIRST_PHASES = PHASES["ops"][:7]  # of result files that do not say which they have
NO_FORM = "no sample has such a form"  # of a phase that takes the samples in another form
ALL_SAMPLES = 0
DTYPES = ("float32", "complex64", "bfloat16", "int64", "bool")

_TESTING = "torch.testing._internal"
DEFAULT_OP_DB = f"{_TESTING}.common_methods_invocations:op_db"
DEFAULT_MODULE_DB = f"{_TESTING}.common_modules:module_db"
DEFAULT_OPTIM_DB = f"{_TESTING}.common_optimizers:optim_db"
DEFAULT_EXEMPTIONS = str(Path(__file__).with_name("exemptions.json"))

SOURCE = f"{__package__}.source"
# What its workers import, once for all of them.
SHARED = (
    *(database.partition(":")[0] for database in (DEFAULT_OP_DB, DEFAULT_MODULE_DB)),
    *(DEFAULT_OPTIM_DB.partition(":")[0], f"{__package__}.catalog", f"{__package__}.checks"),
    "torch._decomp.decompositions_for_jvp",  # which forward mode AD imports the first time
)


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
    """Everything that decides a result, but for the machine and the packages."""

    device: str
    imports: tuple[str, ...] = ()
    kinds: tuple[str, ...] = KINDS
    dtypes: tuple[str, ...] = DTYPES  # of operators; modules and optimizers run with the first
    other_dtypes: bool = True  # a subject without any of them runs with the first one it has
    samples: int = 3  # of each operator, at most; or ALL_SAMPLES
    seed: int = 0
    rtol: float | None = None  # None: torch.testing's for the dtype
    atol: float | None = None
    tolerances: tuple[Tolerance, ...] = ()  # of single entries; the first that fits
    ops: tuple[str, ...] = ()  # names of operators, modules and optimizers; none: all
    shard: Shard = Shard()
    op_phases: tuple[str, ...] = PHASES["ops"]
    op_db: str = DEFAULT_OP_DB
    module_db: str = DEFAULT_MODULE_DB
    optim_db: str = DEFAULT_OPTIM_DB
    exemptions: str = DEFAULT_EXEMPTIONS

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        fields = json.loads(text)
        fields["shard"] = Shard(**fields["shard"])
        fields["tolerances"] = [Tolerance(**each) for each in fields["tolerances"]]
        lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
        return cls(**(fields | lists))

    @property
    def drawn(self) -> int | None:
        """How many samples to take of an iterator; None: all."""
        return self.samples or None

    def phases(self, kind: str) -> tuple[str, ...]:
        return self.op_phases if kind == "ops" else PHASES[kind]

    @property
    def full(self) -> bool:
        """Whether it asks for everything that the databases of its kinds describe."""
        return not self.ops and self.shard == Shard()
