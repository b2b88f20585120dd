"""What a run has found out so far, in a file that is written after each step."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from .mutant import Mutant


@dataclass(frozen=True)
class Result:
    name: str
    verdict: str  # see proof.py
    seconds: float


class Results:
    """Of one state of the tree: those of another one are forgotten."""

    def __init__(self, file: Path, tree: str, resume: bool) -> None:
        self._file = file
        self._tree = tree
        self._passing: set[str] = set()
        self._selected: set[str] = set()
        self._of_mutants: dict[str, Result] = {}
        if resume and file.exists():
            self._read(json.loads(file.read_text()))

    def of(self, mutant: Mutant) -> Result | None:
        return self._of_mutants.get(mutant.key)

    def add(self, mutant: Mutant, result: Result) -> None:
        self._of_mutants[mutant.key] = result
        self._write()

    def passes(self, test: str) -> bool:
        """The test is known to pass without a defect."""
        return test in self._passing

    def add_passing(self, tests: Iterable[str]) -> None:
        self._passing.update(tests)
        self._write()

    def is_selected(self, test: str) -> bool:
        """The test is known to be one of those that CI runs."""
        return test in self._selected

    def add_selected(self, tests: Iterable[str]) -> None:
        self._selected.update(tests)
        self._write()

    def _read(self, kept: dict) -> None:
        if kept["tree"] != self._tree:
            return
        self._passing = set(kept["passing"])
        self._selected = set(kept["selected"])
        self._of_mutants = {key: Result(**result) for key, result in kept["mutants"].items()}

    def _write(self) -> None:
        content = {
            "tree": self._tree,
            "passing": sorted(self._passing),
            "selected": sorted(self._selected),
            "mutants": {key: asdict(result) for key, result in self._of_mutants.items()},
        }
        self._file.parent.mkdir(parents=True, exist_ok=True)
        beside = self._file.with_suffix(".new")
        beside.write_text(json.dumps(content, indent=1) + "\n")
        beside.replace(self._file)  # whole, whenever the run is killed
