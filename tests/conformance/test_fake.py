"""PyTorch's samples on fake tensors: the shapes, dtypes and refusals that the CPU's have."""

from __future__ import annotations

import itertools
import warnings

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

DEVICE = torch.utils.backend_registration._privateuse1_backend_name
DIFFERENT = {
    "_native_batch_norm_legit": "PyTorch's formula gives no statistics of evaluation on the CPU",
    "native_batch_norm": "the same",
    "nonzero_static": "the strides of an empty result are the CPU's own",
    "tensor_split": "takes the places to split at on the CPU alone",
}


def fake(value, device, mode):
    if isinstance(value, torch.Tensor):
        return mode.from_tensor(value.detach().to(device).requires_grad_(value.requires_grad))
    if isinstance(value, torch.device):
        return torch.device(device)
    return device if value == "cpu" else value


def described(value):
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    strides = value.stride() if value.layout == torch.strided else None
    return value.dtype, tuple(value.shape), value.layout, strides, value.requires_grad


def answer(op, sample, device):
    mode = FakeTensorMode()
    given = (sample.input, sample.args, sample.kwargs)
    value, args, kwargs = tree_map(lambda it: fake(it, device, mode), given)
    if "device" in kwargs:
        kwargs["device"] = device
    try:
        with mode:
            results = tree_leaves(op(value, *args, **kwargs))
    except Exception as refused:  # the CPU's refusals are compared too
        return type(refused).__name__
    elsewhere = [it for it in results if isinstance(it, torch.Tensor) and it.device.type != device]
    return [described(it) for it in results] + ["on another device"] * len(elsewhere)


def samples():
    for op in op_db:
        for dtype in (torch.float32, torch.int64):
            if not op.supports_dtype(dtype, "cpu"):
                continue
            for sample in itertools.islice(op.sample_inputs("cpu", dtype), 3):
                yield op, sample


@pytest.mark.slow
def test_fake_tensors_of_the_device_are_as_the_cpus():
    different, count = set(), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op, sample in samples():
            count += 1
            if answer(op, sample, "cpu") != answer(op, sample, DEVICE):
                different.add(op.name)
    assert count > 3000
    assert different == set(DIFFERENT)
