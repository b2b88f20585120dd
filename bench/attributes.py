"""What a tensor says about its device, against PyTorch's own ways to say it."""

from __future__ import annotations

import torch
from backend import Backend
from rows import Row, Section
from timing import Code, paired
from torch.utils import backend_registration

PROPERTY_OF_PYTORCH = "generated_by_pytorch"


def sections(backend: Backend, seconds: float) -> list[Section]:
    _generate_pytorchs_property()
    values = {
        "t": torch.zeros(4, 4, device=backend.device),
        "cpu": torch.zeros(4, 4),
    }
    name = backend.name

    def row(statement: str, reference: str) -> Row:
        return Row(
            statement, reference, paired(Code(statement, values), Code(reference, values), seconds)
        )

    return [
        Section(
            "attributes and methods",
            [
                row(f"t.is_{name}", "t.is_cuda"),
                row(f"cpu.is_{name}", "cpu.is_cuda"),
                row(f"t.is_{PROPERTY_OF_PYTORCH}", "t.is_cuda"),
                row(f"t.{name}()", "cpu.cpu()"),
            ],
        )
    ]


def _generate_pytorchs_property() -> None:
    """Tensor.is_<name>, made by PyTorch itself, for a name that no device has."""
    if not hasattr(torch.Tensor, f"is_{PROPERTY_OF_PYTORCH}"):
        generate = backend_registration._generate_tensor_methods_for_privateuse1_backend
        generate(PROPERTY_OF_PYTORCH)
