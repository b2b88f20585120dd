"""What the list of defects is made of: a defect, and the test that finds it."""

import hashlib
from dataclasses import astuple, dataclass


class WrongList(Exception):
    """The list and the tree do not fit together: says which mutant, and what is wrong with it."""


@dataclass(frozen=True)
class Mutant:
    """A defect as a tired engineer makes it: it compiles, and is wrong in one line."""

    name: str  # unique, and says the defect
    breaks: str  # what goes wrong for a user, in a sentence
    file: str  # from the root of the tree
    old: str  # occurs in `file` exactly once, so it may be more than the line that changes
    new: str
    found_by: str = ""  # one test, as ./dev test takes it; empty: nobody knows yet
    on: str = ""  # a Python test's run, as --on takes it; empty: the one that ./dev test takes

    @property
    def test(self) -> str:
        """Names the test for a reader, and apart from the same one on another run."""
        return f"{self.found_by} {self.on}".rstrip()

    @property
    def key(self) -> str:
        """Another one when anything about it changes."""
        return hashlib.sha256(repr(astuple(self)).encode()).hexdigest()[:16]

    def applied_to(self, text: str) -> str:
        """The text of `file` with the defect in it."""
        times = text.count(self.old)
        if times != 1:
            raise WrongList(
                f"{self.name}: the text that it replaces is in {self.file} {times} times, not "
                f"once. If the source moved on, bring the mutant up to date:\n{self.old}"
            )
        return text.replace(self.old, self.new)
