"""A torch that Outback does not support is named in the reports, with what has changed by it."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic_document
from rich.console import Console

from conformance import baseline, document, supported
from conformance.report import html, terminal

ROOT = Path(__file__).resolve().parents[2]
NEWER = "torch 2.99.0.dev20270101+cpu is newer than the supported 2.11 to 2.15"


def entry(suite: str, name: str, verdict: str) -> dict:
    return {"suite": suite, "name": name, "verdict": verdict, "seconds": 0.1, "reason": "why"}


def made(torch: str, *entries: dict) -> dict:
    found = synthetic_document.of(list(entries), versions={"torch": torch}, problems=[])
    return {**found, "headline": document.headline(found)}


@pytest.mark.parametrize(
    ("torch", "says"),
    [
        ("2.99.0.dev20270101+cpu", NEWER),
        ("3.0.0", "torch 3.0.0 is newer than the supported 2.11 to 2.15"),
        ("2.10.1", "torch 2.10.1 is older than the supported 2.11 to 2.15"),
        ("2.11.0", ""),
        ("2.15.1+cu130", ""),
        ("absent", ""),
    ],
)
def test_only_another_torch_than_the_supported_is_named(torch, says):
    assert supported.remark(torch) == says


def test_the_supported_releases_are_the_same_everywhere():
    between = f"torch {supported.OLDEST} to {supported.NEWEST}"
    for page in ("README.md", "docs/versions.md"):
        assert between in (ROOT / page).read_text()
    cmake = (ROOT / "cmake/OutbackTorch.cmake").read_text()
    assert f"(_outback_version VERSION_LESS {supported.OLDEST})" in cmake
    assert f"(_outback_minor VERSION_GREATER {supported.NEWEST})" in cmake
    assert f"than the supported {supported.OLDEST} to {supported.NEWEST}" in cmake
    cli = (ROOT / "generators/cli/torch_outback/toolkit.py").read_text()
    assert f'OLDEST_TORCH = "{supported.OLDEST}"' in cli
    assert f'NEWEST_TORCH = "{supported.NEWEST}"' in cli


def test_the_headline_and_the_page_name_a_newer_torch():
    good = entry("streams", "waits", "pass")
    newer = made(NEWER.split()[1], good)
    assert newer["headline"].endswith(f"0 skipped; {NEWER}")
    assert NEWER in html.page_of(newer)
    older = made("2.13.0", good)
    assert older["headline"].endswith("0 skipped")
    assert "than the supported" not in html.page_of(older)


def test_a_comparison_says_which_parts_differ():
    names = ("waits", "orders", "ends")
    before = made(
        "2.13.0",
        *(entry("streams", name, "pass") for name in names),
        entry("graphs", "replays", "unsupported"),
        entry("rng", "forks", "pass"),
    )
    verdicts = ("unsupported", "unsupported", "pass")
    now = made(
        "2.99.0",
        *(entry("streams", *each) for each in zip(names, verdicts, strict=True)),
        entry("graphs", "replays", "pass"),
        entry("rng", "forks", "pass"),
    )
    console = Console(width=200)
    with console.capture() as said:
        terminal.show(console, now, baseline.compare(before, now))
    assert "torch 2.13.0 to 2.99.0" in said.get()
    assert "parts that differ: graphs (1 mended), streams (2 broke)\n" in said.get()
