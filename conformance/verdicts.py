"""What can become of an entry, and how a worker's words become that."""

from __future__ import annotations

from typing import Any

from .item import Item

PASS, FAIL, CRASH, TIMEOUT = "pass", "fail", "crash", "timeout"
UNSUPPORTED, EXPECTED, SKIPPED = "unsupported", "expected", "skipped"
VERDICTS = (PASS, FAIL, CRASH, TIMEOUT, UNSUPPORTED, EXPECTED, SKIPPED)
BAD = (FAIL, CRASH, TIMEOUT)
# Of what workers call a status.
_OF_STATUS = {
    "passed": PASS,
    "failed": FAIL,
    "crashed": CRASH,
    "timed_out": TIMEOUT,
    "unsupported": UNSUPPORTED,
    "skipped": SKIPPED,
    "refused": SKIPPED,  # the CPU has no answer, and the device has not either
    "unsupported_dtype": SKIPPED,
}
_NO_DTYPE = "PyTorch has no dtype of it on the CPU, with which to compare"
BY_FLOAT64, LOOSENED = "by_float64", "loosened"  # opinfo's words for how a pass was had
# What a pass is less by, of a sample.
_REMARKS = (LOOSENED, BY_FLOAT64, "functional_form", "values_ignored", "tolerance")


def of(item: Item, entry: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The document's entry; `id` is only for who makes the document."""
    verdict = _OF_STATUS[entry["status"]]
    if verdict == FAIL and entry.get("not_implemented"):
        verdict = UNSUPPORTED
    found: dict[str, Any] = {"id": item.id, "suite": item.suite, "name": item.name}
    found |= {name: value for name in ("dtype", "phase") if (value := getattr(item, name))}
    found["verdict"] = verdict
    found |= dict(item.about)
    if verdict in BAD:
        found["message"] = entry["error"]
        found |= {name: entry[name] for name in ("trace", "sample") if entry.get(name)}
    elif verdict in (UNSUPPORTED, SKIPPED):
        found["reason"] = entry.get("reason") or entry.get("error") or _NO_DTYPE
    elif remark := next((entry[name] for name in _REMARKS if name in entry), ""):
        found["remark"] = remark
        found |= {name: True for name in (BY_FLOAT64, LOOSENED) if name in entry}
    found["seconds"] = round(seconds, 3)
    return found
