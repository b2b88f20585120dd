"""One reader for all variables of the environment, and a page that has all of them."""

import re
from pathlib import Path

import pytest
from conftest import ROOT

CPP = ("backend_template", "registration", "generators", "tests/runtime/suite")
# It checks backends that are not ours, whose variables it tells and sets.
CONFORMANCE = "conformance"
# It tells which ones are set, those that only others read too.
DOCTOR = ROOT / "generators/cli/torch_outback/doctor"
READERS = {
    "backend_template/include/outback/detail/variables.hpp",
    "generators/cli/torch_outback/variables.py",
    "generators/project/_torch_acme_autoload.py",
}
READS = {
    ".cpp": re.compile(r"\b(secure_)?getenv\b|\b(get|check|has)_env\("),
    ".py": re.compile(r"\bgetenv\b|\benviron(\.get\b|\[|\.setdefault)|expanduser|Path\.home"),
}
NAMES = re.compile(r'"((?:OUTBACK|CUDA|ZE_ENABLE|ZES|XDG)_[A-Z0-9_]+|HOME|CXX|CXXFLAGS|LDFLAGS)"')
PAGE = (ROOT / "docs/variables.md").read_text()


def sources(*folders: str) -> list[Path]:
    files = [file for folder in folders for file in sorted((ROOT / folder).rglob("*"))]
    return [file for file in files if file.suffix in {".cpp", ".hpp", ".h", ".c", ".py"}]


@pytest.mark.parametrize("suffix", READS)
def test_nobody_else_asks_the_environment(suffix):
    of_python = suffix == ".py"
    wrong = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in sources(*CPP)
        if (file.suffix == ".py") == of_python and str(file.relative_to(ROOT)) not in READERS
        for line in file.read_text().splitlines()
        if READS[suffix].search(line)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_page_has_every_variable_that_is_read():
    files = [it for it in sources(*CPP, CONFORMANCE) if DOCTOR not in it.parents]
    read = {name for file in files for name in NAMES.findall(file.read_text())}
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    shown = {name for row in rows for name in re.findall("`([^`]+)`", row)}
    of_cmake = {"CMAKE_TOOLCHAIN_FILE", "CMAKE_BUILD_PARALLEL_LEVEL"}
    assert shown == read | of_cmake | {"<NAME>_VISIBLE_DEVICES"}
