"""The document as JUnit's XML, which every CI service reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from .. import verdicts
from ..files import write as write_file

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SKIPPED = (verdicts.UNSUPPORTED, verdicts.EXPECTED, verdicts.SKIPPED)


def write(document: dict[str, Any], path: Path) -> None:
    """Unsupported, expected and skipped entries are skipped ones with their reasons."""
    head = {"name": _name(document), **_counts(document["totals"])}
    root = ElementTree.Element("testsuites", head)
    root.set("time", str(document["seconds"]))
    for suite in document["suites"]:
        counted = {"name": suite["name"], **_counts(suite["totals"])}
        of = ElementTree.SubElement(root, "testsuite", counted)
        of.set("timestamp", document["started"])
        for entry in document["entries"]:
            if entry["suite"] == suite["name"]:
                _add(of, entry)
    if document["problems"]:
        of = ElementTree.SubElement(root, "testsuite", name="the run")
        for problem in document["problems"]:
            case = ElementTree.SubElement(of, "testcase", classname="the run", name=_clean(problem))
            ElementTree.SubElement(case, "failure", message=_clean(problem))
    ElementTree.indent(root, " ")
    # No declaration: the first line is the one with the counts. It is UTF-8 without one.
    write_file(path, ElementTree.tostring(root, encoding="unicode") + "\n")


def _add(suite: ElementTree.Element, entry: dict[str, Any]) -> None:
    name = "/".join(entry[part] for part in ("name", "dtype", "phase") if part in entry)
    case = ElementTree.SubElement(
        suite, "testcase", classname=entry["suite"], name=_clean(name), time=str(entry["seconds"])
    )
    verdict = entry["verdict"]
    if verdict in _SKIPPED:
        said = f"{verdict}: {entry['reason']}"
        ElementTree.SubElement(case, "skipped", message=_clean(said))
    elif verdict != verdicts.PASS:
        tag = "failure" if verdict == verdicts.FAIL else "error"
        found = ElementTree.SubElement(case, tag, message=_clean(entry["message"]), type=verdict)
        found.text = _clean("\n".join(_told(entry)))


def _told(entry: dict[str, Any]) -> list[str]:
    about = (
        ("", "promise"),
        ("called by ", "called_by"),
        ("without it: ", "without"),
        ("", "trace"),
        ("", "reproduction"),
    )
    return [f"{before}{entry[name]}" for before, name in about if name in entry]


def _name(document: dict[str, Any]) -> str:
    return _clean(f"conformance of {document['device']}: {document['headline']}")


def _counts(of: dict[str, int]) -> dict[str, str]:
    found = {
        "tests": sum(of.values()),
        "failures": of[verdicts.FAIL],
        "errors": of[verdicts.CRASH] + of[verdicts.TIMEOUT],
        "skipped": sum(of[name] for name in _SKIPPED),
    }
    return {name: str(count) for name, count in found.items()}


def _clean(text: str) -> str:
    """Without the characters that XML cannot have."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
