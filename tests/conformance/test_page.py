"""docs/conformance.md: its table is the suites', and its half an hour leads to a green run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from product import PLAIN

from conformance import catalog
from conformance.report import verdicts

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.dev import suites_page  # noqa: E402

PAGE = (ROOT / "docs/conformance.md").read_text()


def test_the_table_is_up_to_date():
    assert suites_page.check() == "up to date"


def test_every_suite_has_a_row_and_a_title():
    titles = suites_page.titles()
    assert list(titles) == [*catalog.of_checks(), *catalog.KINDS]
    assert all(titles.values())


def test_a_suite_that_is_new_makes_the_page_out_of_date(monkeypatch):
    found = suites_page.titles() | {"more": "More: what is new"}
    monkeypatch.setattr(suites_page, "titles", lambda: found)
    with pytest.raises(
        suites_page.console.Failure, match=r"docs/conformance\.md is not up to date"
    ):
        suites_page.check()


def test_every_verdict_is_explained():
    table = PAGE.partition("## Verdicts")[2].partition("## ")[0]
    rows = re.findall(r"^\| (\w+) \|", table, re.MULTILINE)
    assert {verdict.name for verdict in verdicts.READING_ORDER} <= set(rows)


def test_the_options_that_it_names_are_the_commands():
    from conformance.command import conformance

    known = {option for parameter in conformance.params for option in parameter.opts}
    named = set(re.findall(r"(?<![\w-])--[a-z]+(?![\w-])", PAGE))
    assert len(named) > 8 and named <= known


def test_its_lines_make_a_run_green(product, plain, tmp_path):
    """The program of the page, of a report in which something fails."""
    (program,) = re.findall(r'python -c "\n(.*?)"\s*> conformance/exp', PAGE, re.DOTALL)
    lines = [line[4:] for line in program.replace('\\"', '"').splitlines()]
    assert plain.said.status == 1
    shutil.copy(plain.document, tmp_path / "acme.json")
    command = [sys.executable, "-c", "\n".join(lines)]
    expected = subprocess.check_output(command, cwd=tmp_path, text=True)
    file = tmp_path / "expectations.txt"
    file.write_text(expected)
    said = product(*PLAIN, f"--expectations={file}")
    assert said.status == 0, said
    assert f"{len(expected.splitlines())} expected" in said.out.splitlines()[0]
