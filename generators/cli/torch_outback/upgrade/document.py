"""The report as JSON, by schema/upgrade-report-1.json: names are added to it, and none changes."""

from __future__ import annotations

import dataclasses
import json

from .. import toolkit
from .change import SECTIONS
from .comparing import Report
from .release import Release

SCHEMA = 1


def text(report: Report) -> str:
    document = {
        "schema": SCHEMA,
        "outback": toolkit.version(),
        "old": _release(report.old),
        "new": _release(report.new),
        "project": str(report.project),
        "seconds": round(report.seconds, 3),
        "unread": report.unread,
        "sections": SECTIONS,
        "changes": [dataclasses.asdict(it) for it in report.changes],
    }
    return json.dumps(document, indent=2)


def _release(release: Release) -> dict[str, str]:
    return {"version": release.version, "place": release.place}
