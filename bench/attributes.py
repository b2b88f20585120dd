"""What a tensor says about its device and how it gets there, against PyTorch's own ways.

Rows of PyTorch's Python for PrivateUse1 backends say what a backend has without ours.
"""

from __future__ import annotations

from typing import Any

import torch
from backend import Backend
from rows import Row, Section
from timing import Code, paired
from torch.utils import backend_registration

PROPERTY_OF_PYTORCH = "generated_by_pytorch"


def sections(backend: Backend, seconds: float) -> list[Section]:
    _generate_pytorchs_property()
    name = backend.name

    def row(
        statement: str, reference: str, values: dict[str, Any], limit: float | None = None
    ) -> Row:
        measured = paired(Code(statement, values), Code(reference, values), seconds)
        return Row(statement, reference, measured, limit=limit)

    tensors = {
        "t": torch.zeros(4, 4, device=backend.device),
        "cpu": torch.zeros(4, 4),
        "dev": backend.device,
    }
    storages = {"storage": tensors["t"].untyped_storage()}
    devices = {
        "torch": torch,
        "normalize": backend.module._normalize_device,
        "_normalization_device": backend_registration._normalization_device,
        "dev": backend.device,
    }
    text = f'"{name}:0"'
    return [
        Section(
            "attributes",
            [
                row(f"t.is_{name}", "t.is_cuda", tensors, limit=1.0),
                row(f"cpu.is_{name}", "cpu.is_cuda", tensors, limit=1.0),
                row(f"t.is_{PROPERTY_OF_PYTORCH}", "t.is_cuda", tensors),
                row(f"storage.is_{name}", "storage.is_cuda", storages, limit=0.5),
            ],
        ),
        Section(
            "tensors that are there already",
            [
                row(f"t.{name}()", "t.to(dev)", tensors, limit=1.0),
                row(f"t.{name}(0)", "t.to(dev)", tensors, limit=1.0),
                row(f"t.{name}(dev)", "t.to(dev)", tensors, limit=1.0),
            ],
        ),
        Section(
            "device arguments",
            [
                row(f"normalize({text})", f"torch.device({text})", devices, limit=1.0),
                row("normalize(dev)", f"torch.device({text})", devices, limit=1.0),
                row("normalize(0)", f"torch.device({text})", devices, limit=0.3),
                row(
                    f'_normalization_device("{name}", {text})',
                    f"torch.device({text})",
                    devices,
                ),
            ],
        ),
    ]


def _generate_pytorchs_property() -> None:
    """Tensor.is_<name>, made by PyTorch itself, for a name that no device has."""
    if not hasattr(torch.Tensor, f"is_{PROPERTY_OF_PYTORCH}"):
        generate = backend_registration._generate_tensor_methods_for_privateuse1_backend
        generate(PROPERTY_OF_PYTORCH)
