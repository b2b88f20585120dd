"""Backends that are each broken in one way, to see that the suites find it.

`import broken.<name>` breaks the backend that is loaded, torch.acme: the name is a defect's, of
whichever module beside this one has it. So `--import torch_acme --import broken.<name>` breaks the
workers, and the programs that a check runs in processes of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from . import defect


class _Finder(MetaPathFinder, Loader):
    """Makes a module of each defect."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, last = name.rpartition(".")
        known = package == __name__ and last in defect.all_of_them()
        return ModuleSpec(name, self) if known else None

    def exec_module(self, module: ModuleType) -> None:
        defect.all_of_them()[module.__name__.rpartition(".")[2]].apply()


sys.meta_path.append(_Finder())
