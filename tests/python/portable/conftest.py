"""The device under test, if portable kernels serve it."""

import pytest
import torch


@pytest.fixture
def on_device():
    """No operator of the test may run over copies. Skips where the backend packs no portable
    kernels, or OUTBACK_PORTABLE does not let them serve memory that the CPU can address."""
    before = torch.acme.get_fallback_mode()
    torch.acme.set_fallback_mode("error")
    try:
        # Of which the CPU has no such kernel.
        torch.ops.aten._softmax(torch.zeros(1, dtype=torch.float16, device="acme"), 0, True)
    except RuntimeError:
        pytest.skip("needs portable kernels, and memory that the CPU cannot address")
    else:
        yield
    finally:
        torch.acme.set_fallback_mode(before)
