"""Names that tests of an older PyTorch import from its helpers, and the installed one has no more.

`torch.testing._internal` changes with each release, and the tests with it. A file would not be
imported for one name; with a stand-in, only the tests that need the name are skipped.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.util
import sys
import types
import unittest
from collections.abc import Callable, Iterator
from typing import Any

_HELPERS = "torch.testing._internal"


class StandIn:
    """A decorator, a factory of decorators, an empty list or false: as which it is used while a
    file is imported. A test that asks for its value is skipped."""

    importing = False  # whether a file is being imported

    def __init__(self, name: str):
        self._name = name

    def __call__(self, *arguments: Any, **_: Any) -> Any:
        if len(arguments) == 1 and isinstance(arguments[0], types.FunctionType):
            return self._skipping(arguments[0])
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __add__(self, other: Any) -> Any:
        return other

    __radd__ = __add__

    def __bool__(self) -> bool:
        if StandIn.importing:
            return False
        raise unittest.SkipTest(self._reason)

    def _skipping(self, test: Callable) -> Callable:
        @functools.wraps(test)
        def skipped(*_: Any, **__: Any) -> None:
            raise unittest.SkipTest(self._reason)

        return skipped

    @property
    def _reason(self) -> str:
        return f"the test is of another PyTorch: this one has no {self._name}"


@contextlib.contextmanager
def provided(source: str) -> Iterator[list[str]]:
    """Around the import of `source`: the names that it imports for which something stands in."""
    found = _provide(source)
    StandIn.importing = True
    try:
        yield found
    finally:
        StandIn.importing = False


def _provide(source: str) -> list[str]:
    stand_ins = []
    for module, name in _imported(source):
        if not hasattr(module, name):
            moved = _elsewhere(name)
            if moved is None:
                stand_ins.append(f"{module.__name__}.{name}")
            setattr(module, name, moved or StandIn(f"{module.__name__}.{name}"))
        elif isinstance(getattr(module, name), StandIn):  # of a file before
            stand_ins.append(f"{module.__name__}.{name}")
    return stand_ins


def _imported(source: str) -> Iterator[tuple[types.ModuleType, str]]:
    """From which helper which name; a helper that is not there is left for the import to say."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        if not node.module.startswith(_HELPERS):
            continue
        try:
            module = importlib.import_module(node.module)
        except ImportError:
            continue
        for alias in node.names:
            if alias.name != "*" and not _is_module(f"{node.module}.{alias.name}"):
                yield module, alias.name


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:  # its parent is no package
        return False


def _elsewhere(name: str) -> Any:
    """A function or class of that name in another helper, to which it has moved."""
    for path, module in list(sys.modules.items()):
        found = vars(module).get(name) if path.startswith(_HELPERS) else None
        if isinstance(found, types.FunctionType | type) and found.__module__ == path:
            return found
    return None
