"""What a form of training is, and the list of all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

# Of a collective: a rank that failed leaves the others to this. A busy machine needs seconds.
TIMEOUT = timedelta(seconds=60)


@dataclass(frozen=True)
class World:
    """Who runs a form: one rank of several processes, each with a device."""

    rank: int
    size: int
    device: torch.device
    folder: Path  # for files that all ranks see

    def begin(self, name: str) -> None:
        store = dist.FileStore(str(self.folder / f"{name}.store"), self.size)
        dist.init_process_group(
            rank=self.rank,
            world_size=self.size,
            store=store,
            timeout=TIMEOUT,
            device_id=self.device,
        )
        # Gloo connects a pair at a time: a rank that ended already would be missed by the others.
        store.set(f"rank {self.rank} has started", "")
        store.wait([f"rank {other} has started" for other in range(self.size)], TIMEOUT)


Losses = list[float]
Reference = Callable[[torch.device], Losses]


@dataclass(frozen=True)
class Form:
    name: str
    run: Callable[[World], Losses | None]  # this rank's losses; None: it sees no loss
    reference: Reference | None  # the same in one process
    processes: int
    tolerance: float  # of a loss
    slow: bool  # longer than it is worth each time
    in_place: bool  # only where the CPU reaches the device's memory
    any_runtime: bool  # what it sends goes as what other forms send
    needs_groups: bool  # of the runtime: host_memory, which PyTorch pins, or callbacks


FORMS: dict[str, Form] = {}


def form(
    name: str,
    reference: Reference | None,  # none: the form asserts all there is by itself
    *,
    processes: int = 2,
    tolerance: float = 2e-6,
    slow: bool = False,
    in_place: bool = False,
    any_runtime: bool = False,
    needs_groups: bool = False,
):
    """Adds the decorated function to FORMS. Those of four processes are slow: CI has two cores."""
    slow = slow or processes > 2

    def add(run: Callable[[World], Losses | None]):
        if name in FORMS:
            raise ValueError(f"{name}: there is such a form already")
        FORMS[name] = Form(
            name, run, reference, processes, tolerance, slow, in_place, any_runtime, needs_groups
        )
        return run

    return add
