"""Defects of ./dev, which says whether the tests have passed."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="what_was_changed_while_it_ran_has_passed",
        breaks="./dev test --resume leaves out a part that passed on edited sources, as if the "
        "commit had.",
        file="tools/dev/testing/results.py",
        old="not (last.dirty or state.dirty) else None",
        new="not state.dirty else None",
        found_by="tests/package/test_dev_results.py::"
        "test_what_was_tested_must_have_been_the_commit_from_start_to_end",
    ),
)
