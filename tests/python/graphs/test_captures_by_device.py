"""A capture concerns its own device: on the others memory serves and goes back as ever."""

import gc
import threading

import pytest
import torch

acme = torch.acme
pytestmark = pytest.mark.any_runtime

MIB = 1 << 20


def bytes_of(size, device):
    return torch.empty(size, dtype=torch.uint8, device=device)


@pytest.fixture
def capture_on_0(captures, two_devices):
    """A stream of acme:0 is captured; acme:1 is the current device, and its cache is empty."""
    gc.collect()
    acme.empty_cache()
    graph, stream = acme.CUDAGraph(), acme.Stream(0)
    with acme.stream(stream):
        graph.capture_begin()
    acme.set_device(1)
    yield
    acme.set_per_process_memory_fraction(1.0, 1)
    with acme.stream(stream):
        graph.capture_end()


@pytest.fixture
def little_memory(capture_on_0):
    """64 MiB more than there is in use of acme:1."""
    total = acme.mem_get_info(1)[1]
    acme.set_per_process_memory_fraction((acme.memory_reserved(1) + 64 * MIB) / total, 1)


def test_what_the_captured_device_has_cached_goes_another_time(captures, two_devices):
    acme.empty_cache()
    before = acme.memory_reserved(0)
    bytes_of(8 * MIB, "acme:0")
    graph, stream = acme.CUDAGraph(), acme.Stream(0)
    with acme.stream(stream):
        graph.capture_begin()
        with pytest.raises(RuntimeError, match="cannot be given back while a graph is captured"):
            acme.empty_cache()
        with acme.device(1):
            acme.empty_cache()
        assert acme.memory_reserved(0) == before + 8 * MIB
        graph.capture_end()
    acme.empty_cache()
    assert acme.memory_reserved(0) == before


def test_memory_that_is_cached_serves_before_there_is_an_error(little_memory):
    before = acme.memory_stats(1)
    bytes_of(40 * MIB, "acme:1")
    kept = bytes_of(50 * MIB, "acme:1")
    after = acme.memory_stats(1)
    assert after["num_alloc_retries"] == before["num_alloc_retries"] + 1
    assert after["num_ooms"] == before["num_ooms"]
    del kept


def test_an_error_says_that_the_cache_was_emptied(little_memory):
    bytes_of(40 * MIB, "acme:1")
    with pytest.raises(torch.OutOfMemoryError, match="its cache was emptied before giving up"):
        bytes_of(100 * MIB, "acme:1")


def test_memory_that_other_streams_used_serves_again(capture_on_0):
    before = acme.memory_reserved(1)
    side = acme.Stream(1)
    for _ in range(40):
        x = bytes_of(4 * MIB, "acme:1")
        with acme.stream(side):
            x.zero_()
        x.record_stream(side)
        del x
        side.synchronize()
    assert acme.memory_reserved(1) == before + 4 * MIB


def test_a_pool_goes_without_a_word(capture_on_0, capfd):
    before = acme.memory_reserved(1)
    pool = acme.MemPool()
    with acme.use_mem_pool(pool):
        bytes_of(4 * MIB, "acme:1")
    del pool
    gc.collect()
    assert acme.memory_reserved(1) == before
    assert capfd.readouterr().err == ""


def test_a_pool_of_the_captured_device_goes_without_a_word_and_its_memory_later(captures, capfd):
    acme.empty_cache()
    before = acme.memory_reserved()
    pool = acme.MemPool()
    with acme.use_mem_pool(pool):
        bytes_of(4 * MIB, "acme")
    graph = acme.CUDAGraph()
    with acme.stream(acme.Stream()):
        graph.capture_begin()
        del pool
        gc.collect()
        graph.capture_end()
    assert capfd.readouterr().err == ""
    acme.empty_cache()
    assert acme.memory_reserved() == before


def test_what_a_capture_deferred_is_free_when_those_of_its_device_have_ended(capture_on_0):
    side, graph = acme.Stream(1), acme.CUDAGraph()
    with acme.stream(acme.Stream(1)):
        graph.capture_begin()
        with acme.stream(acme.default_stream(1)):
            x = bytes_of(4 * MIB, "acme:1")
            x.record_stream(side)
            address = x.data_ptr()
            del x
            assert bytes_of(4 * MIB, "acme:1").data_ptr() != address
        graph.capture_end()
    acme.empty_cache()
    assert acme.memory_stats(1)["active_bytes.all.current"] == acme.memory_allocated(1)


