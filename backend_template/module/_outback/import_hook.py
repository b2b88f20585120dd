"""Runs an action when a module is imported, without importing it for that: parts of torch such as
torch._dynamo take seconds to import, and most programs never need them.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Watch:
    """A finder, put first in sys.meta_path, which wraps what the others find."""

    def __init__(self, wanted: str, action: Callable[[], None]) -> None:
        self._wanted = wanted
        self._action = action
        self._done = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the others' spec, with a loader that runs the action at the end of the import.
        The watch goes on until the action has run: the caller may only want to know whether the
        module exists, and an import that failed may be tried again."""
        if fullname != self._wanted:
            return None
        spec = self._spec_of_others(path, target)
        if spec is not None and spec.loader is not None:
            # Python made this loader for this one module, so no other import sees the change.
            loader, execute = spec.loader, spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                if not self._done:  # by another finder that asks all, as this one does
                    self._action()
                    self._done = True
                    self._stop()

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _spec_of_others(
        self, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        """Asks the finders behind this one. Imports nothing: Python holds the lock of all imports
        here, and another thread that imports the package needs it to go on."""
        finders = list(sys.meta_path)
        if self in finders:  # else another thread's import has run the action just now
            del finders[: finders.index(self) + 1]
        for finder in finders:
            find = getattr(finder, "find_spec", None)  # which finders of Python 2's time lack
            spec: ModuleSpec | None = find(self._wanted, path, target) if find else None
            if spec is not None:
                return spec
        return None

    def _stop(self) -> None:
        # Another list, since other threads on their way through this one would miss a finder.
        sys.meta_path = [finder for finder in sys.meta_path if finder is not self]


class _Begun(ModuleSpec):
    """What the spec of a module is until its import ends, if the import had begun before somebody
    asked for its end: `import accelerate` imports torch, which loads the backend. Python then sets
    this attribute."""

    _actions: list[Callable[[], None]]

    def __setattr__(self, attribute: str, value: object) -> None:
        super().__setattr__(attribute, value)
        if attribute == "_initializing" and not value:
            self.end()

    def end(self) -> None:
        self.__class__ = ModuleSpec  # type: ignore[assignment]
        for action in self.__dict__.pop("_actions"):
            if self.name in sys.modules:
                action()
            else:  # The import has failed, and may be tried again.
                when_imported(self.name, action)


def when_imported(wanted: str, action: Callable[[], None]) -> None:
    """Calls `action` once: now if the module `wanted` is imported already, else at the end of its
    import. If `action` raises then, the import fails with that error. After an import that failed,
    the next one calls `action` again, so what an `action` did before it raised must not keep it
    from succeeding."""
    if wanted not in sys.modules:
        sys.meta_path.insert(0, _Watch(wanted, action))
        return
    spec: Any = sys.modules[wanted].__spec__
    if not getattr(spec, "_initializing", False):
        action()
    elif isinstance(spec, _Begun):
        spec._actions.append(action)
    else:
        spec.__dict__["_actions"] = [action]
        spec.__class__ = _Begun
        if not spec._initializing:  # another thread's import has ended since
            spec.end()
