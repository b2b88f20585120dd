"""What acme declares unsupported, by runtime: the lines in declared/, to which runs are held.

    python tests/conformance/declared.py null report.json

`report.json` is of `outback conformance --json`, at any level. Exits with 1 where something did not
pass, where more is unsupported than the lines say, or where a line says it of what passes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from conformance import document, verdicts  # noqa: E402
from conformance.expectations import Expectations  # noqa: E402

FOLDER = HERE / "declared"


def lines(name: str) -> dict[str, str]:
    """Reasons by the ids of entries; a line stands for one entry, so that their number tells."""
    loaded = Expectations.load(FOLDER / f"{name}.txt").lines
    assert all(line.exact for line in loaded), "a line names one entry"
    return {line.pattern: line.reason for line in loaded}


def problems(made: dict[str, Any], declared: dict[str, str]) -> Iterator[str]:
    """What is wrong with a run, a line each."""
    found = {document.id_of(entry): entry for entry in made["entries"]}
    if not document.is_green(made):
        yield f"the run is not green: {made['headline']}"
    for id, entry in found.items():
        if entry["verdict"] in verdicts.BAD:
            yield f"{id}: {entry['verdict']}: {entry['message']}"
        elif entry["verdict"] == verdicts.UNSUPPORTED and id not in declared:
            yield f"{id}: unsupported, and no line declares it: {entry['reason']}"
        elif entry["verdict"] == verdicts.PASS and id in declared:
            yield f"{id}: passes: remove its line, and lower the cap in test_declared.py"
    if made["level"] != "quick" and made["complete"]:
        yield from (f"{id}: is declared, and is no entry" for id in declared.keys() - found.keys())
    yield from made["problems"]


def main(name: str, file: str) -> int:
    made = document.load(Path(file))
    wrong = list(problems(made, lines(name)))
    print("\n".join(wrong or [made["headline"]]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
