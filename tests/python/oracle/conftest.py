"""The oracle: what this backend's methods do, against what PyTorch's generated ones do."""

from pathlib import Path

import pytest
import torch
import torch_acme

from oracle.generated_methods import GeneratedMethods

BUILD = Path(torch_acme.__file__).parents[2]


@pytest.fixture(scope="session")
def theirs():
    """PyTorch's generated methods, in a process of their own."""
    backend = BUILD / "python_plain"
    if not backend.is_dir():
        pytest.skip("this build has no python_plain, a backend without methods")
    generated = GeneratedMethods(backend)
    try:
        counts = torch.acme.device_count(), generated.device_count
        if counts != (2, 2):
            pytest.skip(f"needs two devices here and in the other process, not {counts}")
        yield generated
    finally:
        generated.close()
