"""The result document: how a run is written down, and read again.

Its schema is schema/report-1.json; what is read has to fit it.
"""

from __future__ import annotations

import collections
import json
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import by_schema, supported, verdicts
from .catalog import KINDS
from .files import write
from .item import Item
from .request import Request
from .run import Catalog
from .running.refused import Refused

SCHEMA = 1
_SCHEMA_FILE = Path(__file__).with_name("schema") / f"report-{SCHEMA}.json"
_ENVIRONMENT = ("OUTBACK_", "TORCH_", "PYTORCH_")


def build(
    request: Request,
    catalog: Catalog,
    entries: list[dict[str, Any]],
    *,
    outback: str,
    started: str,
    seconds: float,
    complete: bool,
    problems: Iterable[str] = (),
) -> dict[str, Any]:
    """`entries` in the order of the catalog; each may have an `id`, which is not written."""
    entries = [{name: value for name, value in e.items() if name != "id"} for e in entries]
    found = {
        "schema": SCHEMA,
        "headline": "",
        "device": request.device,
        "level": request.level,
        "complete": complete,
        "started": started,
        "seconds": round(seconds, 1),
        "versions": {"outback": outback, **catalog.versions},
        "backend": catalog.backend,
        "environment": {name: value for name, value in sorted(os.environ.items()) if _tells(name)},
        "machine": _machine(),
        "settings": request.said(),
        "sampled": catalog.sampled or _sampled(request, catalog),
        "totals": totals(entries),
        "judged": judged(entries),
        "problems": list(problems),
        "suites": [_suite(name, catalog, entries) for name in request.suites],
        "entries": entries,
    }
    found["headline"] = headline(found)
    return found


def id_of(entry: dict[str, Any]) -> str:
    parts = (entry.get(name, "") for name in ("suite", "name", "dtype", "phase"))
    return "/".join(filter(None, parts))


def headline(document: dict[str, Any]) -> str:
    """The first line of every report: what is declared unsupported is counted first, and a torch
    that Outback does not support is named last."""
    of = document["totals"]
    every = sum(of.values())
    others = ", ".join(f"{of[name]} {name}" for name in verdicts.VERDICTS if name != "unsupported")
    partial = "" if document["complete"] else "; the run was not completed"
    remark = supported.remark(document["versions"].get("torch", ""))
    more = _judged(document) + partial + (f"; {remark}" if remark else "")
    return f"{of['unsupported']} of {every} entries declared unsupported; {others}{more}"


def totals(entries: Iterable[dict[str, Any]]) -> dict[str, int]:
    found = collections.Counter(entry["verdict"] for entry in entries)
    return {verdict: found[verdict] for verdict in verdicts.VERDICTS}


def judged(entries: Iterable[dict[str, Any]]) -> dict[str, int]:
    """How many entries pass whose values the CPU's are not: since they are as near to float64 as
    the CPU's are, or since somebody has given a wider tolerance for them."""
    entries = list(entries)
    return {
        name: sum(name in entry for entry in entries)
        for name in (verdicts.BY_FLOAT64, verdicts.LOOSENED)
    }


def _judged(document: dict[str, Any]) -> str:
    of = document.get("judged", {})
    said = (("judged by float64", verdicts.BY_FLOAT64), ("loosened", verdicts.LOOSENED))
    return "".join(f"; {of[name]} {what}" for what, name in said if of.get(name))


def score(of: dict[str, int]) -> float | None:
    """Percent that pass of what has an answer; None where nothing has."""
    asked = sum(of[name] for name in (verdicts.PASS, *verdicts.BAD, verdicts.EXPECTED))
    return round(100 * of[verdicts.PASS] / asked, 1) if asked else None


def is_green(document: dict[str, Any]) -> bool:
    """Nothing failed, nothing is wrong with the run, and something has passed."""
    of = document["totals"]
    bad = any(of[name] for name in verdicts.BAD) or document["problems"]
    ran = of[verdicts.PASS] + of[verdicts.EXPECTED]
    return document["complete"] and not bad and ran > 0


def save(document: dict[str, Any], path: Path) -> None:
    """An entry a line, and the headline in the first one."""
    first = {"headline": document["headline"], **document}
    parts = []
    for name, value in first.items():
        text = json.dumps(value)
        if name in ("entries", "suites") and value:
            text = "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n]"
        parts.append(f"{json.dumps(name)}: {text}")
    write(path, "{" + ",\n".join(parts) + "}\n")


def load(path: Path) -> dict[str, Any]:
    """Raises Refused, or OSError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Refused(f"{path}: is no result document: {error}") from None
    if not isinstance(document, dict) or "entries" not in document:
        raise Refused(f"{path}: is no result document")
    if document.get("schema") != SCHEMA:
        raise Refused(f"{path}: has schema {document.get('schema')}, this reads {SCHEMA}")
    schema = json.loads(_SCHEMA_FILE.read_text(encoding="utf-8"))
    for problem in by_schema.problems(document, schema, schema):
        raise Refused(f"{path}: is no result document: {problem.removeprefix(': ')}")
    return document


def _suite(name: str, catalog: Catalog, entries: list[dict[str, Any]]) -> dict[str, Any]:
    of = totals(entry for entry in entries if entry["suite"] == name)
    title = catalog.titles.get(name, name)
    return {"name": name, "title": title, "totals": of, "score": score(of)}


def _sampled(request: Request, catalog: Catalog) -> str:
    """What of all that there is."""
    said = []
    checks = [each for each in catalog.items if not each.is_sample]
    if checks:
        selected = sum(not each.is_sample for each in catalog.selected)
        said.append(f"{selected} checks of {len(checks)}")
    for suite in KINDS:
        every = _names(catalog.items, suite)
        if every:
            said.append(f"{len(_names(catalog.selected, suite))} {suite} of {len(every)}")
    if any(each.is_sample for each in catalog.items):
        count, dtypes = request.samples.count, request.samples.dtypes
        samples = {0: "all samples", 1: "one sample"}.get(count, f"the first {count} samples")
        said.append(f"of an operator {samples} with each of {', '.join(dtypes)} that it claims")
    of = f" and -k {request.filter!r}" if request.filter else ""
    return f"By level {request.level}{of}: " + "; ".join(said) + "."


def _names(items: list[Item], suite: str) -> set[str]:
    return {each.name for each in items if each.suite == suite}


def _tells(name: str) -> bool:
    return name.startswith(_ENVIRONMENT)


def _machine() -> str:
    count = len(os.sched_getaffinity(0))
    return f"{platform.system()} {platform.machine()}, {count} CPU{'s' * (count != 1)}"
