"""Every module that PyTorch has samples of, moved to the device: training and evaluation."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import torch
from families.operators import gradients

from conformance.opinfo import modules, sampling
from conformance.opinfo.settings import Settings

SAMPLES = 4  # of each mode


def units(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    for each in modules.load(Settings(device=device, dtypes=("float32",))):
        if each.dtype is not None:
            yield each.name, partial(work, each, torch.device(device, 0))


def work(module: modules.Module, device: torch.device) -> object:
    kept = []
    for training in (True, False):
        sampling.seed_everything(0)
        inputs = module.info.module_inputs_func(
            module.info, device="cpu", dtype=module.dtype, requires_grad=True, training=training
        )
        for given in islice(inputs, SAMPLES):
            sample = modules._Sample(module, given, training)
            args, kwargs = sample.arguments(device)
            made = sample.moved(device)
            sampling.seed_torch(0)
            try:
                results = modules._plain(made(*args, **kwargs))
            except ZeroDivisionError:
                continue  # a norm divides by a number of batches that no kernel has counted
            kept += [args, kwargs, made, results, gradients(results)]
    return kept
