"""The page of a run: one file that holds everything and asks nothing of a network."""

from __future__ import annotations

import base64
import collections
import datetime
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import jinja2
import markupsafe

from .. import supported
from ..baseline import Change, compare
from ..files import write as write_file
from . import page_data, score, verdicts

_PAGE = Path(__file__).parent / "page"

# Of what a baseline has and this run does not, or the reverse, a page names so many.
_NAMED = 200


def write(document: dict, path: Path, baseline: dict | None = None) -> None:
    """Writes the page of a result document, compared with an earlier one where there is one."""
    write_file(path, page_of(document, baseline))


def page_of(document: dict, baseline: dict | None = None) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGE),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["grouped"] = _grouped
    environment.filters["listed"] = _listed
    environment.filters["moment"] = _moment
    environment.filters["duration"] = _duration
    scripts = [_inlined(name) for name in ("logic.js", "page.js")]
    return environment.get_template("page.html.jinja").render(
        document=document,
        totals=_all(document["totals"]),
        verdicts=verdicts.READING_ORDER,
        by_name=verdicts.BY_NAME,
        score=score.shown(score.of(document["totals"])),
        counting=score.counting(document["totals"]),
        judged={"by_float64": 0, "loosened": 0} | document.get("judged", {}),
        remark=supported.remark(document["versions"].get("torch", "")),
        suites=[
            {**suite, "totals": _all(suite["totals"]), "shown": score.shown(suite.get("score"))}
            for suite in document["suites"]
        ],
        compared=_compared(document, baseline) if baseline is not None else None,
        style=_inlined("page.css"),
        scripts=scripts,
        hashes=[_hash(script) for script in scripts],
        data=_json(page_data.of(document)),
    )


def _all(totals: Mapping[str, int]) -> dict[str, int]:
    """The count of each verdict, of those that a document leaves out too."""
    return {verdict.name: totals.get(verdict.name, 0) for verdict in verdicts.READING_ORDER}


def _compared(document: dict, baseline: dict) -> dict:
    """What the page says of the comparison."""
    found = compare(baseline, document)
    return {
        "baseline": baseline,
        "versions": _side_by_side(baseline["versions"], document["versions"]),
        "score": score.shown(score.of(baseline["totals"])),
        "kinds": [
            _kind("broke", "worse than in the baseline", found.broke, opened=True),
            _kind("mended", "better than in the baseline", found.mended),
            _kind("otherwise", "skipped in one of the runs", found.other),
            _kind("new", "only in this run", found.new),
            _kind("gone", "only in the baseline", found.gone),
        ],
    }


def _kind(name: str, meaning: str, found: list[Change], opened: bool = False) -> dict:
    return {
        "name": name,
        "meaning": meaning,
        "count": len(found),
        "opened": opened and bool(found),
        "named": found[:_NAMED],
        "by_suite": collections.Counter(change.id.split("/")[0] for change in found),
    }


def _side_by_side(old: Mapping[str, str], new: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Each version then and now, "" where a run does not tell it."""
    return [(name, old.get(name, ""), new.get(name, "")) for name in {**new, **old}]


def _inlined(name: str) -> markupsafe.Markup:
    """A file of the page's as it stands. It is ours: nothing of a document is in it."""
    return markupsafe.Markup((_PAGE / name).read_text(encoding="utf-8"))


def _hash(script: str) -> str:
    """What the page's policy knows a script by: no other script runs, wherever it came from."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _json(data: dict) -> markupsafe.Markup:
    """JSON that no HTML can begin or end in: `</script>` in a message stays text."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return markupsafe.Markup(text)


def _grouped(number: int) -> str:
    """12431 as 12,431."""
    return f"{number:,}"


def _listed(value: object) -> str:
    """A setting as one reads it: a list without its brackets."""
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _moment(iso: str) -> str:
    """2026-11-25T19:00:00+00:00 as 2026-11-25 19:00 UTC."""
    moment = datetime.datetime.fromisoformat(iso)
    return f"{moment:%Y-%m-%d %H:%M} {moment:%Z}".rstrip()


def _duration(seconds: float) -> str:
    """641.26 as 10 min 41 s."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
