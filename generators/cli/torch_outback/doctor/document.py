"""The findings as JSON, by schema/report-1.json: names are added to it, and none changes."""

from __future__ import annotations

import dataclasses
import json
import platform
import sys

from .. import toolkit
from .examination import Examination

SCHEMA = 1


def text(examination: Examination) -> str:
    document = {
        "schema": SCHEMA,
        "outback": toolkit.version(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "seconds": round(examination.seconds, 3),
        "problems": examination.problems,
        "findings": [dataclasses.asdict(it) for it in examination.findings],
    }
    return json.dumps(document, indent=2)
