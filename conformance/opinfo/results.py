"""The result file: built from an outcome, sealed by a digest, read back only if the seal holds.

`document[kind][name][dtype][phase]` is an entry, for each kind of subject. The file is shorter:
`compact` says how.
"""

from __future__ import annotations

import collections
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import compact
from .compact import NOT_PASSED
from .run import Outcome
from .settings import FIRST_PHASES, KINDS, PHASES, Settings

FORMAT = 3
NOTE = (
    "Produced by the OpInfo harness and never edited; the digest seals it. "
    "An entry that is not listed passed."
)
STATUSES = (
    "passed",
    "refused",
    "failed",
    "crashed",
    "timed_out",
    "skipped",
    "unsupported_dtype",
)
TOTAL = "total"  # of all dtypes
WIDTH = 100  # of the file's lines


class NotOurs(ValueError):
    """A file that the harness did not write, or that was changed afterwards."""


def build(outcome: Outcome, settings: Settings, label: str) -> dict[str, Any]:
    """The document for one run."""
    found: dict[str, dict] = {kind: {} for kind in settings.kinds}
    for subject in outcome.catalog:
        entries = outcome.entries.get(subject["key"])
        if entries is not None:
            phases = {phase: entries[phase] for phase in subject["phases"] if phase in entries}
            found[subject["kind"]].setdefault(subject["name"], {})[subject["dtype"]] = phases
    return {
        "note": NOTE,
        "format": FORMAT,
        "label": label,
        "device": settings.device,
        "imports": list(settings.imports),
        "versions": outcome.versions,
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith("OUTBACK_")},
        "settings": {
            "kinds": list(settings.kinds),
            "dtypes": list(settings.dtypes),
            "other_dtypes": settings.other_dtypes,
            "samples": settings.samples,
            "seed": settings.seed,
            "rtol": settings.rtol,
            "atol": settings.atol,
            "ops": list(settings.ops),
            "shard": str(settings.shard),
            "op_phases": list(settings.op_phases),
            "op_db": settings.op_db,
            "module_db": settings.module_db,
            "optim_db": settings.optim_db,
        },
        "denominators": {kind: denominators(outcome, kind, settings) for kind in settings.kinds},
        "counts": {kind: counts(found[kind], settings.phases(kind)) for kind in settings.kinds},
        "samples": {kind: samples(found[kind], settings.phases(kind)) for kind in settings.kinds},
        "unclean_exits": sorted(outcome.unclean_exits),
        **found,
    }


def denominators(outcome: Outcome, kind: str, settings: Settings) -> dict[str, Any]:
    """What the counts are out of: all names that PyTorch describes, those selected, and dtypes."""
    described = [subject for subject in outcome.catalog if subject["kind"] == kind]
    wanted = set(outcome.selected)
    selected = [subject for subject in described if subject["key"] in wanted]
    dtypes = collections.Counter(subject["dtype"] for subject in selected)
    phases = collections.Counter(
        phase for subject in selected if subject["dtype"] != "none" for phase in subject["phases"]
    )
    return {
        "described": len({subject["name"] for subject in described}),
        "selected": len({subject["name"] for subject in selected}),
        "dtypes": dict(sorted(dtypes.items())),
        "phases": {phase: phases[phase] for phase in settings.phases(kind)},
    }


def phases_of(document: dict[str, Any], kind: str) -> tuple[str, ...]:
    """Those that a document is about; there have been fewer of operators."""
    if kind == "ops":
        return tuple(document["settings"].get("op_phases", FIRST_PHASES))
    return PHASES[kind]


def counts(section: dict[str, dict], phases: tuple[str, ...]) -> dict[str, dict[str, dict]]:
    """Entries by dtype, phase and status; every status is named: a zero is a statement."""
    dtypes = sorted({dtype for by_dtype in section.values() for dtype in by_dtype})
    found = {
        dtype: {phase: _statuses(section, phase, (dtype,)) for phase in phases} for dtype in dtypes
    }
    return found | {TOTAL: {phase: _statuses(section, phase, tuple(dtypes)) for phase in phases}}


