"""Defects of backend_template/core: devices, streams, events, memory, generators, graphs."""

from mutation.mutant import Mutant, PythonTest

MUTANTS = (
    Mutant(
        name="a_moved_event_forgets_its_capture",
        breaks="An event that is recorded on another device than before no longer joins the "
        "stream that waits for it to the capture.",
        file="backend_template/core/event.cpp",
        old="  recorded_in_ = capture_of(stream);",
        new="",
        found_by=PythonTest("tests/python/graphs/test_capture.py::test_NAME"),
    ),
)
