"""Every operator that PyTorch has samples of, in single precision where it has it: forward, and
backward where it has one. The samples are copied from the CPU: their values are real."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch.utils import _pytree as pytree

from conformance.opinfo import operators, sampling
from conformance.opinfo.calls import run
from conformance.opinfo.exemptions import Exemptions, find
from conformance.opinfo.settings import Settings

SAMPLES = 2


def units(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    settings = Settings(device=device, dtypes=("float32",))
    on_host = Exemptions.load(settings.exemptions).host_arguments
    for each in operators.load(settings):
        if each.dtype is not None:
            only_input = find(on_host, each, "forward") is not None
            yield each.name, partial(work, each, torch.device(device, 0), only_input)


def work(operator: operators.Operator, device: torch.device, only_input: bool) -> object:
    kept = []
    for sample in sampling.samples_of(operator, SAMPLES, 0, requires_grad=operator.differentiable):
        call = sampling.place(sample, device, only_input=only_input)
        results = call.process(run(operator.info, call))
        kept += [call, results, gradients(results)]
    return kept


def gradients(results: object) -> object:
    outputs = [
        each
        for each in pytree.tree_leaves(results)
        if isinstance(each, torch.Tensor) and each.requires_grad
    ]
    if outputs:
        torch.autograd.backward(outputs, [torch.ones_like(each) for each in outputs])
    return outputs
