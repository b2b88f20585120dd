"""What torch.profiler records of the device's work: what, on which rows, when, from where."""

import json
import threading
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
import torch
import torch_acme
from torch.profiler import ProfilerActivity, profile, record_function

from .recorded import HAS_RECORDS, everything, from_where, on_device, on_host

pytestmark = [
    pytest.mark.turns_on_groups,
    pytest.mark.turns_on_memory,
    pytest.mark.turns_on_driver,
    pytest.mark.filterwarnings("ignore:Warning. Profiler clears events"),  # torch 2.11, always
]

BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
MILLISECOND = 10**6  # in cycles
SIZE = 2 << 20  # bytes: more than what goes past the streams


@pytest.fixture
def side(real_streams):
    torch.acme.synchronize()
    return torch.acme.Stream()


@pytest.fixture
def sleeps():
    try:
        torch.acme._sleep(0)
    except NotImplementedError:
        pytest.skip("this runtime has no group callbacks")


def rows(profiled):
    by_row = defaultdict(list)
    for piece in on_device(profiled):
        by_row[piece.device, piece.row].append(piece.name)
    return dict(by_row)


def copies(stream):
    """A copy to the device, one within it, and one back, on the stream."""
    pinned = torch.ones(SIZE // 4).pin_memory()
    back = torch.empty(SIZE // 4).pin_memory()
    torch.acme.synchronize()
    with profile(activities=BOTH) as profiled:
        with torch.acme.stream(stream):
            x = pinned.to("acme", non_blocking=True)
            y = torch.empty_like(x)
            y.copy_(x)
            back.copy_(y, non_blocking=True)
        stream.synchronize()
    assert torch.equal(back, pinned)
    return profiled


def test_copies_stand_on_the_row_of_their_stream(side):
    profiled = copies(side)
    assert rows(profiled) == {(0, side.stream_id): ["Memcpy HtoD", "Memcpy DtoD", "Memcpy DtoH"]}
    for piece in on_device(profiled):
        operator = from_where(profiled, piece)
        assert operator.name == "aten::copy_"
        # The host calls first, and the device does it then.
        assert piece.start >= operator.start


def test_pieces_of_a_stream_come_one_after_another(side):
    pieces = on_device(copies(side))
    for before, after in pairwise(pieces):
        assert before.end <= after.start + 1  # us: two clocks


def test_the_times_are_within_the_profile(side):
    profiled = copies(side)
    whole = on_host(profiled)
    first, last = min(each.start for each in whole), max(each.end for each in whole)
    for piece in on_device(profiled):
        assert first <= piece.start <= piece.end <= last


def test_a_stream_that_sleeps_shows_how_long(side, sleeps):
    with profile(activities=BOTH) as profiled:
        with torch.acme.stream(side):
            torch.acme._sleep(60 * MILLISECOND)
        side.synchronize()
    (piece,) = on_device(profiled)
    assert (piece.name, piece.row) == ("host callback", side.stream_id)
    assert piece.length >= 60_000
    waits = [each for each in on_host(profiled) if each.name == "acme::streams.sync"]
    # The host waited for about that long, and ended when the stream had.
    assert max(wait.end for wait in waits) >= piece.end - 1
    assert sum(wait.length for wait in waits) <= piece.length * 2


def test_work_behind_a_sleep_begins_after_it(side, sleeps):
    pinned = torch.ones(SIZE // 4).pin_memory()
    with profile(activities=BOTH) as profiled:
        with torch.acme.stream(side):
            torch.acme._sleep(200 * MILLISECOND)  # the host is there long before it ends
            x = pinned.to("acme", non_blocking=True)
        side.synchronize()
    assert x.numel() == SIZE // 4
    slept, copied = on_device(profiled)
    assert copied.start >= slept.end - 1
    call = next(each for each in on_host(profiled) if each.name == "acme::mem_copy")
    assert copied.start - call.start >= 20_000  # asynchronous, and shown so


def runs_in_place():
    return torch.acme._outback._native.kernels_of(0) == "cpu"


def test_an_operator_that_the_cpu_computes_in_place_is_a_piece():
    if not runs_in_place():
        pytest.skip("this device's memory is out of the CPU's reach")
    x = torch.ones(64, 64, device="acme")
    torch.acme.synchronize()
    with profile(activities=BOTH) as profiled:
        x @ x
        x + x
    assert rows(profiled) == {(0, 0): ["cpu::mm", "cpu::add"]}
    for piece in on_device(profiled):
        operator = from_where(profiled, piece)
        assert operator.name == piece.name.replace("cpu::", "aten::")
        assert operator.start <= piece.start
        assert piece.end <= operator.end
    times = {each.key: each for each in profiled.key_averages()}
    assert times["aten::mm"].count == 1
    assert times["aten::mm"].device_time_total > 0
    assert times["aten::matmul"].device_time_total == times["aten::mm"].device_time_total


# The backend of the memory that faults has no kernels: there the runtime's own fill does it.
HAS_KERNELS = Path(torch_acme.__file__).parents[1].name != "python_protected"
ZERO = "acme::zero_" if HAS_KERNELS else "Memset"


def test_a_kernel_of_the_vendors_is_a_piece_or_a_fill(side):
    x = torch.ones(SIZE // 4, device="acme")
    torch.acme.synchronize()
    with profile(activities=BOTH) as profiled:
        with torch.acme.stream(side):
            x.zero_()
        side.synchronize()
    (piece,) = on_device(profiled)
    assert (piece.name, piece.row) == (ZERO, side.stream_id)
    assert from_where(profiled, piece).name == "aten::zero_"


def test_two_devices_have_rows_of_their_own(two_devices, real_streams):
    pinned = torch.ones(SIZE // 4).pin_memory()
    targets = [torch.empty(SIZE // 4, device=f"acme:{i}") for i in range(2)]
    with profile(activities=BOTH) as profiled:
        for target in targets:
            target.copy_(pinned, non_blocking=True)
            torch.acme.synchronize(target.device)
    assert rows(profiled) == {(0, 0): ["Memcpy HtoD"], (1, 0): ["Memcpy HtoD"]}


def test_two_profiles_do_not_mix(side):
    first, second = copies(side), copies(side)
    for profiled in (first, second):
        assert len(on_device(profiled)) == 3


@pytest.fixture
def copy_one():
    """A copy that goes on the current stream whatever is idle."""
    pinned = torch.ones(SIZE // 4).pin_memory()
    target = torch.empty(SIZE // 4, device="acme")
    torch.acme.synchronize()
    return lambda: target.copy_(pinned, non_blocking=True)


def test_a_schedule_records_its_active_steps_alone(side, copy_one):
    seen = []
    with profile(
        activities=BOTH,
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=2),
        on_trace_ready=lambda it: seen.append(rows(it)),
    ) as it:
        for _ in range(6):
            with torch.acme.stream(side):
                copy_one()
            side.synchronize()
            it.step()
    assert seen == [{(0, side.stream_id): ["Memcpy HtoD"]}] * 2


def test_a_profile_of_the_cpu_alone_has_no_pieces(side):
    with profile(activities=BOTH[:1]) as profiled:
        with torch.acme.stream(side):
            torch.ones(SIZE // 4, device="acme").clone()
        side.synchronize()
    assert not on_device(profiled)
    assert not [each for each in everything(profiled) if each.name.startswith("acme::")]


def test_a_profile_of_the_device_alone_has_pieces_of_no_operator(side, copy_one):
    with profile(activities=BOTH[1:]) as profiled:
        with torch.acme.stream(side):
            copy_one()
        side.synchronize()
    (piece,) = on_device(profiled)
    assert piece.name == "Memcpy HtoD" and piece.operator == 0


def test_a_range_stands_above_its_work_on_the_devices_row(side, copy_one):
    with profile(activities=BOTH) as profiled:
        with record_function("mine"), torch.acme.stream(side):
            copy_one()
        side.synchronize()
    (piece,) = on_device(profiled)
    (above,) = [each for each in everything(profiled) if each.is_on_device and each.is_range]
    assert above.name == "mine"
    assert above.row == side.stream_id
    assert above.start <= piece.start
    assert above.end >= piece.end


def test_a_range_covers_the_ranges_within_it(side, copy_one):
    with profile(activities=BOTH) as profiled:
        with torch.acme.stream(side):
            with record_function("step"):
                with record_function("first"), record_function("innermost"):
                    copy_one()
                with record_function("second"):
                    copy_one()
            with record_function("later"):
                copy_one()
        side.synchronize()
    first, second, third = on_device(profiled)
    ranges = {it.name: it for it in everything(profiled) if it.is_on_device and it.is_range}
    extents = {name: (each.start, each.end) for name, each in ranges.items()}
    assert extents == {
        "step": (first.start, second.end),
        "first": (first.start, first.end),
        "innermost": (first.start, first.end),
        "second": (second.start, second.end),
        "later": (third.start, third.end),
    }


def test_threads_have_their_own_operators(side):
    """Also those of the backward pass, which torch profiles with the thread that began it."""
    x = torch.ones(SIZE // 4, device="acme", requires_grad=True)
    torch.acme.synchronize()
    with profile(activities=BOTH) as profiled:
        y = x.clone()
        y.backward(torch.ones_like(y))
        torch.acme.synchronize()
    for piece in on_device(profiled):
        assert from_where(profiled, piece).name.startswith("aten::")


def test_a_profile_may_belong_to_another_thread(side):
    found = []

    def work():
        found.append(rows(copies(side)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [{(0, side.stream_id): ["Memcpy HtoD", "Memcpy DtoD", "Memcpy DtoH"]}]


def test_many_pieces_reuse_their_events(side):
    x = torch.ones(SIZE // 64, device="acme")
    y = torch.empty_like(x)
    pinned = torch.ones(SIZE // 64).pin_memory()
    torch.acme.synchronize()
    with profile(activities=BOTH[1:]) as profiled:
        with torch.acme.stream(side):
            for _ in range(3000):
                x.copy_(pinned, non_blocking=True)
            y.copy_(x)
        side.synchronize()
    names = [piece.name for piece in on_device(profiled)]
    assert names.count("Memcpy HtoD") == 3000


def chrome_trace(profiled, tmp_path):
    path = tmp_path / "trace.json"
    profiled.export_chrome_trace(str(path))
    return json.loads(path.read_text())["traceEvents"]


def test_the_trace_has_rows_by_stream_and_arrows_to_them(side, tmp_path):
    trace = chrome_trace(copies(side), tmp_path)
    row = {"pid": 0, "tid": side.stream_id}
    assert {
        e["args"]["name"]
        for e in trace
        if e["name"] == "thread_name" and e["pid"] == 0 and e["tid"] == side.stream_id
    } == {f"stream {side.stream_id}"}
    assert {e["args"]["labels"] for e in trace if e["name"] == "process_labels"} >= {"acme:0"}
    pieces = [e for e in trace if e.get("cat") == "gpu_memcpy"]
    assert len(pieces) == 3 and all(row.items() <= e.items() for e in pieces)
    assert all(e["args"]["bytes"] == SIZE for e in pieces)
    calls = [e for e in trace if e["name"] == "acme::mem_copy"]
    starts = {e["id"]: e for e in trace if e.get("cat") == "ac2g" and e["ph"] == "s"}
    ends = {e["id"]: e for e in trace if e.get("cat") == "ac2g" and e["ph"] == "f"}
    assert len(starts) == 3 and starts.keys() == ends.keys()
    assert {e["ts"] for e in starts.values()} == {e["ts"] for e in calls}
    assert {e["ts"] for e in ends.values()} == {e["ts"] for e in pieces}
    operators = {e["args"]["External id"]: e for e in trace if e.get("cat") == "cpu_op"}
    for piece in pieces:
        assert operators[piece["args"]["External id"]]["name"] == "aten::copy_"


def test_a_replay_is_one_piece_or_a_range_over_its_pieces(side):
    graph = torch.acme.CUDAGraph()
    x, y = torch.ones(16, device="acme"), torch.zeros(16, device="acme")
    try:
        with torch.acme.graph(graph):
            x.zero_()
            y.copy_(x)
    except (NotImplementedError, RuntimeError) as error:
        pytest.skip(f"this runtime captures nothing: {error}")
    torch.acme.synchronize()
    with profile(activities=BOTH) as profiled:
        with record_function("step"), torch.acme.stream(side):
            graph.replay()
        side.synchronize()
    above = [each for each in everything(profiled) if each.is_on_device and each.is_range]
    if not HAS_RECORDS:
        assert rows(profiled) == {(0, side.stream_id): ["graph"]}
        assert [each.name for each in above] == ["step"]
        return
    pieces = on_device(profiled)
    assert {(piece.device, piece.row) for piece in pieces} == {(0, side.stream_id)}
    assert len(pieces) >= 2, pieces  # a fill, and what the CPU's copy is made of
    assert sorted(each.name for each in above) == ["graph", "step"]
    for each in above:
        assert each.row == side.stream_id
        assert each.start <= pieces[0].start and pieces[-1].end <= each.end
    # Nothing counts twice.
    (step,) = [e for e in profiled.events() if e.name == "step" and e.kernels]
    assert [kernel.name for kernel in step.kernels] == [piece.name for piece in pieces]


def test_what_a_capture_records_is_no_piece(side):
    graph = torch.acme.CUDAGraph()
    x = torch.ones(16, device="acme")
    torch.acme.synchronize()
    with profile(activities=BOTH) as profiled:
        try:
            with torch.acme.graph(graph):
                x.zero_()
        except (NotImplementedError, RuntimeError) as error:
            pytest.skip(f"this runtime captures nothing: {error}")
    assert not [piece for piece in on_device(profiled) if piece.name == "acme::zero_"]
    graph.replay()
    assert x.tolist() == [0.0] * 16
