"""Products and factors of matrices: the CPU's values, dtypes, strides and errors."""

import pytest
import torch
import torch.nn.functional as F

from .conftest import assert_equals_the_cpu, rand

pytestmark = pytest.mark.turns_on_memory

CALLS = {
    "mm": lambda on: on(rand(3, 4)) @ on(rand(4, 5)),
    "mm, transposed": lambda on: on(rand(4, 3)).t() @ on(rand(5, 4)).t(),
    "mm, every second row": lambda on: on(rand(6, 4))[::2] @ on(rand(4, 5)),
    "mm, nothing": lambda on: on(rand(0, 4)) @ on(rand(4, 5)),
    "mm over nothing": lambda on: on(rand(3, 0)) @ on(rand(0, 5)),
    "mm, double": lambda on: on(rand(3, 4).double()) @ on(rand(4, 5).double()),
    "mm, bfloat16": lambda on: on(rand(3, 4).bfloat16()) @ on(rand(4, 5).bfloat16()),
    "mm, half": lambda on: on(rand(3, 4).half()) @ on(rand(4, 5).half()),
    "mm, complex": lambda on: on(rand(3, 4).cfloat()).conj() @ on(rand(4, 5).cfloat()),
    "mm, integers": lambda on: on(rand(3, 4).int()) @ on(rand(4, 5).int()),
    "mm, two dtypes": lambda on: on(rand(3, 4)) @ on(rand(4, 5).double()),
    "mm, sizes": lambda on: on(rand(3, 4)) @ on(rand(3, 4)),
    "mm, a negative view": lambda on: on(rand(4, 4).cfloat()).conj().imag @ on(rand(4, 4)),
    "addmm": lambda on: torch.addmm(on(rand(5)), on(rand(3, 4)), on(rand(4, 5)), beta=2, alpha=3),
    "addmm, a number": lambda on: torch.addmm(on(rand(1)[0]), on(rand(3, 4)), on(rand(4, 5))),
    "addmm, beta 0": lambda on: torch.addmm(
        on(rand(5).fill_(float("nan"))), on(rand(3, 4)), on(rand(4, 5)), beta=0
    ),
    "bmm": lambda on: torch.bmm(on(rand(2, 3, 4)), on(rand(2, 4, 5))),
    "bmm, large": lambda on: torch.bmm(on(rand(8, 32, 64)), on(rand(8, 64, 16))),
    "baddbmm": lambda on: torch.baddbmm(on(rand(1, 5)), on(rand(2, 3, 4)), on(rand(2, 4, 5))),
    "linear": lambda on: F.linear(on(rand(2, 3, 4)), on(rand(5, 4)), on(rand(5))),
    "dot": lambda on: torch.dot(on(rand(5)), on(rand(5)) + 1),
    "dot, every second": lambda on: torch.dot(on(rand(6))[::2], on(rand(3))),
    "dot, sizes": lambda on: torch.dot(on(rand(5)), on(rand(4))),
    "dot, two dtypes": lambda on: torch.dot(on(rand(5)), on(rand(5).double())),
    "ldl": lambda on: torch.linalg.ldl_factor_ex(on(rand(2, 5, 5)))[0],
    "ldl, pivots": lambda on: torch.linalg.ldl_factor_ex(on(rand(2, 5, 5)))[1],
    "ldl, transposed": lambda on: torch.linalg.ldl_factor_ex(on(rand(5, 5)).t())[0],
    "ldl, hermitian": lambda on: torch.linalg.ldl_factor_ex(
        on(rand(3, 3).cdouble()), hermitian=True
    )[0],
    "ldl, half": lambda on: torch.linalg.ldl_factor_ex(on(rand(3, 3).half()))[0],
    "ldl, singular": lambda on: torch.linalg.ldl_factor_ex(on(rand(3, 3) * 0), check_errors=True)[
        0
    ],
    "ldl of nothing": lambda on: torch.linalg.ldl_factor_ex(on(rand(0, 3, 3)))[0],
    "ldl, not square": lambda on: torch.linalg.ldl_factor_ex(on(rand(3, 4)))[0],
    "mv": lambda on: torch.mv(on(rand(3, 4)), on(rand(4))),
    "mv, transposed": lambda on: torch.mv(on(rand(4, 3)).t(), on(rand(8))[::2]),
    "mv, every second": lambda on: torch.mv(on(rand(6, 8))[::2, ::2], on(rand(4))),
    "mv, sizes": lambda on: torch.mv(on(rand(3, 4)), on(rand(3))),
    "mv over nothing": lambda on: torch.mv(on(rand(3, 0)), on(rand(0))),
    "mv of integers": lambda on: torch.mv(on(rand(3, 4).int()), on(rand(4).int())),
    "addmv": lambda on: torch.addmv(on(rand(3)), on(rand(3, 4)), on(rand(4)), beta=2, alpha=3),
    "addmv, a number": lambda on: torch.addmv(on(rand(1)[0]), on(rand(3, 4)), on(rand(4))),
    "addmv, beta 0": lambda on: torch.addmv(
        on(rand(3).fill_(float("nan"))), on(rand(3, 4)), on(rand(4)), beta=0
    ),
    "addmv_, sizes": lambda on: on(rand(1)).addmv_(on(rand(3, 4)), on(rand(4))),
    "addmv_": lambda on: on(rand(6))[::2].addmv_(on(rand(3, 4)), on(rand(4)), alpha=2).add(1),
    "addr": lambda on: torch.addr(on(rand(4)), on(rand(3)), on(rand(4)), beta=2),
    "addr, sizes": lambda on: torch.addr(on(rand(3)), on(rand(3)), on(rand(4))),
    "addmm over nothing": lambda on: torch.addmm(on(rand(3, 5)), on(rand(3, 0)), on(rand(0, 5))),
    "addmm of nothing": lambda on: torch.addmm(on(rand(5)), on(rand(0, 4)), on(rand(4, 5))),
    "bmm over nothing": lambda on: torch.bmm(on(rand(2, 3, 0)), on(rand(2, 0, 5))),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_equals_the_cpu(call, put):
    assert_equals_the_cpu(call, put)


@pytest.mark.parametrize("precision", ["medium", "high"])
def test_a_users_wish_for_shorter_products_is_the_cpus_affair(precision):
    a, b = rand(64, 64), rand(64, 64)
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision(precision)
        expected = [a @ b, torch.addmm(a, a, b), torch.bmm(a[None], b[None])]
        a, b = a.acme(), b.acme()
        results = [a @ b, torch.addmm(a, a, b), torch.bmm(a[None], b[None])]
    finally:
        torch.set_float32_matmul_precision(before)
    for result, want in zip(results, expected, strict=True):
        torch.testing.assert_close(result.cpu(), want, rtol=0, atol=0)
