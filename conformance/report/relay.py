"""The results as PyTorch's relay between repositories takes them from a backend's CI.

The keys of the file are inputs of the action pytorch/test-infra/.github/actions/
cross-repo-ci-relay-callback; their form is that of PyTorch's RFCs 50 and 54.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .. import verdicts
from ..files import write as write_file

# The RFC's limits.
_ENTRIES = 1000
_MESSAGE = 1024
_STACKTRACE = 4096
# The action hands an input on in an environment variable, which Linux limits to 128 KiB.
_BYTES = 120_000


def write(document: dict[str, Any], path: Path) -> None:
    of = document["totals"]
    failed = sum(of[verdict] for verdict in verdicts.BAD)
    counts = {"passed": of[verdicts.PASS], "failed": failed}
    counts["skipped"] = sum(of.values()) - sum(counts.values())
    found = {"test-results": counts, "failed-tests-detail": _details(document)}
    write_file(path, json.dumps(found, indent=1) + "\n")


def _details(document: dict[str, Any]) -> list[dict[str, Any]]:
    """As many of what failed as the limits let through."""
    found: list[dict[str, Any]] = []
    size = 0
    for entry in document["entries"]:
        if entry["verdict"] not in verdicts.BAD:
            continue
        detail = _detail(entry)
        size += len(json.dumps(detail)) + 2
        if size > _BYTES or len(found) == _ENTRIES:
            break
        found.append(detail)
    return found


def _detail(entry: dict[str, Any]) -> dict[str, Any]:
    parts = (entry.get(part, "") for part in ("name", "dtype", "phase"))
    return {
        "name": "/".join(filter(None, parts)),
        "classname": entry["suite"],
        "message": f"{entry['verdict']}: {entry['message']}"[:_MESSAGE],
        "stacktrace": entry.get("trace", "")[-_STACKTRACE:],
        "duration": entry["seconds"],
    }
