"""Which devices portable kernels serve, and what happens where a driver refuses them."""

import pytest

pytestmark = pytest.mark.turns_on_kernels

ADDS = """
import torch, torch_acme
x = torch.ones(4, 3, device="acme")
print(((x + x.t()[:1].t() * 2).sum()).item(), sorted(torch.acme.fallback_stats()))
"""


def test_never_leaves_all_to_the_next_provider(run_python, on_device):
    served = run_python(ADDS)
    assert served.output == "36.0 []"
    left = run_python(ADDS, OUTBACK_PORTABLE="never")
    assert left.output.startswith("36.0 ['aten::add.Tensor'")


def test_operators_can_be_left_out(run_python, on_device):
    left = run_python(ADDS, OUTBACK_PORTABLE_EXCLUDED="aten::add.Tensor,aten::mm")
    assert left.output == "36.0 ['aten::add.Tensor']"


def test_without_its_kernel_ldexp_is_as_exact(run_python, on_device):
    code = """
import torch, torch_acme
x = torch.tensor([1e-30], device="acme")
print(torch.ldexp(x, torch.tensor([140], device="acme")).isinf().item())
"""
    left = run_python(code, OUTBACK_PORTABLE_EXCLUDED="aten::ldexp.Tensor")
    assert left.output == "False"  # 2^140, a factor of the composed form, is infinite


def test_a_driver_that_refuses_the_kernels_is_named_once(run_python, on_device):
    made = run_python(ADDS, check=False, OUTBACK_FAULTS="kernels.module_load:*=internal")
    assert made.output.splitlines()[-1].startswith("36.0 ['aten::add.Tensor'")
    assert made.errors.count("run over copies, since these kernels do not load") >= 1
    assert made.errors.count("of the kernels elementwise_f32") == 1


@pytest.mark.parametrize("status", ["device_lost", "out_of_memory"])
def test_a_failure_of_the_device_is_no_refusal(run_python, on_device, status):
    code = """
import torch, torch_acme
try:
    x = torch.ones(4, device="acme")
    x + x
except (torch.AcceleratorError, torch.OutOfMemoryError) as error:
    print("kernels.module_load" in str(error))
"""
    made = run_python(code, OUTBACK_FAULTS=f"kernels.module_load:*={status}")
    assert made.output == "True"
    assert "run over copies" not in made.errors
