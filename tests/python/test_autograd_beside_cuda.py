"""The error of PyTorch's that tensors of its own devices meet beside a backend (pytorch#161129).

tests/cuda_in_place has the programs that meet it; here a node raises what PyTorch does.
"""

import pytest

pytestmark = pytest.mark.any_runtime

FAILS = """
import torch
torch.version.cuda = {cuda!r}
import torch_acme

class Fails(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        raise RuntimeError({text!r})

try:
    Fails.apply(torch.ones(1, requires_grad=True)).backward()
except RuntimeError as error:
    print(error)
    print(error.__cause__)
"""
ASSERTION = "opt_ready_stream && opt_parent_stream INTERNAL ASSERT FAILED at engine.cpp"


@pytest.fixture
def errors(run_python):
    """The lines of the error, and of its cause."""

    def run(cuda: str | None, text: str) -> list[str]:
        source = FAILS.format(cuda=cuda, text=text)
        return run_python(source, TORCH_DEVICE_BACKEND_AUTOLOAD="0").output.splitlines()

    return run


def test_it_says_what_broke_and_what_to_do(errors):
    told, cause = errors("13.0", ASSERTION)
    assert "pytorch#161129" in told and "Move the tensors to acme" in told
    assert "OUTBACK_AUTOLOAD=0" in told
    assert cause == ASSERTION


@pytest.mark.parametrize(
    "cuda, text", [("13.0", "another error"), (None, ASSERTION)], ids=["other", "no CUDA"]
)
def test_other_errors_stay_as_they_are(errors, cuda, text):
    assert errors(cuda, text) == [text, "None"]
