"""Optimizers that are each wrong in one way, for the harness's own tests; compare broken_ops.

Of each, the second instance of two is the device's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch.testing._internal.common_optimizers import OptimizerInfo, OptimizerInput

from conformance.opinfo.optimizers import STEPS


def optimizer(name: str, on_device: Callable[[torch.optim.Optimizer], None]) -> OptimizerInfo:
    """SGD with momentum; after the last step on the device, `on_device` does something to it."""
    turns = itertools.count()

    class Broken(torch.optim.SGD):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.on_device = next(turns) % 2 == 1
            self.steps_left = STEPS

        def step(self, closure: Callable[[], Any]) -> Any:
            loss = super().step(closure)
            self.steps_left -= 1
            if self.on_device and not self.steps_left:
                on_device(self)
            return loss

    Broken.__name__ = name
    return OptimizerInfo(Broken, optim_inputs_func=inputs, supported_impls=("foreach",))


def inputs(device: str) -> list[OptimizerInput]:
    return [OptimizerInput(params=None, kwargs={"lr": 0.1, "momentum": 0.9}, desc="momentum")]


def parameters(broken: torch.optim.Optimizer) -> list[torch.Tensor]:
    return broken.param_groups[0]["params"]


@torch.no_grad()
def moves_parameters(broken: torch.optim.Optimizer) -> None:
    parameters(broken)[0].add_(1)


def changes_state(broken: torch.optim.Optimizer) -> None:
    broken.state[parameters(broken)[0]]["forgotten"] = 1


def state_elsewhere(broken: torch.optim.Optimizer) -> None:
    state = broken.state[parameters(broken)[0]]
    state["momentum_buffer"] = state["momentum_buffer"].to("meta")


def raises(_: torch.optim.Optimizer) -> None:
    raise NotImplementedError("no kernel")


optim_db = [
    optimizer("RightOne", lambda _: None),
    optimizer("WrongStep", moves_parameters),
    optimizer("WrongState", changes_state),
    optimizer("StateElsewhere", state_elsewhere),
    optimizer("Raises", raises),
]
