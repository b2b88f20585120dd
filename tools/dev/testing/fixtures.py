"""What of the build tree a Python test uses, as its text and its fixtures' name it."""

import ast
import functools
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


@functools.cache
def _reached(file: Path) -> str:
    """The text of a test file, and that of the fixtures that it asks for."""
    text = file.read_text("utf-8")
    known: dict[str, ast.AST] = {}
    sources = {}
    for folder in reversed(file.relative_to(ROOT).parents):
        conftest = ROOT / folder / "conftest.py"
        if conftest.exists():
            source = conftest.read_text("utf-8")
            functions = {e.name: e for e in ast.parse(source).body if isinstance(e, _FUNCTION)}
            known |= functions
            sources |= dict.fromkeys(functions, source)
    asked = _asked(ast.parse(text))
    asked |= {name for name, function in known.items() if "autouse" in _decorators(function)}
    reached, pending = text, asked & known.keys()
    while pending:
        name = pending.pop()
        function = known.pop(name)
        reached += ast.get_source_segment(sources[name], function) or ""
        pending |= _asked(function) & known.keys()
    return reached


_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def _asked(tree: ast.AST) -> set[str]:
    """What could be a fixture's name, or that of a function that is imported from a conftest."""
    names = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.arg):
            names.add(each.arg)
        elif isinstance(each, ast.Name):
            names.add(each.id)
        elif isinstance(each, ast.Call) and "usefixtures" in ast.dump(each.func):
            names |= {word.value for word in each.args if isinstance(word, ast.Constant)}
    return names


def _decorators(function: ast.AST) -> str:
    return " ".join(ast.dump(each) for each in function.decorator_list)
