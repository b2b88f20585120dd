"""Gathers the mutants of defects/, and refuses a list that cannot be run."""

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import defects

from .mutant import Mutant, WrongList


def by_area() -> dict[str, tuple[Mutant, ...]]:
    """The mutants of each module of defects/."""
    names = sorted(module.name for module in pkgutil.iter_modules(defects.__path__))
    return {name: importlib.import_module(f"defects.{name}").MUTANTS for name in names}


def check(mutants: Iterable[Mutant], root: Path) -> None:
    """Raises WrongList at the first mutant that cannot be applied to the tree in `root`, names no
    test, or is there twice."""
    mutants = tuple(mutants)
    for what in ("name", "key"):
        counted = Counter(getattr(mutant, what) for mutant in mutants)
        twice = [mutant.name for mutant in mutants if counted[getattr(mutant, what)] > 1]
        if twice:
            raise WrongList(f"{twice[0]}: there are two mutants of that {what}")
    for mutant in mutants:
        source = root / mutant.file
        if not source.is_file():
            raise WrongList(f"{mutant.name}: there is no {mutant.file}")
        text = source.read_text(encoding="utf-8")
        if mutant.applied_to(text) == text:
            raise WrongList(f"{mutant.name}: it changes nothing")
        if not mutant.found_by:
            raise WrongList(f"{mutant.name}: it names no test that finds it")
