"""Streams, events and graphs of torch.cuda on the stand-in."""


def test_work_is_recorded_with_its_stream(on_cuda):
    done = on_cuda("""
        import torch

        x = torch.empty(8, device="cuda")
        x.fill_(1)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            x.add_(1)
        x.mul_(2)
        with torch.cuda.device(1):
            torch.empty(8, device="cuda").fill_(1)
    """)
    fill, add, multiply, other = done.work
    assert [fill.stream, multiply.stream, other.stream] == [0, 0, 0]
    assert add.stream > 0
    assert [fill.device, add.device, multiply.device, other.device] == [0, 0, 0, 1]
    # They work on the same memory.
    assert set(add.addresses.values()) == set(multiply.addresses.values()) == {"0:1+0"}


def test_priorities_and_queries(on_cuda):
    on_cuda("""
        import torch

        assert torch.cuda.Stream.priority_range() == (0, -3)
        high = torch.cuda.Stream(priority=-3)
        assert high.priority == -3
        with torch.cuda.stream(high):
            x = torch.zeros(8, device="cuda")
        high.synchronize()
        assert high.query()
    """)


def test_events_order_streams_and_time_them(on_cuda):
    on_cuda("""
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        x = torch.empty(1 << 20, pin_memory=True)
        start.record()
        y = x.to("cuda", non_blocking=True)
        end.record()
        side = torch.cuda.Stream()
        side.wait_event(end)
        with torch.cuda.stream(side):
            z = y.to("cpu", non_blocking=True)
        end.synchronize()
        side.synchronize()
        assert start.elapsed_time(end) > 0
        assert torch.equal(z, x)
    """)


def test_a_graph_replays_what_was_captured(on_cuda):
    done = on_cuda("""
        import torch

        x = torch.ones(8, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = (x + 1).mul_(3)
        graph.replay()
        graph.replay()
        torch.cuda.synchronize()
    """)
    captured = [each.name for each in done.work if each.when == "captured"]
    replayed = [each.name for each in done.work if each.when == "replayed"]
    assert len([name for name in captured if "add" in name.lower()]) == 1
    assert replayed == 2 * captured


def test_a_graph_replays_copies_with_data(on_cuda):
    on_cuda("""
        import torch

        x, y = torch.zeros(8).pin_memory(), torch.zeros(8, device="cuda")
        z = torch.zeros(8).pin_memory()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y.copy_(x, non_blocking=True)
            z.copy_(y, non_blocking=True)
        x.fill_(5)
        graph.replay()
        torch.cuda.synchronize()
        assert z.tolist() == [5.0] * 8
    """)


def test_an_error_in_a_kernel_is_torchs_error(on_cuda):
    done = on_cuda(
        """
        import torch

        x = torch.empty(8, device="cuda")
        try:
            x.fill_(1)
            torch.cuda.synchronize()
        except torch.AcceleratorError as error:
            print(error)
    """,
        FAKE_CUDART_FAULTS="@kernel=700",
    )
    assert "an illegal memory access was encountered" in done.output
