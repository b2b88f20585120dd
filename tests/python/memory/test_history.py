"""The history of the device's memory, in the form that PyTorch's visualizer reads."""

import json
import pickle
import time

import pytest
import torch
from torch.cuda import _memory_viz

pytestmark = pytest.mark.any_runtime

MEBIBYTE = 1 << 20
memory = torch.acme.memory


def bytes_of(size):
    return torch.empty(size, dtype=torch.uint8, device="acme")


def trace(device=0):
    return memory._snapshot()["device_traces"][device]


def actions(device=0):
    return [entry["action"] for entry in trace(device)]


def record(**options):
    memory._record_memory_history(**{"stacks": "python", "clear_history": True} | options)


def test_allocations_and_frees_are_recorded_in_order():
    record()
    x = bytes_of(5000)
    address = x.data_ptr()
    del x
    torch.acme.empty_cache()
    entries = trace()
    assert [entry["action"] for entry in entries] == [
        "segment_alloc",
        "alloc",
        "free_requested",
        "free_completed",
        "segment_free",
        "snapshot",
    ]
    assert [entry["size"] for entry in entries] == [2 * MEBIBYTE, *[5000] * 3, 2 * MEBIBYTE, 0]
    assert {entry["addr"] for entry in entries[:-1]} == {address}
    times = [entry["time_us"] for entry in entries]
    assert times == sorted(times) and abs(times[0] - time.time() * 1e6) < 60e6
    assert {(entry["stream"], entry["pool_id"]) for entry in entries} == {(0, (0, 0))}


def test_the_frames_lead_to_the_caller():
    record()
    x = bytes_of(5000)
    alloc = next(entry for entry in trace() if entry["action"] == "alloc")
    assert any(
        frame["filename"] == __file__ and frame["name"] == "bytes_of" and frame["line"] > 0
        for frame in alloc["frames"]
    )
    [segment] = torch.acme.memory_snapshot()
    assert segment["blocks"][0]["frames"] == alloc["frames"]
    assert memory._allocation_traceback(x.data_ptr()) == alloc["frames"]
    assert memory._allocation_traceback(x.data_ptr() + 1) is None


@pytest.mark.parametrize(
    ("context", "block", "alloc", "free"),
    [
        (None, False, False, False),
        ("state", True, False, False),
        ("alloc", True, True, False),
        ("all", True, True, True),
    ],
)
def test_contexts_are_recorded_as_far_as_asked(context, block, alloc, free):
    record(context=context)
    kept = bytes_of(5000)
    bytes_of(6000)
    found = {entry["action"]: bool(entry["frames"]) for entry in trace()}
    assert (found["alloc"], found["free_requested"]) == (alloc, free)
    [segment] = torch.acme.memory_snapshot()
    assert bool(segment["blocks"][0]["frames"]) is block
    del kept


def test_state_keeps_no_history():
    record(enabled="state")
    x = bytes_of(5000)
    assert len(trace()) == 1
    assert torch.acme.memory_snapshot()[0]["blocks"][0]["frames"]
    del x


def test_the_last_entries_stay():
    record(max_entries=3)
    for _ in range(5):
        bytes_of(5000)
    assert actions() == ["free_requested", "free_completed", "snapshot"]


def test_nothing_is_recorded_unasked():
    record()
    memory._record_memory_history(None)
    bytes_of(5000)
    assert actions() == []


@pytest.mark.parametrize("nothing", [None, False])
def test_what_was_recorded_goes_when_recording_stops(nothing):
    record()
    bytes_of(5000)
    memory._record_memory_history(nothing)
    assert trace() == []


def test_actions_may_be_left_out():
    record(skip_actions=["free_requested", "segment_alloc"])
    bytes_of(5000)
    assert actions() == ["alloc", "free_completed", "snapshot"]


