"""What all sections get: both releases, with their Python modules, and the project."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from .project import Project
from .project.python import Use
from .py.modules import FOUND, Modules
from .release import Release

_MADE_BY_OTHERS = ("torch.ops.",)  # operators have a section


class Surface:
    def __init__(self, old: Release, new: Release, project: Project) -> None:
        self.old = old
        self.new = new
        self.project = project

    @cached_property
    def old_modules(self) -> Modules:
        return Modules(self.old)

    @cached_property
    def new_modules(self) -> Modules:
        return Modules(self.new)

    @cached_property
    def uses(self) -> dict[str, list[Use]]:
        """The lines of the project's Python sources that name something of torch, by the name as it
        is there: "torch.nn.functional.linear"."""
        found: dict[str, list[Use]] = defaultdict(list)
        for it in self.project.python.uses:
            if not it.path.startswith(_MADE_BY_OTHERS):
                found[it.path].append(it)
        return found

    def uses_of(self, path: str) -> list[Use]:
        """The same for one definition of the newer release, by the module that defines it."""
        return self._uses_by_definition.get(path, [])

    @cached_property
    def _uses_by_definition(self) -> dict[str, list[Use]]:
        found: dict[str, list[Use]] = defaultdict(list)
        for path, uses in self.uses.items():
            place = self.new_modules.find(path)
            if place.status == FOUND:
                found[place.path] += uses
        return found