def _statuses(section: dict[str, dict], phase: str, dtypes: tuple[str, ...]) -> dict[str, int]:
    found = collections.Counter(
        entries[phase]["status"]
        for by_dtype in section.values()
        for dtype, entries in by_dtype.items()
        if dtype in dtypes and phase in entries
    )
    return {status: found[status] for status in STATUSES}


def samples(section: dict[str, dict], phases: tuple[str, ...]) -> dict[str, int]:
    """How many ran to their end, of all entries of a phase."""
    found: collections.Counter[str] = collections.Counter()
    for by_dtype in section.values():
        for entries in by_dtype.values():
            found.update({phase: entry.get("samples", 0) for phase, entry in entries.items()})
    return {phase: found[phase] for phase in phases}


def entries(document: dict[str, Any]) -> Iterator[tuple[tuple[str, str, str, str], dict]]:
    """Each entry behind its address: kind, name, dtype and phase."""
    for kind in KINDS:
        for name, by_dtype in document.get(kind, {}).items():
            for dtype, phases in by_dtype.items():
                for phase, entry in phases.items():
                    yield (kind, name, dtype, phase), entry


def all_passed(document: dict[str, Any]) -> bool:
    """Nothing failed, crashed or timed out, and every worker left in peace."""
    bad = any(entry["status"] in NOT_PASSED for _, entry in entries(document))
    return not bad and not document["unclean_exits"]


def save(document: dict[str, Any], path: Path) -> None:
    sealed = document | {kind: compact.written(document[kind]) for kind in _kinds(document)}
    sealed["counts"] = _each_count(
        document, lambda numbers: {status: n for status, n in numbers.items() if n}
    )
    sealed["digest"] = _digest(sealed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_dump(sealed) + "\n", encoding="utf-8")


def load(path: Path) -> dict[str, Any]:
    """Raises NotOurs if anything but the harness has written the file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise NotOurs(f"{path}: is no result file: {error}") from None
    if not isinstance(document, dict):
        raise NotOurs(f"{path}: is no result file: expected an object")
    digest = document.pop("digest", None)
    if document.get("format") != FORMAT:
        raise NotOurs(f"{path}: format {document.get('format')}, this harness reads {FORMAT}")
    if digest != _digest(document):
        raise NotOurs(f"{path}: was edited after the harness wrote it; run the harness instead")
    document["counts"] = _each_count(
        document, lambda numbers: {status: numbers.get(status, 0) for status in STATUSES}
    )
    return document | {kind: compact.read(document[kind]) for kind in _kinds(document)}


def _kinds(document: dict[str, Any]) -> list[str]:
    return [kind for kind in KINDS if kind in document]


def _each_count(
    document: dict[str, Any], change: Callable[[dict[str, int]], dict[str, int]]
) -> dict[str, Any]:
    """The counts, with the numbers of each kind, dtype and phase changed."""
    return {
        kind: {
            dtype: {phase: change(numbers) for phase, numbers in phases.items()}
            for dtype, phases in by_dtype.items()
        }
        for kind, by_dtype in document["counts"].items()
    }


def _digest(document: dict[str, Any]) -> str:
    canonical = json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def _dump(value: Any, before: int = 0, depth: int = 1) -> str:
    """JSON in lines of at most WIDTH columns, where its words allow it."""
    flat = json.dumps(value)
    if before + len(flat) < WIDTH or not isinstance(value, dict | list):
        return flat
    keys = [f"{json.dumps(key)}: " if isinstance(value, dict) else "" for key in value]
    values = value.values() if isinstance(value, dict) else value
    lines = [""]
    for key, item in zip(keys, values, strict=True):
        text = key + _dump(item, depth + len(key), depth + 1)
        if lines[-1] and (depth + len(lines[-1]) + len(text) > WIDTH - 2 or "\n" in text):
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{text},"
    lines[-1] = lines[-1].removesuffix(",")
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    pad = "\n" + " " * depth
    return opening + "".join(pad + line for line in lines) + pad[:-1] + closing
