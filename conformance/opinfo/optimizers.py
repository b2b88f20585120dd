"""The optimizers that PyTorch describes (OptimizerInfo): steps on the device and on the CPU.

Each configuration minimises a sum of squares from the same start. Losses, parameters and state have
to agree after the last step, and the state has to live where its parameters do.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from .calls import CPU
from .judging import widened
from .settings import PHASES
from .subjects import Bench, Case, Entry, database

if TYPE_CHECKING:
    from torch.testing._internal.common_optimizers import OptimizerInfo, OptimizerInput

    from .settings import Settings

STEPS = 4
MATRICES = ((3, 4), (5, 2))
VECTORS = ((6,),)


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """One OptimizerInfo."""

    name: str
    info: OptimizerInfo
    dtype: torch.dtype

    kind = "optimizers"

    @property
    def family(self) -> str:
        return self.name

    @property
    def phases(self) -> tuple[str, ...]:
        """The implementations that it has on the CPU."""
        has = {
            "forloop": True,
            "foreach": "foreach" in self.info.supported_impls,
            "fused": "fused" in self.info.supported_impls and "cpu" in self.info.supports_fused_on,
        }
        return tuple(phase for phase in PHASES[self.kind] if has[phase])

    def cases(self, phase: str, bench: Bench) -> Iterator[Case]:
        for configuration in self.info.optim_inputs_func(device="cpu"):
            yield partial(self._check, phase, configuration, bench)

    def _check(self, phase: str, configuration: OptimizerInput, bench: Bench, entry: Entry) -> None:
        options = configuration.kwargs | self._implementation(phase)
        on_cpu = partial(self._run, options, CPU)
        comparison = bench.comparison(self, phase, entry, on_cpu)
        expected, actual = bench.sides.both(on_cpu, partial(self._run, options, bench.device))
        in_float64 = functools.cache(
            lambda: bench.sides.ask_cpu(partial(self._run, options, CPU, wide=True))
        )
        for what, cpus in expected.items():
            said = f"{what} ({configuration.desc})"
            comparison.check(said, actual[what], cpus, lambda w=what: in_float64()[w])

    def _implementation(self, phase: str) -> dict[str, bool]:
        """The option that asks for it; an optimizer that has only loops knows no such option."""
        if phase == "forloop":
            return {"foreach": False} if "foreach" in self.info.supported_impls else {}
        return {phase: True}

    def _run(
        self, options: dict[str, Any], device: torch.device, *, wide: bool = False
    ) -> dict[str, Any]:
        start = map(widened, self._start()) if wide else self._start()
        parameters = [parameter.to(device).requires_grad_() for parameter in start]
        optimizer = self.info.optim_cls(parameters, **copy.deepcopy(options))

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = torch.stack([parameter.square().sum() for parameter in parameters]).sum()
            loss.backward()
            if self.info.only_supports_sparse_grads:
                for parameter in parameters:
                    parameter.grad = parameter.grad.to_sparse(1)
            return loss

        losses = [optimizer.step(closure) for _ in range(STEPS)]
        state = [optimizer.state.get(parameter, {}) for parameter in parameters]
        return {
            "losses": losses,
            "parameters": parameters,
            "state": pytree.tree_map(_without_place, state),
        }

    def _start(self) -> list[torch.Tensor]:
        shapes = MATRICES if self.name == "Muon" else MATRICES + VECTORS  # Muon takes no other
        generator = torch.Generator().manual_seed(0)
        return [torch.randn(shape, generator=generator, dtype=self.dtype) for shape in shapes]


def load(settings: Settings) -> list[Optimizer]:
    """With the default dtype: PyTorch does not describe which others there are."""
    infos = database(settings.optim_db)
    return [Optimizer(info.name, info, torch.get_default_dtype()) for info in infos]


def _without_place(leaf: Any) -> Any:
    """Scalars, such as the number of steps, PyTorch keeps on the CPU or on the device by option."""
    return leaf.item() if isinstance(leaf, torch.Tensor) and leaf.dim() == 0 else leaf
