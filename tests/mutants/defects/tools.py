"""Defects of what CI itself checks with: the conformance suite, and tools/dev."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="an_operator_that_is_gone_is_no_regression",
        breaks="PyTorch's samples pass although an operator's entry is missing from the run.",
        file="tests/conformance/opinfo/gate.py",
        old="        addresses |= set(before)",
        new="        addresses |= set(now)",
        found_by="tests/conformance/test_harness.py::test_an_operator_that_is_gone_is_a_regression",
    ),
    Mutant(
        name="a_hang_is_no_worse_than_a_failure",
        breaks="PyTorch's samples pass although an operator that failed now hangs.",
        file="tests/conformance/opinfo/gate.py",
        old="    return len(_ORDER) if status in _ENDS else _ORDER.index(status)",
        new="    return len(_ORDER) - 1 if status in _ENDS else _ORDER.index(status)",
        found_by="tests/conformance/test_harness.py::test_what_does_not_pass_can_only_become_less",
    ),
)
