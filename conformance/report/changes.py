"""What is different from an earlier run: a release of the backend, a torch, a machine ago."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping


@dataclasses.dataclass(frozen=True)
class Change:
    """An entry in both runs; `was` or `now` is "" where one of them lacks it."""

    id: str
    was: str
    now: str
    message: str = ""


@dataclasses.dataclass(frozen=True)
class Changes:
    """All that differs, each kind in the order of the newer document."""

    broke: list[Change]  # passed, and does not any more
    mended: list[Change]  # passes, and did not
    other: list[Change]  # another verdict, passing neither then nor now
    new: list[Change]
    gone: list[Change]

    def __bool__(self) -> bool:
        return any((self.broke, self.mended, self.other, self.new, self.gone))


def id_of(entry: Mapping) -> str:
    """suite/name[/dtype][/phase]"""
    parts = (entry["suite"], entry["name"], entry.get("dtype"), entry.get("phase"))
    return "/".join(part for part in parts if part)


def between(baseline: Mapping, document: Mapping) -> Changes:
    """What the run of `document` has changed. What is skipped in one of them says nothing about
    the backend, and neither broke nor mended."""
    old = {id_of(entry): entry for entry in baseline["entries"]}
    new = {id_of(entry): entry for entry in document["entries"]}
    found = Changes([], [], [], [], [])
    for change in _in_both(old, new):
        if "skipped" not in (change.was, change.now) and "pass" in (change.was, change.now):
            (found.broke if change.was == "pass" else found.mended).append(change)
        else:
            found.other.append(change)
    found.new.extend(
        Change(id, "", entry["verdict"], told(entry)) for id, entry in new.items() if id not in old
    )
    found.gone.extend(
        Change(id, entry["verdict"], "", told(entry)) for id, entry in old.items() if id not in new
    )
    return found


def told(entry: Mapping) -> str:
    """What an entry says in a line: of the message or the reason, the first."""
    text = (entry.get("message") or entry.get("reason") or "").strip()
    return text.splitlines()[0] if text else ""


def _in_both(old: Mapping[str, Mapping], new: Mapping[str, Mapping]) -> Iterator[Change]:
    for id, entry in new.items():
        if id in old and old[id]["verdict"] != entry["verdict"]:
            yield Change(id, old[id]["verdict"], entry["verdict"], told(entry))
