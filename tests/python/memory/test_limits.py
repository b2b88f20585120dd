"""A process's share of the device, running out of memory, and memory by its address."""

import re

import pytest
import torch

pytestmark = [pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]

MEBIBYTE = 1 << 20


@pytest.fixture
def little_memory():
    """The device has 64 MiB for this process."""
    total = torch.acme.mem_get_info()[1]
    torch.acme.set_per_process_memory_fraction(64 * MEBIBYTE / total)


def bytes_of(size):
    return torch.empty(size, dtype=torch.uint8, device="acme")


def test_the_fraction_is_a_devices_own(two_devices):
    torch.acme.set_per_process_memory_fraction(0.1, 1)
    assert torch.acme.get_per_process_memory_fraction(1) == 0.1
    assert torch.acme.get_per_process_memory_fraction() == 1.0


def test_a_fraction_is_checked():
    for wrong in (1, "0.5", None):
        with pytest.raises(TypeError, match="must be `float`"):
            torch.acme.set_per_process_memory_fraction(wrong)
    for wrong in (-0.1, 1.1):
        with pytest.raises(ValueError, match=rf"Invalid fraction value: {wrong}"):
            torch.acme.set_per_process_memory_fraction(wrong)


def test_the_error_says_where_the_memory_is(little_memory):
    held = [bytes_of(MEBIBYTE // 2) for _ in range(4)]
    del held[1]
    with pytest.raises(torch.OutOfMemoryError) as caught:
        bytes_of(100 * MEBIBYTE)
    text = str(caught.value)
    assert "acme: out of memory. Tried to allocate 100.00 MiB on acme:0, which has" in text
    assert re.search(r"This process may use 64\.00 MiB of it, by set_per_process_memory_fra", text)
    assert "This process's tensors hold 1.50 MiB" in text
    assert "still holds 512.00 KiB that nobody uses, in parts of at most 512.00 KiB" in text
    assert torch.acme.memory_stats()["num_ooms"] == 1
    assert torch.acme.memory_stats()["num_alloc_retries"] == 1
    assert bytes_of(MEBIBYTE).numel() == MEBIBYTE, "the device works on"


def test_what_no_device_has_costs_the_cache_nothing():
    bytes_of(8 * MEBIBYTE)
    held = torch.acme.memory_reserved()
    for size, words in {
        1 << 50: "1024.00 TiB",
        1 << 60: "1048576.00 TiB",
        torch.acme.mem_get_info()[1] + MEBIBYTE: "",
    }.items():
        with pytest.raises(torch.OutOfMemoryError) as caught:
            bytes_of(size)
        text = str(caught.value)
        assert text.startswith(f"acme: out of memory. Tried to allocate {words}")
        assert (
            "its cache was not emptied, since more was asked for than the whole device has: "
            "it still holds 8.00 MiB that nobody uses" in text
        )
    assert torch.acme.memory_reserved() == held
    assert torch.acme.memory_stats()["num_alloc_retries"] == 0
    assert torch.acme.memory_stats()["num_ooms"] == 3


def test_a_batch_that_is_too_large_is_made_smaller(little_memory):
    """As accelerate's find_executable_batch_size does it, by the words of the error."""
    tried = []

    def train(batch):
        tried.append(batch)
        return bytes_of(batch * 3 * MEBIBYTE).numel()

    batch = 64
    while True:
        try:
            train(batch)
            break
        except RuntimeError as error:
            assert len(error.args) == 1 and " out of memory. Tried to allocate" in error.args[0]
            batch //= 2
    assert tried == [64, 32, 16]


def test_an_observer_that_fails_hides_nothing(run_python):
    finished = run_python(
        """
        import torch, torch_acme
        torch.acme.memory._attach_out_of_memory_observer(lambda *args: 1 / 0)
        try:
            torch.empty(1 << 46, dtype=torch.uint8, device="acme")
        except torch.OutOfMemoryError:
            print("out of memory")
        """,
        check=False,
    )
    assert finished.output == "out of memory" and "ZeroDivisionError" in finished.errors


def test_a_forked_child_is_refused(run_python):
    run_python(
        """
        import os, torch, torch_acme
        pool = torch.acme.MemPool()
        child = os.fork()
        if child == 0:
            refused = 0
            for call in (
                torch.acme.memory._record_memory_history,
                torch.acme.MemPool,
                torch.acme.use_mem_pool(pool).__enter__,
                lambda: torch.acme.caching_allocator_alloc(64),
            ):
                try:
                    call()
                except RuntimeError as error:
                    refused += "forked subprocess" in str(error)
            assert torch.acme.memory_stats() == {} and torch.acme.memory_snapshot() == []
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
        """
    )


def test_memory_by_its_address():
    address = torch.acme.caching_allocator_alloc(5000)
    assert address and torch.acme.memory_allocated() >= 5000
    torch.acme.caching_allocator_delete(address)
    assert torch.acme.memory_allocated() == 0
    with pytest.raises(RuntimeError, match="is not what caching_allocator_alloc answered"):
        torch.acme.caching_allocator_delete(address)
    torch.acme.caching_allocator_delete(torch.acme.caching_allocator_alloc(0))


def test_memory_by_its_address_is_a_streams(real_streams, two_devices):
    side = torch.acme.Stream(1)
    address = torch.acme.caching_allocator_alloc(5000, 1, side)
    [segment] = torch.acme.memory_snapshot()
    assert (segment["device"], segment["stream"]) == (1, side.stream_id)
    torch.acme.caching_allocator_delete(address)
    assert torch.acme.current_stream(1) == torch.acme.default_stream(1)
    with pytest.raises(ValueError, match="expected a stream of acme:0"):
        torch.acme.caching_allocator_alloc(5000, 0, side)
    with pytest.raises(TypeError, match="Invalid type for stream argument"):
        torch.acme.caching_allocator_alloc(5000, 0, "side")


def test_without_caching_memory_goes_back_at_once():
    with torch.acme.caching_allocator_disabled():
        x = bytes_of(5000)
        assert 5000 <= torch.acme.memory_reserved() < 6000
        del x
        assert torch.acme.memory_reserved() == 0
    y = bytes_of(5000)
    del y
    assert torch.acme.memory_reserved() > 0
    torch.acme.caching_allocator_enable(False)
    y = bytes_of(5 * MEBIBYTE)
    torch.acme.caching_allocator_enable()
    assert torch.acme.memory_stats()["segment.large_pool.current"] == 1
    del y
    assert torch.acme.memory_stats()["segment.large_pool.current"] == 0


def test_a_context_without_caching_can_be_entered_again():
    context = torch.acme.caching_allocator_disabled()
    for _ in range(2):
        with context:
            with context:
                pass
            bytes_of(5000)
            assert torch.acme.memory_reserved() == 0
        bytes_of(5000)
        assert torch.acme.memory_reserved() > 0
        torch.acme.empty_cache()
    with pytest.raises(RuntimeError, match="this context was not entered"):
        context.__exit__(None, None, None)


class OfATwin:
    """The functions that a device with a twin has from the twin's module."""

    def __init__(self, monkeypatch):
        self.calls = []
        allocator = torch.acme._outback.allocator
        monkeypatch.setattr(allocator.twin, "member", lambda path, device=None: self.record)
        monkeypatch.setattr(allocator.twin, "index", lambda device: device + 3)

    def record(self, *args, **kwargs):
        self.calls.append((args, kwargs))


def test_contexts_without_caching_nest_on_a_device_with_a_twin(monkeypatch):
    torch.acme.init()
    twin = OfATwin(monkeypatch)
    with torch.acme.caching_allocator_disabled():
        with torch.acme.caching_allocator_disabled():
            pass
    assert [args for args, _ in twin.calls] == [(False,), (False,), (False,), (True,)]


def test_a_twin_records_what_it_is_asked_to(monkeypatch):
    torch.acme.init()
    twin = OfATwin(monkeypatch)
    torch.acme.memory._record_memory_history(device=0, skip_actions=["alloc"], compile_context=True)
    ((_, asked),) = twin.calls
    assert (asked["device"], asked["skip_actions"], asked["compile_context"]) == (
        3,
        ["alloc"],
        True,
    )
    assert "global_record_annotations" not in asked


def test_a_function_can_be_decorated_to_run_without_caching():
    @torch.acme.caching_allocator_disabled()
    def reserved_after(size: int) -> int:
        """Doc."""
        bytes_of(size)
        return torch.acme.memory_reserved() if size < 5000 else reserved_after(size=size // 2)

    assert (reserved_after.__name__, reserved_after.__doc__) == ("reserved_after", "Doc.")
    for _ in range(2):
        assert reserved_after(20000) == 0
    bytes_of(5000)
    assert torch.acme.memory_reserved() > 0


def test_leaks_are_reported_at_the_end(run_python):
    program = """
        import torch, torch_acme
        torch.acme.caching_allocator_alloc(5000)
        kept = torch.empty(100, device="acme")
    """
    assert run_python(program).errors == ""
    report = run_python(program, check=False, OUTBACK_REPORT_LEAKS="1").errors
    assert re.search(r"on acme:0 (was|were) never freed", report)
    assert re.search(r"0x[0-9a-f]+: 5000 bytes, stream 0", report)
    clean = "import torch, torch_acme; torch.empty(100, device='acme')"
    assert run_python(clean, check=False, OUTBACK_REPORT_LEAKS="1").errors == ""
