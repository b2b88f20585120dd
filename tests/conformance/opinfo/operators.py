"""The operators that PyTorch describes (OpInfo), each with every dtype that is asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from . import exemptions, sampling, variants
from .calls import Arguments, depends_on_seed, run
from .phases import CHECKS
from .settings import PHASES
from .subjects import Bench, Case, Entry, database, first_dtype

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import OpInfo, SampleInput

    from .comparing import Comparison
    from .settings import Settings


@dataclasses.dataclass(frozen=True)
class Operator:
    """One OpInfo with one dtype; `dtype` is None where the CPU has none to compare with."""

    name: str
    info: OpInfo
    dtype: torch.dtype | None

    kind = "ops"

    @property
    def family(self) -> str:
        return self.info.name

    @property
    def differentiable(self) -> bool:
        return (
            self.dtype is not None
            and (self.dtype.is_floating_point or self.dtype.is_complex)
            and self.info.supports_autograd
            and self.dtype in self.info.supported_backward_dtypes("cpu")
        )

    @property
    def phases(self) -> tuple[str, ...]:
        """Those that make sense for it; without a dtype only forward, which then says so."""
        if self.dtype is None:
            return ("forward",)
        lacks = set()
        if not self.differentiable:
            lacks.add("backward")
        if self.info.get_inplace() is None:
            lacks.add("inplace")
        if not self.info.supports_out:
            lacks.add("out")
        return tuple(phase for phase in PHASES[self.kind] if phase not in lacks)

    def cases(self, phase: str, bench: Bench) -> Iterator[Case]:
        settings = bench.settings
        varied = phase in variants.OF_A_SAMPLE
        samples = sampling.samples_of(
            self,
            settings.samples,
            settings.seed,
            requires_grad=phase == "backward" or (varied and self.differentiable),
        )
        for sample in samples:
            forms = variants.OF_A_SAMPLE[phase](sample) if varied else (sample,)
            for form in forms:
                yield partial(self._check, phase, form, bench)

    def _check(self, phase: str, sample: SampleInput, bench: Bench, entry: Entry) -> None:
        only_input = exemptions.reason(bench.exemptions.host_arguments, self) is not None
        arguments = Arguments(sample, bench.device, only_input)
        CHECKS[phase](self, arguments, self._comparison(sample, bench, entry), entry)

    def _comparison(self, sample: SampleInput, bench: Bench, entry: Entry) -> Comparison:
        reason = exemptions.reason(bench.exemptions.uninitialised, self)
        if reason is None:
            reason = exemptions.reason(bench.exemptions.random, self)
            if reason is not None and not depends_on_seed(partial(self._cpu_answer, sample)):
                reason = None
        if reason is not None:
            entry["values_ignored"] = reason
        return bench.comparison(values=reason is None)

    def _cpu_answer(self, sample: SampleInput) -> Any:
        call = sampling.place(sample, torch.device("cpu"))
        return call.process(run(self.info, call))

    def depends_on_seed(self, settings: Settings) -> bool:
        """Whether the CPU's answer to any of the samples is another one after another seed."""
        samples = sampling.samples_of(self, settings.samples, settings.seed, requires_grad=False)
        return any(depends_on_seed(partial(self._cpu_answer, sample)) for sample in samples)


def name_of(info: OpInfo) -> str:
    """Unique within an op_db: the name, and the variant's after a dot."""
    variant = info.variant_test_name.replace(" ", "_")
    return f"{info.name}.{variant}" if variant else info.name


def load(settings: Settings) -> list[Operator]:
    asked = [getattr(torch, name) for name in settings.dtypes]
    return [
        Operator(name_of(info), info, dtype)
        for info in database(settings.op_db)
        for dtype in _dtypes_of(info, asked, settings.other_dtypes)
    ]


def _dtypes_of(
    info: OpInfo, asked: list[torch.dtype], others: bool
) -> tuple[torch.dtype | None, ...]:
    supported = info.supported_dtypes("cpu")
    claimed = tuple(dtype for dtype in asked if dtype in supported)
    return claimed or (first_dtype(asked[0], supported, others),)
