"""Answers of a runtime that cannot be: no crash and no half truth, with validation or without.

The runtimes are those of tests/runtime/faulty_answers.cpp.
"""

import pytest

pytestmark = pytest.mark.any_runtime

PRELUDE = """
import torch
import outback_probe
outback_probe.register("acme", faulty=True)

def failure(action):
    try:
        action()
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return "no failure"
"""


@pytest.fixture
def on_a_faulty_runtime(run_python, probe_path):
    """Runs a program on that runtime; answers what it printed, and what on stderr."""

    def run(fault: str, source: str, **environment: str) -> tuple[str, str]:
        environment |= {
            "PYTHONPATH": probe_path,
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
            "OUTBACK_TEST_FAULT": fault,
        }
        done = run_python(PRELUDE + source, check=False, **environment)
        assert done.code == 0, done
        return done.output, done.errors

    return run


BOTH = pytest.mark.parametrize("validate", ["0", "1"], ids=["plain", "validated"])
WRONG = "the runtime is wrong: it "


@BOTH
@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("counts_below_zero", f"device_count(): {WRONG}counted -3 devices"),
        ("counts_too_many", "the runtime has 200 devices, and PyTorch can number 127"),
        ("says_nothing_of_count", "wrote nothing to *count"),
    ],
)
def test_a_number_of_devices_that_cannot_be_is_no_device_and_an_error(
    on_a_faulty_runtime, fault, told, validate
):
    output, errors = on_a_faulty_runtime(
        fault,
        """
print(torch.acme.device_count(), torch.acme.is_available())
print(failure(lambda: torch.ones(1, device="acme")))
print(failure(torch.acme.init))
""",
        OUTBACK_VALIDATE=validate,
    )
    counted, *failures = output.splitlines()
    assert counted == "0 False"
    for each in failures:
        assert "acme: device_count(): " in each and told.split(": ")[-1] in each, output
    if validate == "0":
        assert told in output and told in errors, errors


def test_why_there_is_no_device_is_said_of_each_index(on_a_faulty_runtime):
    output, _ = on_a_faulty_runtime(
        "counts_never",
        """
for action in (
    torch.acme.init,
    torch.Event("acme").record,
    lambda: torch.acme.get_device_name(0),
    lambda: torch.acme.current_stream(0),
    lambda: torch.acme.set_device(0),
):
    try:
        action()
    except torch.AcceleratorError as error:
        print(error.error_code, str(error).splitlines()[0])
""",
    )
    told = "6 acme: device_count(): internal error: the driver is asleep"
    assert output.splitlines() == [told] * 5


@BOTH
def test_not_ready_is_the_answer_of_queries_alone(on_a_faulty_runtime, validate):
    output, _ = on_a_faulty_runtime(
        "is_never_ready",
        'print(failure(lambda: torch.ones(1, device="acme")))',
        OUTBACK_VALIDATE=validate,
    )
    assert "acme: mem_alloc(device 0, 2097152 bytes): " in output
    assert f"{WRONG}answered not_ready, which this slot may not" in output


def test_too_many_devices_are_a_matter_of_choosing_some(on_a_faulty_runtime):
    output, _ = on_a_faulty_runtime(
        "counts_too_many",
        """
print(torch.acme.device_count(), torch.ones(2, device="acme:1").sum().item())
""",
        ACME_VISIBLE_DEVICES="1,0",
    )
    assert output == "2 2.0"


def test_the_variable_for_choosing_is_named(on_a_faulty_runtime):
    output, _ = on_a_faulty_runtime("counts_too_many", "print(failure(torch.acme.init))")
    assert "name those to use in ACME_VISIBLE_DEVICES" in output


def test_no_device_is_an_answer(on_a_faulty_runtime):
    output, errors = on_a_faulty_runtime(
        "counts_none",
        """
print(torch.acme.device_count(), torch.acme.is_available())
print(failure(torch.acme.init))
""",
    )
    assert output == "0 False\nno acme device is available" and not errors


