"""A small build tree, as CMake describes it, for the tests of ./dev test."""

import sys
from pathlib import Path

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev.build_graph import Graph, Target
from dev.testing import suites
from dev.testing.choice import Tree
from dev.testing.entries import Entry

HOST, APART = suites.PYTHON_SUITES[:2]
TREE = Path("/tree")


def target(name, kind, sources, artifact, *needs):
    paths = frozenset(map(Path, sources))
    return Target(name, kind, paths, (Path(artifact),), frozenset(needs))


def program(name, folder, *sources, needs=()):
    return target(name, "EXECUTABLE", sources, f"{folder}/{name}", *needs)


def sample_tree() -> Tree:
    """A program of the core, the runtime suite on two runtimes, of which one is not built, and two
    extension modules."""
    core = "backend_template/core"
    graph = Graph(
        [
            target("outback_torch", "STATIC_LIBRARY", [f"{core}/streams/event.cpp"], "libtorch.a"),
            target(
                *("outback_runtime_suite", "OBJECT_LIBRARY"),
                *(["tests/runtime/suite/events_test.cpp"], "suite.o"),
            ),
            program(
                *("core_test", "tests/core", "tests/core/event_test.cpp"),
                needs=["outback_torch"],
            ),
            program("host_suite", "tests/runtime", needs=["outback_runtime_suite"]),
            program("null_suite", "tests/runtime", needs=["outback_runtime_suite"]),
            target("torch_acme", "MODULE_LIBRARY", [], "python/torch_acme/_C.so", "outback_torch"),
            target("outback_probe", "MODULE_LIBRARY", [], "python_probe/outback_probe.so"),
        ]
    )
    suite = f"{TREE}/tests/runtime/host_suite"
    return Tree(
        TREE,
        graph,
        [
            Entry("core_test", Path("tests/core"), (f"{TREE}/tests/core/core_test",)),
            Entry("host_suite.summary", Path("tests/runtime"), (suite, "--whole")),
            Entry("host_suite.EventTest.Waits", Path("tests/runtime"), (suite, "--filter")),
            Entry("host_suite.CopyTest.Words", Path("tests/runtime"), (suite, "--filter")),
            Entry(
                *("null_suite", Path("tests/runtime")),
                (f"{TREE}/tests/runtime/null_suite",),
                built=False,
            ),
        ],
    )
