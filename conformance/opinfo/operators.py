"""The operators that PyTorch describes (OpInfo), each with every dtype that is asked for."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from . import sampling, variants
from .calls import CPU, Arguments, depends_on_seed, run
from .described import Described
from .exemptions import find
from .phases import CHECKS, gradients, tangents
from .settings import PHASES
from .subjects import Bench, Case, Entry, database, first_dtype

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import OpInfo, SampleInput

    from .settings import Settings


_OF_GRADIENTS = ("backward", "forward_ad")
SEARCHED = 20  # samples, for the form of a variant, where none of the first has it


@dataclasses.dataclass(frozen=True, eq=False)
class Operator(Described):
    """One OpInfo with one dtype, as a subject."""

    kind = "ops"

    @property
    def family(self) -> str:
        return self.info.name

    @property
    def phases(self) -> tuple[str, ...]:
        """Those that make sense for it; without a dtype only forward, which then says so."""
        if self.dtype is None:
            return ("forward",)
        lacks = set()
        if not self.differentiable:
            lacks.add("backward")
        if not (self.differentiable and self.info.supports_forward_ad):
            lacks.add("forward_ad")
        if self.info.get_inplace() is None:
            lacks.add("inplace")
        if not self.info.supports_out:
            lacks.add("out")
        return tuple(phase for phase in PHASES[self.kind] if phase not in lacks)

    def cases(self, phase: str, bench: Bench) -> Iterator[Case]:
        for sample in self._samples(phase, bench.settings):
            yield partial(self._check, phase, sample, bench)

    def _samples(self, phase: str, settings: Settings) -> Iterable[SampleInput]:
        if phase not in variants.OF_A_SAMPLE:
            return self._first(settings.drawn, settings, requires_grad=phase in _OF_GRADIENTS)
        forms_of = variants.OF_A_SAMPLE[phase]
        first = self._first(settings.drawn, settings, requires_grad=self.differentiable)
        if forms := [form for sample in first for form in forms_of(sample)]:
            return forms
        # Reductions begin with scalars, which cannot become empty: another sample has to do.
        more = self._first(SEARCHED, settings, requires_grad=self.differentiable)
        found = filter(None, (list(forms_of(sample)) for sample in more))
        return itertools.chain.from_iterable(itertools.islice(found, settings.drawn))

    def _first(
        self, count: int | None, settings: Settings, *, requires_grad: bool
    ) -> list[SampleInput]:
        return sampling.samples_of(self, count, settings.seed, requires_grad=requires_grad)

    def _check(self, phase: str, sample: SampleInput, bench: Bench, entry: Entry) -> None:
        only_input = find(bench.exemptions.host_arguments, self, phase) is not None
        arguments = Arguments(sample, bench.device, bench.sides, only_input)
        answer = partial(self._cpu_answer, phase, sample)
        CHECKS[phase](self, arguments, bench.comparison(self, phase, entry, answer), entry)

    def _cpu_answer(self, phase: str, sample: SampleInput) -> Any:
        """What the phase compares: gradients can be random where results are not."""
        call = sampling.place(sample, CPU)
        answer = [call.process(run(self.info, call))]
        if phase == "backward" or (phase in variants.OF_A_SAMPLE and self.differentiable):
            answer.append(gradients(self, sampling.place(sample, CPU)))
        if phase == "forward_ad":
            answer.append(tangents(self, sampling.place(sample, CPU)))
        return answer

    def depends_on_seed(self, settings: Settings) -> bool:
        """Whether the CPU's answer to any of the samples is another one after another seed."""
        samples = self._first(settings.drawn, settings, requires_grad=False)
        return any(
            depends_on_seed(partial(self._cpu_answer, "forward", sample)) for sample in samples
        )


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
