"""fill_, copy_ and contiguous: the CPU's values, dtypes, strides and errors."""

import pytest

from .conftest import assert_equals_the_cpu, rand

pytestmark = pytest.mark.turns_on_memory

CALLS = {
    "fill_": lambda on: on(rand(3, 4)).fill_(1.5),
    "fill_ one": lambda on: on(rand(3, 4))[1:2, 2].fill_(1.5),
    "fill_ half": lambda on: on(rand(3, 4).half()).fill_(1e6),
    "fill_ one half with too much": lambda on: on(rand(1).half()).fill_(1e6),
    "fill_ one long with too much": lambda on: on(rand(1).long()).fill_(1e30),
    "fill_ one float with too much": lambda on: on(rand(1)).fill_(1e300),
    "fill_ one bool": lambda on: on(rand(1).bool()).fill_(2),
    "fill_ one byte with too much": lambda on: on(rand(1).byte()).fill_(300),
    "fill_ one complex number": lambda on: on(rand(1).cfloat()).fill_(1j),
    "fill_ integers with a fraction": lambda on: on(rand(3, 4).int()).fill_(1.7),
    "fill_ one with a complex number": lambda on: on(rand(1)).fill_(1j),
    "fill_ a conjugate": lambda on: on(rand(3).cfloat()).conj().fill_(1j),
    "fill_ every second": lambda on: on(rand(6)).view(3, 2)[:, 0].fill_(2).add(1),
    "fill_ an expanded one": lambda on: on(rand(1)).expand(4).fill_(2),
    "copy_, transposed": lambda on: on(rand(3, 4)).copy_(on(rand(4, 3)).t()),
    "copy_, broadcast": lambda on: on(rand(3, 4)).copy_(on(rand(4))),
    "copy_, another dtype": lambda on: on(rand(3, 4).int()).copy_(on(rand(3, 4) * 9)),
    "copy_, half": lambda on: on(rand(3, 4).half()).copy_(on(rand(3, 4))),
    "copy_, complex to real": lambda on: on(rand(3).cfloat()).copy_(on(rand(3))),
    "copy_, conjugated": lambda on: on(rand(3).cfloat()).copy_(on(rand(3).cfloat() * 1j).conj()),
    "copy_, negated": lambda on: on(rand(3)).copy_(on(rand(3).cfloat() * 1j).conj().imag),
    "copy_, sizes": lambda on: on(rand(3, 4)).copy_(on(rand(3))),
    "copy_ to an expanded one": lambda on: on(rand(1)).expand(4).copy_(on(rand(4))),
    "contiguous": lambda on: on(rand(3, 4)).t().contiguous(),
    "contiguous, large": lambda on: on(rand(80, 90)).t().contiguous(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_equals_the_cpu(call, put):
    assert_equals_the_cpu(call, put)
