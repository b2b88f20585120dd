"""What a suite is made of: checks, functions that take the backend and raise what they found.

A suite is a module of `suites`; the first line of its docstring is its title, and its checks run in
the order in which they are written. One with `BESIDE_THE_CPU = True` is skipped where the CPU is
checked, which is to show that the suites ask for nothing that PyTorch itself does not do.

A check that returns has passed. `AssertionError`, and every other exception, is a failure;
`Unsupported` says that the backend does not have the thing, and `Skipped` that this torch or
machine cannot show it. `NotImplementedError`, which is what PyTorch's dispatcher raises for a
missing kernel, counts as Unsupported with its own words.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

from .backend import Backend
from .backend import Skipped as Skipped
from .backend import Unsupported as Unsupported
from .levels import LEVELS


@dataclasses.dataclass(frozen=True)
class Check:
    """A check and what its report says beside the error.

    Args:
        function: what runs. Its name is the check's, its docstring one sentence of what has to
            hold.
        called_by: the place in PyTorch that needs it, as "torch/nn/parallel/data_parallel.py:
            DataParallel.__init__"; the installed torch's path, and a function rather than a line.
        without: what breaks for a user where it fails, in a few words.
        level: the first of LEVELS that runs it.
        alone: whether it needs a process of its own, since it leaves something behind: a fork, an
            exit, a setting that cannot be taken back.
        tier: for what a device module has, "required", "recommended" or "full"; "" elsewhere.
    """

    function: Callable[..., None]  # of the backend, and of a variant's arguments
    called_by: str = ""
    without: str = ""
    level: str = "quick"
    alone: bool = False
    tier: str = ""
    variant: str = ""  # of checks that come out of one function: what this one is about

    @property
    def name(self) -> str:
        return (
            f"{self.function.__name__}[{self.variant}]" if self.variant else self.function.__name__
        )

    @property
    def promise(self) -> str:
        """What has to hold, in a sentence."""
        return " ".join((self.function.__doc__ or "").split())

    def __call__(self, backend: Backend) -> None:
        self.function(backend)


def check(
    *,
    called_by: str = "",
    without: str = "",
    level: str = "quick",
    alone: bool = False,
    tier: str = "",
) -> Callable[[Callable[..., None]], Check]:
    """Makes a function a check of the suite that its module is."""
    assert level in LEVELS, level

    def made(function: Callable[..., None]) -> Check:
        return Check(function, called_by, without, level, alone, tier)

    return made


def variants(check: Check, function: Callable[..., None], names: dict[str, tuple]) -> list[Check]:
    """A check for each of `names`: `function(backend, *arguments)`, all else as `check` says."""
    return [
        dataclasses.replace(
            check,
            function=functools.wraps(function)(lambda backend, a=arguments: function(backend, *a)),
            variant=name,
        )
        for name, arguments in names.items()
    ]
