"""What all sections get: both releases, with their Python modules, and the project."""

from __future__ import annotations

from functools import cached_property

from .project.project import Project
from .py.modules import Modules
from .release import Release


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