def test_cplusplus_frames_come_with_all_stacks():
    record(stacks="all", max_entries=1, context="alloc")
    x = bytes_of(5000)
    memory._record_memory_history(None)
    names = [frame["name"] for frame in memory._allocation_traceback(x.data_ptr())]
    assert "bytes_of" in names
    assert any("::" in name for name in names)


def test_a_text_may_be_attached():
    record()
    memory._set_memory_metadata("step 3")
    assert memory._get_memory_metadata() == "step 3"
    bytes_of(5000)
    assert {entry["user_metadata"] for entry in trace()} == {"step 3"}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"enabled": "some"}, RuntimeError, "expected state to be 'state', 'all', or None"),
        ({"context": "some"}, RuntimeError, "expected context to be 'state', 'alloc', 'all'"),
        ({"stacks": "some"}, RuntimeError, "expected stacks to be 'python', or 'all'"),
        ({"skip_actions": ["some"]}, RuntimeError, "Unknown TraceEntry action: some"),
        ({"compile_context": True}, NotImplementedError, "compile_context"),
    ],
)
def test_options_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        memory._record_memory_history(**options)


def test_an_error_is_an_entry():
    record()
    size = 2 * torch.acme.mem_get_info()[1]
    with pytest.raises(torch.OutOfMemoryError):
        bytes_of(size)
    oom = next(entry for entry in trace() if entry["action"] == "oom")
    assert oom["size"] == size and "addr" not in oom
    assert 0 < oom["device_free"] <= size


def test_memory_that_a_stream_uses_is_pending(real_streams):
    record()
    side = torch.acme.Stream()
    x = bytes_of(5000)
    x.record_stream(side)
    del x
    assert actions()[-2:] == ["free_requested", "snapshot"]
    states = [block["state"] for block in torch.acme.memory_snapshot()[0]["blocks"]]
    assert states == ["active_pending_free", "inactive"]
    side.synchronize()
    bytes_of(64)
    assert "free_completed" in actions()


def test_devices_have_histories_of_their_own(two_devices):
    record()
    x = torch.empty(5000, device="acme:1")
    assert actions(1) == ["segment_alloc", "alloc", "snapshot"]
    assert [segment["device"] for segment in torch.acme.memory_snapshot()] == [1]
    del x


def run_a_program():
    kept = [bytes_of(size) for size in (5000, 300_000, 3 * MEBIBYTE, 20 * MEBIBYTE)]
    for size in (100, 7000, 2 * MEBIBYTE):
        bytes_of(size)
    del kept[1]
    return kept


def test_a_snapshot_agrees_with_the_statistics():
    record()
    kept = run_a_program()
    snapshot = memory._snapshot()
    stats = torch.acme.memory_stats()
    segments = snapshot["segments"]
    blocks = [block for segment in segments for block in segment["blocks"]]

    def total(key, of=segments):
        return sum(it[key] for it in of)

    active = [block for block in blocks if block["state"] == "active_allocated"]
    assert total("total_size") == total("size", blocks) == torch.acme.memory_reserved()
    assert total("allocated_size") == total("size", active) == torch.acme.memory_allocated()
    assert total("active_size") == stats["active_bytes.all.current"]
    assert total("requested_size") == total("requested_size", active)
    assert total("requested_size") == stats["requested_bytes.all.current"]
    assert len(segments) == stats["segment.all.current"]
    assert len(active) == stats["allocation.all.current"] == len(kept)
    for segment in segments:
        addresses = [block["address"] for block in segment["blocks"]]
        ends = [block["address"] + block["size"] for block in segment["blocks"]]
        assert addresses == [segment["address"], *ends[:-1]]
        largest = max(b["size"] for b in segment["blocks"] if b["state"] == "active_allocated")
        assert (segment["segment_type"] == "large") is (largest > MEBIBYTE)

    # The history, summed up, leads to the same numbers.
    change = {"alloc": 1, "free_completed": -1, "segment_alloc": 1, "segment_free": -1}
    held = {"alloc": 0, "segment_alloc": 0}
    for entry in snapshot["device_traces"][0]:
        if entry["action"] in change:
            kind = "segment_alloc" if "segment" in entry["action"] else "alloc"
            held[kind] += change[entry["action"]] * entry["size"]
    assert held == {
        "alloc": stats["requested_bytes.all.current"],
        "segment_alloc": torch.acme.memory_reserved(),
    }