def test_two_threads_capture_on_two_devices_at_once(records, two_devices):
    problems = []
    barrier = threading.Barrier(2, timeout=60)

    def work(device):
        try:
            acme.set_device(device)
            x = torch.full((1000,), 2.0, device="acme")
            side, graph = acme.Stream(), acme.CUDAGraph()
            if device == 1:
                barrier.wait()  # the other one captures
            with acme.graph(graph):
                if device == 0:
                    barrier.wait()
                barrier.wait()
                y = torch.rand(1000, device="acme") * 0 + x * 3
                unused = bytes_of(4 * MIB, "acme")
                side.wait_stream(acme.current_stream())
                with acme.stream(side):
                    z = y.exp()
                unused.record_stream(side)
                del unused
                acme.current_stream().wait_stream(side)
                if device == 0:
                    barrier.wait()
            if device == 1:
                barrier.wait()  # and captures still
            for value in (4.0, 5.0):
                x.fill_(value)
                graph.replay()
                assert y.eq(3 * value).all()
                assert torch.equal(z, y.exp())
        except BaseException as e:
            problems.append(e)
            barrier.abort()

    threads = [threading.Thread(target=work, args=(device,)) for device in (0, 1)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not problems


def test_a_capture_takes_in_streams_of_other_devices(records, two_devices):
    """What is computed there is a part of each replay, and its memory stays where it is."""
    x, far = torch.ones(1000, device="acme:0"), torch.ones(1000, device="acme:1")
    streams = [acme.Stream(0), acme.Stream(1), acme.Stream(1)]
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        here = acme.current_stream()
        for stream in streams:
            stream.wait_stream(here)
        with acme.stream(streams[0]):
            y = x + 1
        with acme.stream(streams[1]):
            z = (far * 2).sqrt()
        with acme.stream(streams[2]):
            drawn = torch.rand(1000, device="acme:1")
        for stream in streams:
            here.wait_stream(stream)
    assert far.eq(1).all()
    acme.set_device(1)
    acme.manual_seed(3)
    expected = torch.rand(1000, device="acme:1")
    acme.manual_seed(3)
    acme.set_device(0)
    acme.empty_cache()
    others = [torch.full((1000,), 7.0, device="acme:1") for _ in range(100)]
    x.fill_(4)
    far.fill_(8)
    acme.synchronize(1)
    graph.replay()
    acme.synchronize()
    assert y.eq(5).all()
    assert z.eq(4).all()
    assert torch.equal(drawn, expected)
    pool = tuple(graph.pool())
    of_pool = {s["device"] for s in acme.memory_snapshot() if tuple(s["segment_pool_id"]) == pool}
    assert of_pool == {0, 1}
    del others, y, z, drawn
    graph.reset()
    acme.synchronize(1)
    acme.empty_cache()
    assert not [s for s in acme.memory_snapshot() if tuple(s["segment_pool_id"]) == pool]


def recorder_is_on():
    return torch._C._dispatch_tls_is_dispatch_key_included("CustomRNGKeyId")


def test_a_thread_whose_graph_another_one_destroys_records_no_longer(records):
    graphs, seen, problems = [], [], []
    begun, destroyed = threading.Event(), threading.Event()
    x = torch.ones(4, device="acme")

    def work():
        try:
            with acme.stream(acme.Stream()):
                graphs.append(acme.CUDAGraph())
                graphs[0].capture_begin()
                seen.append(recorder_is_on())
                begun.set()
                destroyed.wait(60)
                seen.append((x + 1).tolist())
                seen.append(recorder_is_on())
                graph = acme.CUDAGraph()
                graph.capture_begin()
                y = x + 2
                seen.append(recorder_is_on())
                graph.capture_end()
                seen.append(recorder_is_on())
                graph.replay()
                seen.append(y.tolist())
        except BaseException as e:
            problems.append(e)
            begun.set()

    acme.synchronize()
    thread = threading.Thread(target=work)
    thread.start()
    begun.wait(60)
    graphs.clear()
    destroyed.set()
    thread.join()
    assert not problems
    assert seen == [True, [2] * 4, False, True, False, [3] * 4]
    assert not recorder_is_on()
