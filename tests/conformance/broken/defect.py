"""What a defect is: a function that breaks the backend, and the check that finds it."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable

THEMES = (
    "copies",
    "device_module",
    "extremes",
    "memory",
    "operators",
    "processes",
    "randomness",
    "streams",
    "training",
    "views",
)


@dataclasses.dataclass(frozen=True)
class Defect:
    """One thing that is wrong.

    Args:
        apply: breaks the backend; its name is the defect's, its docstring what is wrong.
        suite, check: who finds it.
        verdict: what the check comes to.
        says: what stands in what it says.
        blind: whether it was written by somebody who had not read the suites.
        level: the one at which the check runs.
        slow: whether its test takes seconds, and is left out of a quick run.
    """

    apply: Callable[[], None]
    suite: str
    check: str
    verdict: str = "fail"
    says: str = ""
    blind: bool = False
    level: str = "quick"
    slow: bool = False

    @property
    def name(self) -> str:
        return self.apply.__name__


def defect(suite: str, check: str, **how: object) -> Callable[[Callable[[], None]], Defect]:
    """Makes a function a defect that this check of the suite finds."""
    return lambda apply: Defect(apply, suite, check, **how)


@functools.cache
def all_of_them() -> dict[str, Defect]:
    """By name, of every theme."""
    modules = [importlib.import_module(f"{__package__}.{theme}") for theme in THEMES]
    found = [each for module in modules for each in vars(module).values()]
    defects = [each for each in found if isinstance(each, Defect)]
    by_name = {each.name: each for each in defects}
    assert len(by_name) == len(defects), "two defects have one name"
    return by_name
