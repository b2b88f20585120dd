"""Sixty everyday operators give the CPU's results and gradients. All of them: tests/conformance."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

HARNESS = Path(__file__).parents[1] / "conformance" / "run.py"

EVERYDAY = """
add sub mul div.no_rounding_mode true_divide pow neg abs exp log sqrt rsqrt sigmoid tanh clamp
maximum minimum where eq lt logical_and bitwise_and isnan
mm bmm addmm matmul einsum linalg.norm linalg.solve
sum mean var prod amax argmax cumsum sort topk unique
cat stack split chunk view reshape transpose permute expand unbind
index_select gather scatter masked_fill __getitem__ index_put nonzero
nn.functional.linear nn.functional.conv2d nn.functional.max_pool2d nn.functional.batch_norm
nn.functional.layer_norm nn.functional.relu nn.functional.gelu softmax nn.functional.cross_entropy
nn.functional.dropout nn.functional.embedding nn.functional.scaled_dot_product_attention
tensor_split randn zeros_like arange
"""
A_FEW = "mul mm sum cat sort nn.functional.conv2d arange randn unique"


def run(device: str, operators: str) -> None:
    command = [sys.executable, HARNESS, "--device", device, "--import", "torch_acme", "--strict"]
    command += ["--jobs", "1", "--ops", ",".join(operators.split())]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everyday_operators_agree_with_the_cpu():
    run("acme", EVERYDAY)


@pytest.mark.usefixtures("two_devices")
def test_operators_stay_on_a_device_that_is_not_the_current_one():
    assert torch.acme.current_device() == 0
    run("acme:1", A_FEW)
