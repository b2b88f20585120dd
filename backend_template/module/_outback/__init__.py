"""What of a backend only talks to torch's Python.

The library of the backend holds these sources as texts, since it may come without a folder, and
makes a package torch.<name>._outback of them. This file is executed when the backend is registered,
and finds and loads the others when they are imported. A traceback names them as
"<torch.<name>._outback>/graphs.py", and shows their lines.
"""

import linecache
import sys
from collections.abc import Callable, Sequence
from importlib.abc import ExecutionLoader
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

# The library sets these before it executes this file, and _texts and _code_of.
name: str  # of the backend
device_module: Any  # torch.<name>


class _Sources(ExecutionLoader):
    """A finder too, the last one in sys.meta_path."""

    def __init__(self, texts: dict[str, str], code_of: Callable[[str, str], CodeType]) -> None:
        """`texts`: of each file by its path, "compile/inductor"; `code_of`: what that compiles to,
        which was done when the library was built."""
        self._texts = texts
        self._code_of = code_of

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        part = self._part(fullname)
        if not fullname.startswith(f"{__name__}.") or part not in self._texts:
            return None
        is_package = part.endswith("/__init__")
        origin = self.get_filename(fullname)
        return ModuleSpec(fullname, self, origin=origin, is_package=is_package)

    def texts(self, folder: str) -> list[tuple[str, str]]:
        """The sources in a folder and the folders within it, by their paths."""
        return [each for each in sorted(self._texts.items()) if each[0].startswith(f"{folder}/")]

    def get_source(self, fullname: str) -> str:
        return self._texts[self._part(fullname)]

    def get_filename(self, fullname: str) -> str:
        return f"<{__name__}>/{self._part(fullname)}.py"

    def get_code(self, fullname: str) -> CodeType:
        return self._code_of(self._part(fullname), self.get_filename(fullname))

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self.get_filename(module.__name__)
        self.remember_lines(module)
        super().exec_module(module)

    def remember_lines(self, module: ModuleType) -> None:
        """For functions whose __module__ is another one, where nobody would look for the loader."""
        linecache.lazycache(self.get_filename(module.__name__), vars(module))

    def _part(self, fullname: str) -> str:
        """Of a module, "compile/inductor"; of a package, "compile/__init__"."""
        part = fullname.removeprefix(__name__).replace(".", "/")
        package = f"{part}/__init__".lstrip("/")
        return package if package in self._texts else part.lstrip("/")


def publish(owner: ModuleType, *members: Any) -> None:
    """Makes functions and classes members of a module that users know: pickle names it."""
    for member in members:
        member.__module__ = owner.__name__
        setattr(owner, member.__name__, member)


loader = _Sources(globals().pop("_texts"), globals().pop("_code_of"))
__loader__, __path__ = loader, []
__spec__ = ModuleSpec(__name__, loader, origin=loader.get_filename(__name__), is_package=True)
loader.remember_lines(sys.modules[__name__])
sys.meta_path.append(loader)