@BOTH
def test_a_number_of_devices_that_changes_is_told(on_a_faulty_runtime, validate):
    output, _ = on_a_faulty_runtime(
        "counts_differently",
        """
torch.acme.device_count()
print(failure(lambda: torch.ones(1, device="acme")))
""",
        OUTBACK_VALIDATE=validate,
    )
    assert f"{WRONG}counted 1 devices, and 2 before" in output


@BOTH
@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("without_memory", "made memory_size 0: expected the bytes that the device has"),
        ("with_more_than_there_is", "made max_alloc_size 536870913: expected 1 to memory_size"),
        ("oddly_aligned", "made alignment 96: expected a power of two, at least 64"),
        ("barely_aligned", "made alignment 32: expected a power of two, at least 64"),
        ("with_kernels_out_of_reach", "made kernels_of 1, the CPU, and flags 0x"),
        ("with_an_endless_name", "left name without an end: expected a null character within 64"),
        ("with_a_latin_name", 'made name "Ger\\xe4t": expected UTF-8'),
        ("with_an_endless_pci_id", "left pci_id without an end"),
    ],
)
def test_properties_that_cannot_be_are_of_their_device(on_a_faulty_runtime, fault, told, validate):
    output, _ = on_a_faulty_runtime(
        fault,
        """
print(torch.ones(3, device="acme:0").sum().item())
print(failure(lambda: torch.ones(1, device="acme:1")))
print(failure(lambda: torch.acme.get_device_properties(1)))
print(torch.ones(3, device="acme:0").sum().item())
""",
        OUTBACK_VALIDATE=validate,
    )
    first, *failures, last = output.splitlines()
    assert first == last == "3.0"
    for each in failures:
        assert each.startswith("acme: device_info(device 1): ") and told in each, output


@BOTH
def test_properties_that_were_not_written_are_told(on_a_faulty_runtime, validate):
    output, _ = on_a_faulty_runtime(
        "says_nothing_of_info",
        'print(failure(lambda: torch.ones(1, device="acme")))',
        OUTBACK_VALIDATE=validate,
    )
    assert f"device_info(device 0): {WRONG}answered ok and wrote nothing to *info" in output or (
        validate == "1" and "answered ok and wrote nothing to *info" in output
    )


@BOTH
@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("says_nothing_of_memory", ("answered ok and made *ptr null", "wrote nothing to *ptr")),
        ("allocates_misaligned", ("a multiple of 64, the alignment", "not aligned to 64 bytes")),
    ],
)
def test_memory_that_cannot_be_is_an_error(on_a_faulty_runtime, fault, told, validate):
    output, _ = on_a_faulty_runtime(
        fault,
        """
for _ in range(2):
    print(failure(lambda: torch.ones(1, device="acme")))
print(torch.acme.memory_reserved())
""",
        OUTBACK_VALIDATE=validate,
    )
    *failures, reserved = output.splitlines()
    assert reserved == "0"
    for each in failures:
        assert each.startswith("acme: mem_alloc(device 0, 2097152 bytes): "), output
        assert told[int(validate)] in each, output


@BOTH
def test_memory_that_is_somebodys_is_not_handed_out_again(on_a_faulty_runtime, validate):
    output, _ = on_a_faulty_runtime(
        "allocates_twice",
        """
kept = torch.ones(2, device="acme")
print(failure(lambda: torch.zeros(2**22, device="acme")))
print(kept.tolist())
""",
        OUTBACK_VALIDATE=validate,
    )
    refused, values = output.splitlines()
    assert "which is somebody's already" in refused or "overlaps" in refused, output
    assert values == "[1.0, 1.0]"


@BOTH
def test_memory_that_nobody_has_is_no_crash(on_a_faulty_runtime, validate):
    output, _ = on_a_faulty_runtime(
        "allocates_nowhere",
        'print(failure(lambda: torch.ones(1, device="acme")))',
        OUTBACK_VALIDATE=validate,
    )
    assert output == (
        f"acme: mem_alloc(device 0, 2097152 bytes): {WRONG}answered 0x8000000000000000: expected "
        "memory that the CPU reaches, and not all of 2097152 bytes from there on are this "
        "process's"
    )


