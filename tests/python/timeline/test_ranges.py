"""torch's ranges in the tools of the driver, as a trace of the runtime's calls shows them."""

import pytest

from .recorded import HAS_RANGES
from .test_endings import run_profiled  # noqa: F401  (a fixture)

pytestmark = [pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]

# Of the runtimes of the tree, the host's has them whatever the build found.
needs_ranges = pytest.mark.skipif(not HAS_RANGES, reason="needs a runtime with the group ranges")


@pytest.fixture
def ranges_of(run_profiled, tmp_path):  # noqa: F811
    """The calls of the group that a program makes."""
    trace = tmp_path / "calls.txt"

    def run(source: str) -> list[str]:
        run_profiled(
            "from torch.profiler import record_function\n" + source, OUTBACK_TRACE=str(trace)
        )
        calls = [
            line.split(" ", 2)[2] for line in trace.read_text().splitlines() if "ranges." in line
        ]
        return [call.partition(" = ")[0] for call in calls]

    return run


@needs_ranges
def test_a_profile_with_the_device_emits_ranges(ranges_of):
    calls = ranges_of(
        """
torch.ones(2, device="acme")
with record_function("before"):
    pass
with profile(activities=BOTH), record_function("outer"):
    with record_function("inner"):
        torch.ones(2) + 1
with profile(activities=BOTH[:1]), record_function("of the CPU alone"):
    pass
with record_function("after"):
    pass
"""
    )
    assert calls == [
        'ranges.push(name="outer")',
        'ranges.push(name="inner")',
        "ranges.pop()",
        "ranges.pop()",
    ]


@needs_ranges
def test_a_context_emits_ranges_without_a_profile(ranges_of):
    calls = ranges_of(
        """
with torch.acme.emit_ranges():
    with record_function("one"):
        torch.ones(2) + 1
    with torch.acme.emit_ranges(), record_function("two"):  # once, though two want it
        pass
with torch.acme.emit_ranges(enabled=False), record_function("none"):
    pass
with torch.acme.emit_ranges(operators=True):
    torch.ones(2).neg_()
emitted = torch.acme.emit_ranges()
with emitted:
    try:
        emitted.__enter__()
    except RuntimeError as error:
        assert "not reentrant" in str(error)
    else:
        raise AssertionError("it is not reentrant")
"""
    )
    assert calls[:4] == [
        'ranges.push(name="one")',
        "ranges.pop()",
        'ranges.push(name="two")',
        "ranges.pop()",
    ]
    assert 'ranges.push(name="aten::neg_")' in calls[4:]
    assert len([call for call in calls if "push" in call]) == calls.count("ranges.pop()")


@needs_ranges
def test_each_thread_has_its_own(ranges_of):
    calls = ranges_of(
        """
def work():
    with record_function("of a thread"):
        pass

with torch.acme.emit_ranges(), record_function("of the program"):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""
    )
    assert calls == [
        'ranges.push(name="of the program")',
        'ranges.push(name="of a thread")',
        "ranges.pop()",
        "ranges.pop()",
    ]


def test_without_the_group_the_error_names_it():
    import torch

    try:
        with torch.acme.emit_ranges():
            pass
    except NotImplementedError as error:
        assert "ranges" in str(error)
