"""Defects of backend_template/portable and of the dialect: each BARRIER in turn is missing, which
the fibers notice."""

import re
from collections.abc import Iterator
from pathlib import Path

from mutation.mutant import Mutant

_ROOT = Path(__file__).resolve().parents[3]
_BY_HAND = "tests/python/dialect/test_library.py"
_OF_ROWS = "tests/python/portable/test_barriers_of_rows.py"
_KERNELS = "backend_template/portable/kernels"
# By the file, a test of each kernel that has a BARRIER, which the fibers run too.
_FOUND_BY = {
    "backend_template/include/outback/dialect/collectives.h": f"{_OF_ROWS}::test_softmax",
    f"{_KERNELS}/attention.k": f"{_BY_HAND}::test_attention",
    f"{_KERNELS}/matmul.k": f"{_BY_HAND}::test_convolution",
    f"{_KERNELS}/norm.k": f"{_OF_ROWS}::test_norms",
    f"{_KERNELS}/scan.k": f"{_BY_HAND}::test_cumsum",
    f"{_KERNELS}/softmax.k": f"{_OF_ROWS}::test_softmax",
    f"{_KERNELS}/sort.k": f"{_BY_HAND}::test_sort",
}


# Of matmul.k from the kernel matmul_vector on.
_VECTOR = f"{_BY_HAND}::test_product_with_a_vector"


def _without_each_barrier(file: str, test: str) -> Iterator[Mutant]:
    text = (_ROOT / file).read_text()
    for number, found in enumerate(re.finditer(r"BARRIER;", text), 1):
        # With so much of what stands before it that the text is there once.
        begin = found.start()
        in_vector = "matmul_vector" in text[:begin]
        while text.count(text[begin : found.end()]) > 1:
            begin -= 1
        yield Mutant(
            name=f"no_barrier_{number}_in_{Path(file).stem}",
            breaks="An item reads what another one has not written yet.",
            file=file,
            old=text[begin : found.end()],
            new=text[begin : found.start()],
            found_by=_VECTOR if in_vector else test,
        )


MUTANTS = tuple(
    mutant for file, test in _FOUND_BY.items() for mutant in _without_each_barrier(file, test)
)
