"""What of the build tree a Python test uses, as its text and its fixtures' name it."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from ..build_graph import Graph
from ..paths import ROOT
from .suites import Suite

_PACKAGE = re.compile(r"\bpython_[a-z_]+\b")
_TREE = "build_tree"  # the fixture behind which all of a suite's needs stand


def targets(suite: Suite, tests: Iterable[str], graph: Graph, tree: Path) -> set[str]:
    """What has to be built for these tests, which are files and folders."""
    needs = set(suite.needs) if suite.always else set()
    for file in _files(tests):
        text = _reached(file)
        # Of the build tree, or words that look alike.
        needs |= {name for name in _PACKAGE.findall(text) if (tree / name).is_dir()}
        if re.search(rf"\b{_TREE}\b", text):
            needs |= set(suite.needs)
    return {name for pattern in needs for name in graph.making(pattern)}


def _files(tests: Iterable[str]) -> set[Path]:
    found = set()
    for test in tests:
        path = ROOT / test.partition("::")[0]
        found |= set(path.rglob("test_*.py")) if path.is_dir() else {path}
    return found


def _reached(file: Path) -> str:
    """The text of a test file, and that of the fixtures that it asks for."""
    text = file.read_text("utf-8")
    known = {}
    for folder in reversed(file.relative_to(ROOT).parents):
        conftest = ROOT / folder / "conftest.py"
        if conftest.exists():
            known |= _functions(conftest.read_text("utf-8"))
    reached, pending = text, set(re.findall(r"\w+", text)) & known.keys()
    while pending:
        found = known.pop(pending.pop())
        reached += found
        pending |= set(re.findall(r"\w+", found)) & known.keys()
    return reached


def _functions(text: str) -> dict[str, str]:
    return {
        each.name: ast.get_source_segment(text, each)
        for each in ast.parse(text).body
        if isinstance(each, ast.FunctionDef)
    }
