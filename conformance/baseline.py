"""Two documents, an older one and a newer one: what broke, and what was mended."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from . import verdicts
from .document import id_of

# From good to bad; a skipped entry says nothing of the backend.
_ORDER = (
    *(verdicts.PASS, verdicts.UNSUPPORTED, verdicts.EXPECTED, verdicts.FAIL),
    *(verdicts.TIMEOUT, verdicts.CRASH),
)

_NAMED = 5  # of entries, in a line


@dataclasses.dataclass(frozen=True)
class Change:
    """An entry with its verdicts; "" where it has none."""

    id: str
    before: str
    now: str
    said: str = ""  # the first line of what the newer entry says, or of the older one


@dataclasses.dataclass(frozen=True)
class Comparison:
    """By entries, in the order of the newer document."""

    broke: list[Change]
    mended: list[Change]
    other: list[Change]  # skipped in one of them, which says nothing of the backend
    new: list[Change]
    gone: list[Change]
    versions: dict[str, tuple[str, str]]  # those that differ


def compare(before: dict[str, Any], now: dict[str, Any]) -> Comparison:
    """What is in the older one alone is gone only if the newer one should have it too."""
    old = {id_of(entry): entry for entry in before["entries"]}
    current = {id_of(entry): entry for entry in now["entries"]}
    changes = [
        Change(id, old[id]["verdict"], entry["verdict"], _said(entry))
        for id, entry in current.items()
        if id in old and old[id]["verdict"] != entry["verdict"]
    ]
    versions = sorted(before["versions"].keys() | now["versions"].keys())
    was, is_now = before["versions"], now["versions"]
    return Comparison(
        broke=[each for each in changes if _worse(each.before, each.now)],
        mended=[each for each in changes if _better(each.before, each.now)],
        other=[
            each
            for each in changes
            if not _worse(each.before, each.now) and not _better(each.before, each.now)
        ],
        new=[
            Change(id, "", entry["verdict"], _said(entry))
            for id, entry in current.items()
            if id not in old
        ],
        gone=[
            Change(id, entry["verdict"], "", _said(entry))
            for id, entry in old.items()
            if id not in current and before["level"] == now["level"] and _is_about(now, id)
        ],
        versions={
            name: (was.get(name, "absent"), is_now.get(name, "absent"))
            for name in versions
            if was.get(name) != is_now.get(name)
        },
    )


def lost(before: dict[str, Any], entries: Iterable[dict[str, Any]]) -> list[str]:
    """A problem of the run, if what passed in `before` is unsupported now: nothing else of the run
    would fail for it."""
    passed = {id_of(entry) for entry in before["entries"] if entry["verdict"] == verdicts.PASS}
    unsupported = (entry for entry in entries if entry["verdict"] == verdicts.UNSUPPORTED)
    ids = [id for entry in unsupported if (id := id_of(entry)) in passed]
    if not ids:
        return []
    more = f", and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    named = ", ".join(ids[:_NAMED])
    meant = "if that is meant, renew the baseline"
    return [f"unsupported, and passed in the baseline: {named}{more} ({meant})"]


def _said(entry: dict[str, Any]) -> str:
    text = (entry.get("message") or entry.get("reason") or "").strip()
    return text.splitlines()[0] if text else ""


def _worse(before: str, now: str) -> bool:
    if verdicts.SKIPPED in (before, now):
        return before == verdicts.SKIPPED and now in verdicts.BAD
    return _ORDER.index(now) > _ORDER.index(before)


def _better(before: str, now: str) -> bool:
    if verdicts.SKIPPED in (before, now):
        return False
    return _ORDER.index(now) < _ORDER.index(before)


def _is_about(document: dict[str, Any], id: str) -> bool:
    """Whether a run of these settings would have had that entry."""
    settings = document["settings"]
    suite = next((name for name in settings["suites"] if id.startswith(f"{name}/")), None)
    if not document["complete"] or settings["filter"] or suite is None:
        return False
    parts = id.removeprefix(f"{suite}/").split("/")
    return len(parts) < 2 or not settings["dtypes"] or parts[1] in settings["dtypes"]