def test_the_visualizer_renders_a_snapshot():
    record()
    kept = run_a_program()
    snapshot = memory._snapshot()
    summary = _memory_viz.segsum(snapshot)
    assert f"segments: {len(snapshot['segments'])}" in summary
    assert f"total_reserved: {_memory_viz.Bytes(torch.acme.memory_reserved())}" in summary
    assert f"total_allocated: {_memory_viz.Bytes(torch.acme.memory_allocated())}" in summary
    assert f"{len(snapshot['device_traces'][0])} entries" in _memory_viz.trace(snapshot)
    for plot in (_memory_viz.trace_plot, _memory_viz.segment_plot):
        assert "<html" in plot(snapshot).lower() or "<!doctype" in plot(snapshot).lower()

    def text(lines, _script=None):  # instead of a script that torch would download
        return lines

    for draw in (_memory_viz.memory, _memory_viz.segments):
        lines = draw(snapshot, format_flamegraph=text).splitlines()
        sizes = [int(line.rsplit(" ", 1)[1]) for line in lines]
        assert sum(sizes) == torch.acme.memory_reserved()
    del kept


def test_a_snapshot_is_saved_and_read_by_the_visualizer(tmp_path, run_python):
    record()
    kept = run_a_program()
    path = tmp_path / "snapshot.pickle"
    memory._dump_snapshot(path)
    with open(path, "rb") as file:
        saved = pickle.load(file)
    assert saved["segments"] == memory._snapshot()["segments"]
    assert set(saved) >= {"segments", "device_traces", "allocator_settings"}
    drawn = tmp_path / "plot.html"
    arguments = ["trace_plot", str(path), "-o", str(drawn)]
    run_python(
        f"""
        import runpy, sys, warnings
        warnings.simplefilter("ignore")
        sys.argv = ["_memory_viz.py", *{arguments!r}]
        runpy.run_module("torch.cuda._memory_viz", run_name="__main__")
        """
    )
    assert drawn.stat().st_size > 1000
    del kept


def test_frees_of_other_threads_and_at_exit_are_safe(run_python):
    run_python(
        """
        import threading, torch, torch_acme
        torch.acme.init()
        torch.acme.memory._record_memory_history(stacks="python")
        made = [torch.empty(1000, device="acme") for _ in range(100)]
        threads = [threading.Thread(target=made.pop) for _ in range(50)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        x = torch.ones(10, 10, device="acme", requires_grad=True)
        (x @ x).sum().backward()
        kept_at_exit = torch.empty(1000, device="acme")
        """
    )


def test_the_profiler_sees_the_memory(tmp_path):
    from torch.profiler import ProfilerActivity, profile

    kept = bytes_of(MEBIBYTE)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
        x = bytes_of(5 * MEBIBYTE)
        del x
    [empty] = [event for event in prof.key_averages() if event.key == "aten::empty"]
    assert empty.self_device_memory_usage == 5 * MEBIBYTE
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    reports = [event["args"] for event in events if event["name"] == "[memory]"]
    seen = [(it["Bytes"], it["Total Allocated"], it["Device Id"]) for it in reports]
    assert seen == [(5 * MEBIBYTE, 6 * MEBIBYTE, 0), (-5 * MEBIBYTE, MEBIBYTE, 0)]
    assert {it["Total Reserved"] for it in reports} == {torch.acme.memory_reserved()}
    del kept


def test_bool_is_accepted_as_before():
    memory._record_memory_history(True)
    x = bytes_of(5000)
    assert torch.acme.memory_snapshot()[0]["blocks"][0]["frames"]
    memory._record_memory_history(False)
    del x
