"""The result file: built from an outcome, sealed by a digest, read back only if the seal holds."""

from __future__ import annotations

import collections
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from .settings import PHASES, Settings
from .supervisor import Outcome

FORMAT = 1
NOTE = "Produced by the OpInfo harness and never edited; the digest seals it."
STATUSES = ("passed", "failed", "crashed", "timed_out", "skipped", "unsupported_dtype")
# Numbers of the machinery, not of the backend: kept out so that equal runs give equal files.
UNWRITTEN = ("trace",)


class NotOurs(ValueError):
    """A file that the harness did not write, or that was changed afterwards."""


def build(outcome: Outcome, settings: Settings, label: str) -> dict[str, Any]:
    """The document for one run."""
    catalog = {entry["name"]: entry for entry in outcome.catalog}
    ops = {}
    for name in sorted(outcome.entries):
        found = outcome.entries[name]
        phases = {phase: found[phase] for phase in PHASES if phase in found}
        ops[name] = {"dtype": catalog[name]["dtype"], **phases}
    return {
        "note": NOTE,
        "format": FORMAT,
        "label": label,
        "device": settings.device,
        "imports": list(settings.imports),
        "versions": outcome.versions,
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith("OUTBACK_")},
        "settings": {
            "dtype": settings.dtype,
            "other_dtypes": settings.other_dtypes,
            "samples": settings.samples,
            "seed": settings.seed,
            "rtol": settings.rtol,
            "atol": settings.atol,
            "ops": list(settings.ops),
            "shard": str(settings.shard),
            "op_db": settings.op_db,
        },
        "denominators": denominators(outcome, settings),
        "counts": {phase: counts(ops, phase) for phase in PHASES},
        "unclean_exits": sorted(outcome.unclean_exits),
        "ops": ops,
    }


def denominators(outcome: Outcome, settings: Settings) -> dict[str, int]:
    """How many operators the counts are out of, from all that PyTorch describes to those run."""
    selected = [entry for entry in outcome.catalog if entry["name"] in set(outcome.selected)]
    asked = sum(entry["dtype"] == settings.dtype for entry in selected)
    without = sum(entry["dtype"] is None for entry in selected)
    return {
        "op_db": len(outcome.catalog),
        "selected": len(selected),
        settings.dtype: asked,
        "other_dtype": len(selected) - asked - without,
        "no_dtype": without,
        **{
            phase: sum(phase in entry["phases"] for entry in selected if entry["dtype"])
            for phase in PHASES
        },
    }


def counts(ops: dict[str, dict], phase: str) -> dict[str, int]:
    """Operators by status; every status is named, so that a zero is a statement."""
    found = collections.Counter(entry[phase]["status"] for entry in ops.values() if phase in entry)
    return {status: found[status] for status in STATUSES}


def all_passed(document: dict[str, Any]) -> bool:
    """Nothing failed, crashed or timed out, and every worker left in peace."""
    bad = sum(
        document["counts"][phase][status]
        for phase in PHASES
        for status in ("failed", "crashed", "timed_out")
    )
    return bad == 0 and not document["unclean_exits"]


def save(document: dict[str, Any], path: Path) -> None:
    sealed = _written(document)
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
    return document


def _written(document: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from run to run."""
    written = dict(document)
    written["ops"] = {
        name: {
            key: {k: v for k, v in value.items() if k not in UNWRITTEN}
            if isinstance(value, dict)
            else value
            for key, value in entry.items()
        }
        for name, entry in document["ops"].items()
    }
    return written


def _digest(document: dict[str, Any]) -> str:
    canonical = json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def _dump(document: dict[str, Any]) -> str:
    """JSON with one line for each operator: short files, and differences that can be read."""
    lines = []
    for key, value in document.items():
        if key == "ops":
            inner = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            lines.append(f'"ops": {{\n{inner}\n }}' if inner else '"ops": {}')
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n " + ",\n ".join(lines) + "\n}\n"
