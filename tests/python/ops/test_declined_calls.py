"""Kernels of a vendor's that serve float32 alone: who serves the calls that they decline, and what
the operator report says of these."""

import os

import pytest
import torch
from conftest import BUILD

pytestmark = pytest.mark.turns_on_memory

LIBRARY = BUILD / "declining_kernels/declining_kernels.so"
BEGIN = f"""
import torch
torch.ones(2, device="acme").square()  # by what served it until then
torch.ops.load_library({os.fspath(LIBRARY)!r})
from torch.acme import set_fallback_mode
"""
QUIET = {"TORCH_CPP_LOG_LEVEL": "ERROR"}  # each kernel takes another's place


@pytest.fixture
def run(run_python):
    if not LIBRARY.is_file():
        pytest.skip("this build has no declining_kernels")
    return lambda program: run_python(BEGIN + program, **QUIET).output


def test_a_linear_layer_works_in_all_dtypes(run):
    run("""
for dtype in (torch.float32, torch.float64, torch.bfloat16):
    layer = torch.nn.Linear(4, 3).to(dtype)
    x = torch.randn(5, 4, dtype=dtype)
    expected = layer(x)
    (expected * expected).sum().backward()
    gradient, layer.weight.grad = layer.weight.grad, None
    found = layer.acme()(x.acme())
    if dtype == torch.float32:
        assert (found.cpu() == 7).all()
        continue
    torch.testing.assert_close(found.cpu(), expected)
    if dtype == torch.float64:
        (found * found).sum().backward()
        torch.testing.assert_close(layer.weight.grad.cpu(), gradient)
""")


def test_the_report_has_a_row_for_calls_that_were_declined(run):
    rows = run("""
def call(dtype):
    x = torch.eye(3, dtype=dtype).acme()
    torch.addmm(x, x, x)
    x.mul_(x)
    x.square()
    x.fill_(2)

call(torch.float64), call(torch.float32)
with torch.acme.record_operators() as record:
    call(torch.float64), call(torch.float64), call(torch.float32)
for row in record.operators:
    if row.served != "elsewhere" and row.name in (
        "aten::addmm", "aten::mul_.Tensor", "aten::square", "aten::fill_.Scalar"
    ):
        print(row.name, row.dtype, row.calls, row.served, sep=", ")
""").splitlines()
    lent = "in place" if torch.acme._outback._native.kernels_of(0) == "cpu" else "over copies"
    # On memory apart a portable kernel may serve it.
    (of_mul,) = [row for row in rows if row.startswith("aten::mul_.Tensor, float64")]
    served = of_mul.rpartition(", ")[2]
    assert served in ((lent,) if lent == "in place" else (lent, "portable"))
    assert sorted(rows) == [
        "aten::addmm, float32, 1, vendor",
        f"aten::addmm, float64, 2, {lent}",
        "aten::fill_.Scalar, float32, 1, vendor",
        "aten::fill_.Scalar, float64, 2, own",
        "aten::mul_.Tensor, float32, 1, vendor",
        f"aten::mul_.Tensor, float64, 2, {served}",
        "aten::square, float32, 1, vendor",
        "aten::square, float64, 2, composed",
    ]


def test_the_fallback_mode_holds_for_calls_that_were_declined(run):
    if torch.acme._outback._native.kernels_of(0) == "cpu":
        pytest.skip("needs memory that the CPU cannot address")
    run("""
x = torch.eye(3, dtype=torch.float64).acme()
set_fallback_mode("error")
torch.addmm(x.float(), x.float(), x.float())
try:
    torch.addmm(x, x, x)
except NotImplementedError as error:
    assert "aten::addmm has no kernel for acme" in str(error), error
else:
    raise AssertionError("served")
assert (x.fill_(3).cpu() == 3).all()
""")


def test_the_list_of_providers_names_the_vendor(run):
    assert (
        run("""
from importlib import import_module
operators = import_module(torch.acme._outback.__name__ + ".operators")
print(operators.providers_document()["operators"]["aten::addmm"])
""")
        == "vendor"
    )
