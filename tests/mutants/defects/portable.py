"""Defects of backend_template/portable and of the dialect: each BARRIER in turn is missing, which
the fibers notice."""

import re
from collections.abc import Iterator
from pathlib import Path

from mutation.mutant import Mutant

_ROOT = Path(__file__).resolve().parents[3]
_TESTS = "tests/python/dialect/test_library.py"
_KERNELS = "backend_template/portable/kernels"
# By the file, a test of each kernel that has a BARRIER, which the fibers run too.
_FOUND_BY = {
    "backend_template/include/outback/dialect/collectives.h": "test_argmax",
    f"{_KERNELS}/attention.k": "test_attention",
    f"{_KERNELS}/matmul.k": "test_matmul",
    f"{_KERNELS}/scan.k": "test_cumsum",
    f"{_KERNELS}/sort.k": "test_sort",
}


def _without_each_barrier(file: str, test: str) -> Iterator[Mutant]:
    text = (_ROOT / file).read_text()
    for number, found in enumerate(re.finditer(r"BARRIER;", text), 1):
        # With so much of what stands before it that the text is there once.
        begin = found.start()
        while text.count(text[begin : found.end()]) > 1:
            begin -= 1
        yield Mutant(
            name=f"no_barrier_{number}_in_{Path(file).stem}",
            breaks="An item reads what another one has not written yet.",
            file=file,
            old=text[begin : found.end()],
            new=text[begin : found.start()],
            found_by=f"{_TESTS}::{test}",
        )


MUTANTS = tuple(
    mutant for file, test in _FOUND_BY.items() for mutant in _without_each_barrier(file, test)
)
