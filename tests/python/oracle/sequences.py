"""Packed sequences, and what is to be seen of one."""

import torch
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from oracle import tensors
from oracle.description import SequenceSource


def make(source: SequenceSource) -> PackedSequence:
    dtype = getattr(torch, source.dtype)
    steps = [tensors.numbers(length * 2, dtype).reshape(length, 2) for length in source.lengths]
    if source.requires_grad:
        steps = [step.requires_grad_() for step in steps]
    packed = pack_sequence(steps, enforce_sorted=source.enforce_sorted)
    return packed.to(source.device)


def look(sequence: PackedSequence) -> dict:
    return {
        field: None if tensor is None else tensors.look(tensor)
        for field, tensor in sequence._asdict().items()
    }


def compare(source: PackedSequence, result) -> dict:
    if not isinstance(result, PackedSequence):
        return {"value": repr(result)}
    return {
        "sequence": look(result),
        "is source": result is source,
        "same fields": [
            field
            for field, old, new in zip(source._fields, source, result, strict=True)
            if new is old
        ],
    }
