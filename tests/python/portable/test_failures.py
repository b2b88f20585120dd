"""What a process is told when a device fails under portable kernels, and that it works after it."""

import subprocess
import sys

import pytest
import torch

pytestmark = pytest.mark.turns_on_kernels

# The sums of the parts of such a long product need scratch, of 1 MiB or more.
LONG_PRODUCT = """
import torch, torch_acme
a, b = (torch.ones(64, 1 << 17, device="acme") for _ in range(2))
out, rest = torch.full((64, 64), 7.0, device="acme"), []
try:
    while True:
        rest.append(torch.empty(1 << 19, dtype=torch.uint8, device="acme"))
except torch.OutOfMemoryError:
    pass
try:
    torch.mm(a, b.t(), out=out)
except torch.OutOfMemoryError:
    print("no memory", bool((out == 7).all()))
print(torch.mm(a[:, :100], b[:, :100].t()).sum().item(), torch.acme.fallback_stats())
"""


def test_no_memory_for_scratch_writes_nothing(run_python, on_device):
    made = run_python(LONG_PRODUCT, OUTBACK_HOST_MEMORY="80M")
    assert made.output == "no memory True\n409600.0 {}"


FAILS_LATE = """
import torch, torch_acme
torch.acme.set_fallback_mode("error")
x = torch.ones(5, device="acme")
torch.acme.synchronize()
try:
    for _ in range(20):
        x = x + 1
    torch.acme.synchronize()
except torch.AcceleratorError as error:
    print("told")
y = torch.ones(5, device="acme")
print((y + y).sum().item())
"""


def test_a_kernel_that_fails_is_told_and_the_device_goes_on(run_python, on_device):
    if not torch.acme.get_device_properties(0).name.startswith("Outback host"):
        pytest.skip("needs the host runtime, which lets work fail")
    assert run_python(FAILS_LATE, OUTBACK_HOST_FAIL_WORK="10").output == "told\n10.0"


SUMS = """
import torch, torch_acme
torch.acme.set_fallback_mode("error")
x = torch.arange(1 << 16, device="acme", dtype=torch.float32)
for _ in range(200):
    x = (x * 3 + 1) % 1001
print(x.double().sum().item())
"""


def test_two_processes_at_once(run_python, on_device):
    begun = [
        subprocess.Popen([sys.executable, "-c", SUMS], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    alone = run_python(SUMS.replace('"acme"', '"cpu"')).output
    assert [each.communicate()[0].strip() for each in begun] == [alone, alone]
