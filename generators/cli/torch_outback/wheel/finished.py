"""The wheels with one half that are finished: kept in the work folder, so that what was interrupted
goes on, and a second run makes only what has changed."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from . import archive
from .archive import Wheel
from .merging import Single

_RECORD = "finished.json"


def find(folder: Path, key: str) -> tuple[Single, str] | None:
    """The wheel in `folder` and the release of torch that it was compiled against, if it was made
    with this `key` and is whole."""
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        content = (folder / record["wheel"]).read_bytes()
    except (OSError, ValueError, KeyError, TypeError):  # none, or another Outback's
        return None
    if record.get("key") != key or record.get("sha256") != hashlib.sha256(content).hexdigest():
        return None
    return Single(record["wheel"], archive.read(folder / record["wheel"])), record["torch"]


def keep(folder: Path, key: str, name: str, wheel: Wheel, torch: str) -> None:
    """The record comes last: without it, the folder is not finished."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive.write(wheel, folder / name)
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    record = {"key": key, "wheel": name, "sha256": digest, "torch": torch}
    (folder / _RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
