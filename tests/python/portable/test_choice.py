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


def test_a_driver_that_refuses_the_kernels_is_named_once(run_python, on_device):
    made = run_python(ADDS, check=False, OUTBACK_FAULTS="kernels.module_load:*=internal")
    assert made.output.splitlines()[-1].startswith("36.0 ['aten::add.Tensor'")
    assert made.errors.count("run over copies, since these kernels do not load") >= 1
    assert made.errors.count("of the kernels elementwise_f32") == 1
