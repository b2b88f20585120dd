"""PyTorch's own samples of some operators: the device has to agree with the CPU on every one.

All that PyTorch promises of a device, in some minutes:
outback conformance --device acme --import torch_acme --expectations conformance/expectations.txt
"""

import subprocess
import sys
from pathlib import Path

import pytest

OPERATORS = ["add", "mul", "matmul", "sum", "softmax", "nn.functional.layer_norm", "sort", "where"]


def test_operators_agree_with_the_cpu():
    pytest.importorskip("torch_outback", reason="needs pip install torch-outback[conformance]")
    expectations = Path(__file__).parents[1] / "conformance/expectations.txt"
    command = [sys.executable, "-m", "torch_outback", "conformance"]
    command += ["--device", "acme", "--import", "torch_acme", "--expectations", expectations]
    command += ["--suite", "operators", "-k", " or ".join(f"operators/{it}/" for it in OPERATORS)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
