"""PyTorch's own samples of some operators: the device has to agree with the CPU on every one.

All that PyTorch has samples of, in some minutes:
python -m torch_outback.conformance --device acme --import torch_acme
"""

import subprocess
import sys

import pytest

OPERATORS = ["add", "mul", "matmul", "sum", "softmax", "nn.functional.layer_norm", "sort", "where"]


def test_operators_agree_with_the_cpu():
    pytest.importorskip("torch_outback", reason="needs pip install torch-outback[conformance]")
    command = [sys.executable, "-m", "torch_outback.conformance", "--strict", "--ops"]
    command += [",".join(OPERATORS), "--device", "acme", "--import", "torch_acme"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
