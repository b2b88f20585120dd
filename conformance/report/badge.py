"""The badge of a run, for a README: the score in the look of shields.io's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import jinja2

from ..files import write as write_file
from . import score, verdicts

_LABEL = "outback conformance"
_GREY = "#9f9f9f"
# From this score on, this colour. Only a run without a failure is bright green.
_COLOURS = ((100, "#4c1"), (95, "#97ca00"), (85, "#dfb317"), (60, "#fe7d37"), (0, "#e05d44"))

# Of Verdana at 11 pixels, which shields.io's badges are set in; other characters are about 6.8.
_WIDTHS = {
    " ": 3.9,
    ".": 4,
    ",": 4,
    "f": 3.9,
    "i": 3,
    "l": 3,
    "m": 10.7,
    "r": 4.7,
    "t": 4.3,
    "%": 11.8,
}


def write(document: Mapping, path: Path) -> None:
    """Writes the badge of a result document."""
    write_file(path, badge_of(document))


def badge_of(document: Mapping) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "page"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
    )
    value = _value(document)
    return environment.get_template("badge.svg.jinja").render(
        label=_LABEL,
        value=value,
        title=_title(document, value),
        colour=_colour(document),
        left=_width(_LABEL),
        right=_width(value),
    )


def _value(document: Mapping) -> str:
    reached = score.of(document["totals"])
    if reached is None:
        return "nothing ran"
    return score.shown(reached) + ("" if document["complete"] else ", incomplete")


def _title(document: Mapping, value: str) -> str:
    """What is behind the number, which is all that a reader of a README can point at."""
    totals = document["totals"]
    counts = ", ".join(
        f"{totals.get(verdict.name, 0)} {verdict.counted}" for verdict in verdicts.READING_ORDER
    )
    torch = document["versions"].get("torch", "")
    return f"{document['device']}, level {document['level']}, torch {torch}: {value}; {counts}"


def _colour(document: Mapping) -> str:
    """Grey where nothing ran, and where not all did: a part of a run is not green by luck."""
    reached = score.of(document["totals"])
    if reached is None or not document["complete"]:
        return _GREY
    return next(colour for least, colour in _COLOURS if reached >= least)


def _width(text: str) -> int:
    """What a text and its margins take. An SVG cannot measure it; the text is stretched to this."""
    return round(12 + sum(_WIDTHS.get(character, 6.8) for character in text))
