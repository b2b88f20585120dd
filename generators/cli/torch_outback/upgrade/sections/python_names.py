"""Names of torch that the project's Python sources use: those that are gone, and functions whose
parameters no longer take what they took."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..change import CHANGED, REMOVED, Change, Touch, merged
from ..project.python import Use
from ..py import signatures
from ..py.modules import FOUND, GONE, Place
from ..py.signatures import Function
from ..surface import Surface

_SECTION = "python names"


def changes(surface: Surface) -> Iterator[Change]:
    gone: dict[str, list[Touch]] = defaultdict(list)
    where: dict[str, str] = {}
    changed: dict[str, _Changed] = {}
    for path, uses in surface.uses.items():
        before = surface.old_modules.find(path)
        if before.status != FOUND:
            continue
        after = surface.new_modules.find(path)
        if after.status == GONE:
            gone[after.path] += [it.touch for it in uses]
            where[after.path] = surface.old_modules.file(before.module)
        elif after.status == FOUND and (both := _both(before, after)):
            file = surface.new_modules.file(after.module)
            is_made = isinstance(after.node, ast.ClassDef)
            changed.setdefault(after.path, _Changed(*both, file, is_made)).uses += uses
    for path, touches in gone.items():
        note = _elsewhere(surface, path.rpartition(".")[2], where[path])
        yield Change(_SECTION, REMOVED, path, where[path], note=note, touches=merged(touches))
    for path, each in changed.items():
        touches = [it.touch for it in each.uses if each.breaks(it)]
        still_takes = signatures.still_takes(each.old, each.new)
        if touches or not still_takes:
            was, now = signatures.text(each.old), signatures.text(each.new)
            note = "" if still_takes else "calls that fit the older parameters may fail"
            yield Change(_SECTION, CHANGED, path, each.file, was, now, note, merged(touches))


@dataclass
class _Changed:
    """A function, or what makes a class's instances (`is_made`), with other parameters."""

    old: Function
    new: Function
    file: str
    is_made: bool
    uses: list[Use] = field(default_factory=list)

    def breaks(self, use: Use) -> bool:
        """Calls that fit the older parameters alone, or have arguments at a place that another
        parameter has now; and what replaces the function, which gets the newer arguments."""
        if use.is_replaced:
            return True
        if use.call is None or use.call.is_open:
            return False
        positional = use.call.positional + self.is_made
        fitted = signatures.fits(self.old, positional, use.call.keywords)
        if fitted and not signatures.fits(self.new, positional, use.call.keywords):
            return True
        was, now = signatures.positional(self.old), signatures.positional(self.new)
        return fitted and was[:positional] != now[:positional]


def _both(before: Place, after: Place) -> tuple[Function, Function] | None:
    """None where the parameters are the same."""
    old, new = signatures.function_of(before.node), signatures.function_of(after.node)
    if old is None or new is None or signatures.names(old) == signatures.names(new):
        return None
    return old, new


def _elsewhere(surface: Surface, name: str, old_file: str) -> str:
    """Where a definition of this name is new."""
    word = re.escape(name)
    pattern = re.compile(rf"^(?:(?:def|class) {word}\b|{word}\b.*=)", re.MULTILINE)
    for path in surface.new.python_files():
        text = surface.new.text(path)
        if path == old_file or name not in text or not pattern.search(text):
            continue
        if not surface.old.has(path) or not pattern.search(surface.old.text(path)):
            return f"{path} has a new definition of this name"
    return ""