def test_of_many_priorities_a_stream_has_the_one_that_it_says(on_a_faulty_runtime):
    output, _ = on_a_faulty_runtime(
        "has_many_priorities",
        """
Stream = torch.acme.Stream
least, greatest = Stream.priority_range()
asked = [-100, *range(greatest, least + 1), 100]
given = [Stream(priority=it) for it in asked]
assert [it.priority for it in given] == [max(greatest, min(least, it)) for it in asked]
assert len({it.stream_id for it in given}) == len(given)
print(least, greatest, Stream().priority)
""",
    )
    assert output == "0 -7 0"


def test_priorities_that_change_do_not_change_what_a_stream_has(on_a_faulty_runtime):
    output, _ = on_a_faulty_runtime(
        "changes_its_priorities",
        """
Stream = torch.acme.Stream
print(Stream.priority_range(), [Stream(priority=-3).priority for _ in range(3)])
""",
    )
    assert output == "(0, 0) [0, 0, 0]"


def test_what_was_freed_may_come_again(on_a_faulty_runtime):
    output, _ = on_a_faulty_runtime(
        "none",
        """
for _ in range(3):
    torch.ones(2**22, device="acme")
    torch.ones(2**20).pin_memory()
    torch.acme.empty_cache()
print(torch.acme.memory_reserved())
""",
    )
    assert output == "0"


@pytest.mark.parametrize(
    ("fault", "action", "told"),
    [
        ("pins_misaligned", "torch.ones(2).pin_memory()", "host_memory.alloc(8 bytes)"),
        ("pins_too_little", "torch.ones(999).pin_memory()", "and not all of 4096 bytes from there"),
        ("orders_priorities_backwards", "torch.acme.Stream()", "streams.priorities(device 0)"),
        ("makes_one_stream", "[torch.acme.Stream() for _ in range(2)]", "is there already"),
        ("points_to_no_device", "torch.ones(2).is_pinned('acme')", "made device 7: expected -1"),
        (
            "pins_more_than_all",
            "torch.ones(2).is_pinned('acme')",
            "made pinned 77: expected 0 or 1",
        ),
        (
            "holds_other_memory",
            "torch.ones(2).is_pinned('acme')",
            "an allocation that holds it, or",
        ),
        ("says_nothing_of_pointers", "torch.ones(2).is_pinned('acme')", "wrote nothing to *info"),
        ("says_nothing_of_anything_else", "torch.ones(2).pin_memory()", "made *ptr null"),
        ("says_nothing_of_anything_else", "torch.acme.Stream()", "wrote nothing to *least"),
        ("says_nothing_of_anything_else", "torch.acme.mem_get_info()", "wrote nothing to *free"),
        ("says_nothing_of_anything_else", "torch.acme.utilization()", "wrote nothing to *value"),
        (
            "says_nothing_of_anything_else",
            "torch.acme.can_device_access_peer(0, 1)",
            "wrote nothing to *can",
        ),
        (
            "says_nothing_of_anything_else",
            "torch.acme.Event().record()",
            "made *event null",
        ),
    ],
)
def test_any_other_answer_that_cannot_be_is_an_error(on_a_faulty_runtime, fault, action, told):
    output, _ = on_a_faulty_runtime(fault, f"torch.acme.init()\nprint(failure(lambda: {action}))")
    assert output.startswith("acme: ") and WRONG in output and told in output, output


def test_texts_and_statuses_of_nobody_are_readable(on_a_faulty_runtime):
    output, _ = on_a_faulty_runtime(
        "fails_in_latin", 'print(failure(lambda: torch.ones(1, device="acme")))'
    )
    assert output == (
        "acme: mem_alloc(device 0, 2097152 bytes): unknown status 77: Ger\ufffdt antwortet nicht"
    )


def test_no_text_is_no_crash(on_a_faulty_runtime):
    output, _ = on_a_faulty_runtime(
        "says_nothing_of_error",
        """
torch.acme.init()
print(failure(lambda: torch.ones(2**40, device="acme")))
""",
    )
    assert "out of memory" in output.lower()
