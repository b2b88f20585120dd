"""What the list of defects is made of: a defect, and the test that finds it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CppTest:
    """A GoogleTest test of a program that ctest runs."""

    program: str  # "core_test": the target, and the name that ctest has for it
    name: str  # "EventTest.RecordsOnce": one test

    def __str__(self) -> str:
        return f"{self.program} {self.name}"


@dataclass(frozen=True)
class CTest:
    """A test of ctest's whose program is not GoogleTest's, or which expects something of its own."""

    name: str  # "faulty_suite.wait_does_nothing"
    targets: tuple[str, ...]  # what has to be built for it

    def __str__(self) -> str:
        return f"ctest {self.name}"


@dataclass(frozen=True)
class PythonTest:
    """A test of pytest's, on one of the backends that ./dev test runs it on."""

    node: str  # "tests/python/streams/test_events.py::test_an_event_is_recorded_once"
    on: str = "host"  # the run that has to find it

    def __str__(self) -> str:
        return f"{self.node} ({self.on})"


@dataclass(frozen=True)
class Mutant:
    """A defect as a tired engineer makes it: one line, which compiles and is wrong."""

    name: str  # unique: "event_wait_forgets_the_other_device"
    breaks: str  # what goes wrong for a user, in a sentence
    file: str  # from the root of the tree
    old: str  # occurs in `file` exactly once; enough of the line to be found, or two lines
    new: str
    found_by: CppTest | CTest | PythonTest | None = None  # None: nobody knows yet
