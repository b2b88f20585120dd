"""The badge of a run."""

import xml.etree.ElementTree

import pytest
import synthetic_document

from conformance.report import badge


def drawn(document, path):
    """The badge's title, the text on its right, and the colour under that."""
    badge.write(document, path)
    svg = xml.etree.ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    rectangles = svg.findall(f"{space}g/{space}rect")
    texts = [text.text for text in svg.iter(f"{space}text")]
    return svg.find(f"{space}title").text, texts[-1], rectangles[1].get("fill")


def document(**verdicts):
    return synthetic_document.of(
        [
            {"suite": "streams", "name": f"{verdict} {number}", "verdict": verdict}
            for verdict, count in verdicts.items()
            for number in range(count)
        ]
    )


@pytest.mark.parametrize(
    ("verdicts", "value", "colour"),
    [
        ({"pass": 5}, "100 %", "#4c1"),
        ({"pass": 5, "unsupported": 3}, "100 %", "#4c1"),
        ({"pass": 1999, "crash": 1}, "99.9 %", "#97ca00"),
        ({"pass": 9, "fail": 1}, "90.0 %", "#dfb317"),
        ({"pass": 7, "expected": 3}, "70.0 %", "#fe7d37"),
        ({"timeout": 1}, "0.0 %", "#e05d44"),
        ({}, "nothing ran", "#9f9f9f"),
        ({"unsupported": 3, "skipped": 1}, "nothing ran", "#9f9f9f"),
    ],
)
def test_score_and_colour(verdicts, value, colour, tmp_path):
    assert drawn(document(**verdicts), tmp_path / "badge.svg")[1:] == (value, colour)


def test_the_title_counts_what_is_declared_unsupported(tmp_path):
    title, _, _ = drawn(document(**{"pass": 5, "unsupported": 3}), tmp_path / "badge.svg")
    assert title.startswith("acme, level standard, torch 2.13.0+cpu: 100 %; 5 pass, 0 fail")
    assert "3 declared unsupported" in title


def test_a_part_of_a_run_is_grey(tmp_path):
    part = document(**{"pass": 5}) | {"complete": False}
    assert drawn(part, tmp_path / "badge.svg")[1:] == ("100 %, incomplete", "#9f9f9f")


def test_a_hostile_device_stays_text(tmp_path):
    hostile = document(**{"pass": 1}) | {"device": '</title><script>"&'}
    assert '</title><script>"&, level' in drawn(hostile, tmp_path / "badge.svg")[0]
