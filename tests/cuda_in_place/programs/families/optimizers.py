"""Every optimizer that PyTorch describes, in each configuration: by loops, foreach and fused."""

from collections.abc import Callable, Iterator
from functools import partial

import torch

from conformance.opinfo import optimizers
from conformance.opinfo.settings import Settings

IMPLEMENTATIONS = ("forloop", "foreach", "fused")


def units(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    for each in optimizers.load(Settings(device=device)):
        for implementation in IMPLEMENTATIONS:
            if implementation in ("forloop", *each.info.supported_impls):
                name = f"{each.name}, {implementation}"
                yield name, partial(work, each, implementation, torch.device(device, 0))


def work(optimizer: optimizers.Optimizer, implementation: str, device: torch.device) -> object:
    options = optimizer._implementation(implementation)
    return [
        steps(optimizer, given.kwargs | options, device)
        for given in optimizer.info.optim_inputs_func(device="cpu")
    ]


def steps(optimizer: optimizers.Optimizer, options: dict, device: torch.device) -> object:
    parameters = [each.to(device).requires_grad_() for each in optimizer._start()]
    made = optimizer.info.optim_cls(parameters, **options)

    def closure() -> torch.Tensor:
        made.zero_grad()
        loss = torch.stack([each.square().sum() for each in parameters]).sum()
        loss.backward()
        if optimizer.info.only_supports_sparse_grads:
            for each in parameters:
                each.grad = each.grad.to_sparse(1)
        return loss

    return made, [made.step(closure) for _ in range(2)]
