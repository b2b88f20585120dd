"""The documentation says what the sources say, and its links lead somewhere."""

import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT))
from tools.dev import contract_page

ERRORS = (ROOT / "docs/errors.md").read_text()
MESSAGES = re.findall(r"^```text\n(.*)\n```$", ERRORS, re.MULTILINE)
SOURCES = ("backend_template", "cmake", "generators", "registration")
SUFFIXES = {".cmake", ".cpp", ".h", ".hpp", ".py"}


# ---- Errors


@pytest.fixture(scope="module")
def literals():
    """All sources, with the literals in one piece that C++, Python and CMake write in several."""
    files = [file for folder in SOURCES for file in sorted((ROOT / folder).rglob("*"))]
    text = "\n".join(file.read_text() for file in files if file.suffix in SUFFIXES)
    return re.sub(r"\\(['\"])", r"\1", re.sub(r'"\s*\n\s*f?"', "", text))


def fixed_parts(message: str) -> list[str]:
    """What is the same in each of them; a comma or an "and" between two blanks proves nothing."""
    return [part for part in re.split(r"<[^>]*>", message) if len(part.strip()) > 7]


def test_there_are_messages():
    assert len(MESSAGES) > 50


@pytest.mark.parametrize("message", MESSAGES)
def test_each_message_is_in_the_sources(literals, message):
    parts = [part.replace("torch_acme ", "") for part in fixed_parts(message)]
    assert parts, "nothing of this message is fixed"
    for part in parts:
        assert part.strip() in literals, f'no source says "{part}"'


# ---- The contract


def comments_of(header: str) -> list[str]:
    """The comments of outback/runtime.h from its rules on, word by word."""
    header = header[header.index("//   Errors") :]
    lines = [line.partition("//")[2] for line in header.splitlines()]
    return re.findall(r"\w+", " ".join(line for line in lines if not line.startswith(" ----")))


def test_the_contract_has_every_word_of_the_headers_comments():
    header = contract_page.HEADER.read_text()
    page = contract_page.page(header).lower()
    missing = {word for word in comments_of(header) if word.lower() not in page}
    assert not missing - {"extern"}  # of the last line


def test_the_contract_has_every_slot_of_the_header():
    header = contract_page.HEADER.read_text()
    slots = re.findall(r"\(\*(\w+)\)\(void\* self", header)
    shown = re.findall(r"^- \*\*`(\w+)`\*\*", contract_page.page(header), re.MULTILINE)
    assert sorted(slots) == sorted(shown)
    assert len(slots) > 40


def test_a_slot_that_is_added_is_in_the_contract():
    header = contract_page.HEADER.read_text()
    slot = "  outback_status (*destroy)(void* self, int32_t device, outback_graph graph);\n"
    added = "  // What is new.\n  outback_status (*copy)(void* self, int32_t device);\n"
    page = contract_page.page(header.replace(slot, slot + added))
    assert "- **`copy`** `(int32_t device)`  \n  What is new.\n" in page
    assert "`launch`, `destroy`, `copy`" in page


def test_the_page_is_the_headers():
    assert contract_page.check() == "up to date"


# ---- The site


@pytest.fixture
def docs(tmp_path):
    """A copy of what the site is made of, and a way to build it."""
    pytest.importorskip("material", reason="needs mkdocs-material")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    for other in ROOT.iterdir():  # pages link to them
        if not (tmp_path / other.name).exists() and not other.name.startswith((".", "build")):
            (tmp_path / other.name).symlink_to(other)

    def build() -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "mkdocs", "build"]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, errors="replace"
        )

    return tmp_path / "docs", build


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("[gone](gone.md)", "gone.md"),
        ("[gone](runtime.md#gone)", "#gone"),
        ("[gone](../gone.md)", "there is no ../gone.md"),
    ],
)
def test_a_link_that_leads_nowhere_fails_the_build(docs, text, complaint):
    folder, build = docs
    with (folder / "index.md").open("a") as page:
        page.write(f"\n{text}\n")
    done = build()
    assert done.returncode != 0
    assert complaint in done.stderr


def test_a_page_that_no_menu_has_fails_the_build(docs):
    folder, build = docs
    (folder / "forgotten.md").write_text("# Forgotten\n")
    done = build()
    assert done.returncode != 0
    assert "forgotten.md" in done.stderr


def test_a_link_to_a_source_is_its_text(docs):
    folder, build = docs
    done = build()
    assert done.returncode == 0, done.stderr
    page = (folder.parent / "build/docs/contract.html").read_text()
    assert "<code>outback/slot_list.hpp</code> lists them" in page


def test_tables_have_a_line_for_each_row():
    """A table that a formatter made a paragraph of is no error to mkdocs."""
    wrong = [
        f"{page.name}: {line}"
        for page in sorted((ROOT / "docs").glob("*.md"))
        for line in page.read_text().splitlines()
        if "|---|" in line and line.strip(" |:-")
    ]
    assert not wrong
