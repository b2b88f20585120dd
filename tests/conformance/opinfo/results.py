"""The result file: built from an outcome, sealed by a digest, read back only if the seal holds.

`document[kind][name][dtype][phase]` is an entry, for each kind of subject.
"""

from __future__ import annotations

import collections
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .settings import KINDS, PHASES, Settings
from .supervisor import Outcome

FORMAT = 2
NOTE = (
    "Produced by the OpInfo harness and never edited; the digest seals it. "
    "A number is a pass of that many samples."
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
NOT_PASSED = ("failed", "crashed", "timed_out")
TOTAL = "total"  # of all dtypes
# Numbers of the machinery, not of the backend: kept out so that equal runs give equal files.
UNWRITTEN = ("trace",)


class NotOurs(ValueError):
    """A file that the harness did not write, or that was changed afterwards."""


def build(outcome: Outcome, settings: Settings, label: str) -> dict[str, Any]:
    """The document for one run."""
    found: dict[str, dict] = {kind: {} for kind in settings.kinds}
    for subject in outcome.catalog:
        entries = outcome.entries.get(subject["key"])
        if entries is not None:
            phases = {
                phase: entries[phase] for phase in PHASES[subject["kind"]] if phase in entries
            }
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
            "op_db": settings.op_db,
            "module_db": settings.module_db,
            "optim_db": settings.optim_db,
        },
        "denominators": {kind: denominators(outcome, kind) for kind in settings.kinds},
        "counts": {kind: counts(found[kind], PHASES[kind]) for kind in settings.kinds},
        "unclean_exits": sorted(outcome.unclean_exits),
        **found,
    }


def denominators(outcome: Outcome, kind: str) -> dict[str, Any]:
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
        "phases": {phase: phases[phase] for phase in PHASES[kind]},
    }


def counts(section: dict[str, dict], phases: tuple[str, ...]) -> dict[str, dict[str, dict]]:
    """Entries by dtype, phase and status; every status is named: a zero is a statement."""
    dtypes = sorted({dtype for by_dtype in section.values() for dtype in by_dtype})
    found = {
        dtype: {phase: _statuses(section, phase, (dtype,)) for phase in phases} for dtype in dtypes
    }
    return found | {TOTAL: {phase: _statuses(section, phase, dtypes) for phase in phases}}


def _statuses(section: dict[str, dict], phase: str, dtypes: tuple[str, ...]) -> dict[str, int]:
    found = collections.Counter(
        entries[phase]["status"]
        for by_dtype in section.values()
        for dtype, entries in by_dtype.items()
        if dtype in dtypes and phase in entries
    )
    return {status: found[status] for status in STATUSES}


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
    sealed = _each_entry(document, _written)
    sealed["digest"] = _digest(sealed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_dump(sealed), encoding="utf-8")


def load(path: Path) -> dict[str, Any]:
    """Raises NotOurs if anything but the harness has written the file."""
    document = json.loads(path.read_text(encoding="utf-8"))
    digest = document.pop("digest", None)
    if document.get("format") != FORMAT:
        raise NotOurs(f"{path}: format {document.get('format')}, this harness reads {FORMAT}")
    if digest != _digest(document):
        raise NotOurs(f"{path}: was edited after the harness wrote it; run the harness instead")
    return _each_entry(document, _read)


def _written(entry: dict[str, Any]) -> dict[str, Any] | int:
    """Without what differs from run to run; the number of samples, if there is no more to say."""
    kept = {key: value for key, value in entry.items() if key not in UNWRITTEN}
    plain = kept.keys() == {"status", "samples"} and kept["status"] == "passed"
    return kept["samples"] if plain else kept


def _read(entry: dict[str, Any] | int) -> dict[str, Any]:
    return {"status": "passed", "samples": entry} if isinstance(entry, int) else entry


def _each_entry(document: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    changed = dict(document)
    for kind in KINDS:
        if kind in document:
            changed[kind] = {
                name: {
                    dtype: {phase: change(entry) for phase, entry in phases.items()}
                    for dtype, phases in by_dtype.items()
                }
                for name, by_dtype in document[kind].items()
            }
    return changed


def _digest(document: dict[str, Any]) -> str:
    canonical = json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def _dump(document: dict[str, Any]) -> str:
    """JSON with one line for each subject: short files, and differences that can be read."""
    lines = []
    for key, value in document.items():
        if key in KINDS and value:
            inner = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            lines.append(f"{json.dumps(key)}: {{\n{inner}\n }}")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n " + ",\n ".join(lines) + "\n}\n"
