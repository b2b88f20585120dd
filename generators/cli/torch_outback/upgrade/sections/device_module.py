"""Names of the device's module, torch.<device>, that torch's own Python code asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..change import NEW, REMOVED, Change, merged
from ..py import device_modules, trees
from ..py.device_modules import Asked
from ..release import Release
from ..surface import Surface

_SECTION = "device module"
_TESTS = "torch/testing/"
_MOST = 3  # places that a note names
_Place = tuple[str, Asked]  # in a file


def changes(surface: Surface) -> Iterator[Change]:
    """Names that are asked for in one release only, and those that were optional."""
    paths = sorted(set(surface.old.python_files()) | set(surface.new.python_files()))
    both = [it for it in paths if not trees.differs(surface.old, surface.new, it)]
    one = [it for it in paths if trees.differs(surface.old, surface.new, it)]
    old, new = _asked(surface.old, one), _asked(surface.new, one)
    names = [it for it in {**old, **new} if _kind(old.get(it, []), new.get(it, []))]
    # What files ask that are in both: torch has asked it before, and does so still.
    kept = _asked(surface.new, both, names)
    for name in sorted(names):
        before = old.get(name, []) + kept.get(name, [])
        after = new.get(name, []) + kept.get(name, [])
        kind = _kind(before, after)
        if not kind:
            continue
        note = _words(after or before)
        if before and after:
            note = f"was optional; {note}"
        touches = merged(surface.project.python.defined.get(name, ()))
        if _is_distinct(name):
            touches += merged(surface.project.python.strings.get(name, ()))
        path = (after or before)[0][0]
        yield Change(_SECTION, kind, f"torch.<device>.{name}", path, note=note, touches=touches)


def _kind(before: list[_Place], after: list[_Place]) -> str:
    """ "" for what torch asks as before, or less."""
    if not before or not after:
        return NEW if after else REMOVED
    return NEW if _is_optional(before) and not _is_optional(after) else ""


def _is_distinct(name: str) -> bool:
    """Words such as "init" are in many texts."""
    return "_" in name or name.lower() != name


def _is_optional(places: list[_Place]) -> bool:
    return all(it.is_optional or path.startswith(_TESTS) for path, it in places)


def _words(places: list[_Place]) -> str:
    how = "optional, " if _is_optional(places) else ""
    files = list(dict.fromkeys(f"{path}:{it.line}" for path, it in places))
    more = f" and {len(files) - _MOST} more" if len(files) > _MOST else ""
    return f"{how}asked for in {', '.join(files[:_MOST])}{more}"


def _asked(
    release: Release, paths: Iterable[str], names: Sequence[str] | None = None
) -> dict[str, list[_Place]]:
    """By the name, with the files; of these names alone if there are any."""
    found: dict[str, list[_Place]] = {}
    for path in paths:
        text = release.text(path) if release.has(path) else ""
        if names is not None and not any(it in text for it in names):
            continue
        if not device_modules.may_ask(text):
            continue
        for it in device_modules.asked(trees.tree(release, path)):
            if not it.name.startswith("__") and (names is None or it.name in names):
                found.setdefault(it.name, []).append((path, it))
    return found
