"""Memory and copies of torch.cuda on the stand-in: copies carry the data."""


def test_copies_carry_data_both_ways(on_cuda):
    done = on_cuda("""
        import torch

        x = torch.arange(1000.0)
        assert torch.equal(x.cuda().cpu(), x)
        pinned = x.pin_memory()
        assert pinned.is_pinned()
        on_device = pinned.to("cuda", non_blocking=True)
        back = torch.empty_like(x, pin_memory=True).copy_(on_device, non_blocking=True)
        torch.cuda.synchronize()
        assert torch.equal(back, x)
        assert torch.equal(on_device.to("cuda:1").cpu(), x)
        assert torch.equal(on_device.clone().cpu(), x)
    """)
    assert [each.name for each in done.work] == [
        "pageable to device",
        "device to pageable",
        "pinned to device",
        "device to pinned",
        "device to device",
        "device to pageable",
        "device to device",
        "device to pageable",
    ]
    assert all(each.size == 4000 for each in done.work)


def test_fills_are_work_of_the_device(on_cuda):
    done = on_cuda("""
        import torch

        x = torch.zeros(64, device="cuda", dtype=torch.int32)
        assert x.cpu().sum() == 0
    """)
    assert done.count("kernel") + done.count("fill") == 1


def test_the_caching_allocator_works(on_cuda):
    done = on_cuda("""
        import torch

        x = torch.empty(1 << 20, device="cuda")
        address = x.data_ptr()
        assert torch.cuda.memory_allocated() == 4 << 20
        del x
        assert torch.cuda.memory_allocated() == 0
        assert torch.cuda.memory_reserved() > 0
        assert torch.empty(1 << 20, device="cuda").data_ptr() == address
        torch.cuda.empty_cache()
        assert torch.cuda.memory_reserved() == 0
        free, total = torch.cuda.mem_get_info()
        assert total == 8 << 30 and free == total
        try:
            torch.empty(9 << 30, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError as error:
            print(error)
    """)
    assert "Tried to allocate 9.00 GiB" in done.output
    assert done.work == []


def test_memory_that_another_stream_uses_is_kept(on_cuda):
    on_cuda("""
        import torch

        side = torch.cuda.Stream()
        x = torch.zeros(1 << 20, device="cuda")
        with torch.cuda.stream(side):
            y = x + 1
        x.record_stream(side)
        address = x.data_ptr()
        del x
        torch.cuda.synchronize()
        assert torch.empty(1 << 20, device="cuda").data_ptr() == address
    """)


def test_a_snapshot_knows_the_allocations(on_cuda):
    on_cuda("""
        import torch

        torch.cuda.memory._record_memory_history()
        x = torch.empty(1000, device="cuda")
        snapshot = torch.cuda.memory._snapshot()
        assert snapshot["segments"][0]["total_size"] == 2 << 20
        assert snapshot["device_traces"][0][-1]["action"] == "alloc"
    """)


def test_tensors_are_shared_with_another_process(on_cuda):
    done = on_cuda("""
        import torch
        import torch.multiprocessing as processes

        def work(queue, done):
            x = queue.get()
            done.put(x.cpu().tolist())

        if __name__ == "__main__":
            context = processes.get_context("spawn")
            queue, done = context.Queue(), context.Queue()
            x = torch.arange(4.0).cuda()
            child = context.Process(target=work, args=(queue, done))
            child.start()
            queue.put(x)
            print(done.get())
            child.join()
    """)
    assert done.output == "[0.0, 1.0, 2.0, 3.0]\n"
