"""How entries stand in a result file: which there are, and those that say more than "passed".

A *place* is where entries of one name are: "float32, int64: forward, out; bool: forward". Names
with the same places stand together, so that a run of 13,000 entries is some 25 kB.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Iterable, Iterator
from typing import Any

NOT_PASSED = ("failed", "crashed", "timed_out")
# Sums over samples, which a file has once for all entries, and what differs from run to run. What
# did not pass keeps its numbers.
_SUMMED = ("samples", "refused", "without_answer", "without_gradients")
_UNWRITTEN = ("trace", "not_implemented")
_PLAIN = {"status": "passed"}

Section = dict[str, dict[str, dict[str, Any]]]  # by name, dtype and phase


def written(section: Section) -> dict[str, Any]:
    """`entries` has every place, `listed` what stands there where it is not a plain pass."""
    listed: dict[str, list[tuple[str, str, str]]] = collections.defaultdict(list)
    for address, entry in _addresses(section):
        kept = kept_of(entry)
        if kept != _PLAIN:
            listed[json.dumps(kept)].append(address)
    every = [address for address, _ in _addresses(section)]
    return {
        "entries": _by_place(every),
        "listed": [
            json.loads(kept) | {"at": _by_place(addresses)}
            for kept, addresses in sorted(listed.items(), key=lambda item: (-len(item[1]), item[0]))
        ],
    }


def read(compact: dict[str, Any]) -> Section:
    """The section that was written, with its names in order."""
    found: Section = {}
    for name, dtype, phase in _unfolded(compact["entries"]):
        found.setdefault(name, {}).setdefault(dtype, {})[phase] = dict(_PLAIN)
    for group in compact["listed"]:
        entry = {key: value for key, value in group.items() if key != "at"}
        for name, dtype, phase in _unfolded(group["at"]):
            if phase not in found.get(name, {}).get(dtype, {}):
                raise ValueError(f"{name}, {dtype}, {phase} is listed, and not among the entries")
            found[name][dtype][phase] = dict(entry)
    return dict(sorted(found.items()))


def kept_of(entry: dict[str, Any]) -> dict[str, Any]:
    """What a file says of an entry."""
    bad = entry["status"] in NOT_PASSED
    without = _UNWRITTEN if bad else _UNWRITTEN + _SUMMED
    kept = {key: value for key, value in entry.items() if key not in without}
    if entry["status"] == "refused" and "reason" in kept:
        # Both sides raised that type, which is what was compared; the words are PyTorch's.
        kept["reason"] = kept["reason"].partition(": ")[0]
    return kept


def place(by_dtype: dict[str, list[str]]) -> str:
    """Dtypes with the same phases together."""
    dtypes: dict[tuple[str, ...], list[str]] = collections.defaultdict(list)
    for dtype, phases in by_dtype.items():
        dtypes[tuple(phases)].append(dtype)
    return "; ".join(f"{', '.join(names)}: {', '.join(phases)}" for phases, names in dtypes.items())


def places(addresses: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Each name's."""
    found: dict[str, dict[str, list[str]]] = collections.defaultdict(dict)
    for name, dtype, phase in addresses:
        found[name].setdefault(dtype, []).append(phase)
    return {name: place(by_dtype) for name, by_dtype in found.items()}


def _by_place(addresses: Iterable[tuple[str, str, str]]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = collections.defaultdict(list)
    for name, where in sorted(places(addresses).items()):
        names[where].append(name)
    return dict(sorted(names.items(), key=lambda item: (-len(item[1]), item[0])))


def _unfolded(by_place: dict[str, list[str]]) -> Iterator[tuple[str, str, str]]:
    for where, names in by_place.items():
        for part in where.split("; "):
            dtypes, _, phases = part.partition(": ")
            for name in names:
                for dtype in dtypes.split(", "):
                    for phase in phases.split(", "):
                        yield name, dtype, phase


def _addresses(section: Section) -> Iterator[tuple[tuple[str, str, str], dict[str, Any]]]:
    for name, by_dtype in section.items():
        for dtype, phases in by_dtype.items():
            for phase, entry in phases.items():
                yield (name, dtype, phase), entry
