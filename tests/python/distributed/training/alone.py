"""One process that trains as several do: the losses that the forms are compared with."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call

from .network import STEPS, Network, adam, batches, loss_of, shards, train

JOINED = STEPS - 10  # steps for which the second rank has data, in `joined`


def alone(device: torch.device) -> list[float]:
    model = Network().to(device)
    return train(model, adam(model), batches(device))


# ---- What two ranks compute with fewer bits, or from less data: the same, one rank after the other

Combine = Callable[[Tensor, Tensor], Tensor]  # one parameter's gradients on the two ranks


def _in_two(
    device: torch.device, combine: Combine, dtype: torch.dtype, steps_of_second: int
) -> list[float]:
    model = Network().to(device)
    optimizer = adam(model)
    losses = []
    for step, halves in enumerate(
        zip(*(shards(device, rank, 2) for rank in range(2)), strict=True)
    ):
        both = halves if step < steps_of_second else halves[:1]
        found = [_gradients(model, dtype, *half) for half in both]
        for i, parameter in enumerate(model.parameters()):
            parts = [gradients[i] for _, gradients in found]
            parameter.grad = combine(*(parts if len(parts) == 2 else (parts[0], 0 * parts[0])))
        optimizer.step()
        losses.append(sum(loss for loss, _ in found) / len(found))
    return losses


def _gradients(
    model: nn.Module, dtype: torch.dtype, tokens: Tensor, expected: Tensor
) -> tuple[float, tuple[Tensor, ...]]:
    values = {
        name: value.detach().to(dtype).requires_grad_() for name, value in model.named_parameters()
    }
    loss = loss_of(functional_call(model, values, (tokens,)), expected)
    return loss.item(), torch.autograd.grad(loss, list(values.values()))


def _mean(a: Tensor, b: Tensor) -> Tensor:
    return (a.float() + b.float()) / 2


def _sent_as_half(a: Tensor, b: Tensor) -> Tensor:
    return (a.half() / 2 + b.half() / 2).float()


def reference(
    combine: Combine = _mean, dtype: torch.dtype = torch.float32, steps_of_second: int = STEPS
) -> Callable[[torch.device], list[float]]:
    return partial(_in_two, combine=combine, dtype=dtype, steps_of_second=steps_of_second)


in_bfloat16 = reference(dtype=torch.bfloat16)
sent_as_half = reference(_sent_as_half)
joined = reference(steps_of_second=JOINED)
