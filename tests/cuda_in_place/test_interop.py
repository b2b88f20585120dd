"""Tensors, streams, memory and numbers of the device and of torch.cuda, used with one another."""


def test_both_sides_see_what_one_writes(on_device):
    done = on_device("""
        x = torch.arange(60000.0).to("acme").view(200, 300)
        t = torch.acme.as_cuda(x.t())
        assert t.is_cuda and t.device.index == 0 and t.stride() == (1, 300)
        assert t.data_ptr() == x.data_ptr()
        back = torch.acme.from_cuda(t)
        assert back.device == x.device and back.data_ptr() == x.data_ptr()
        before = x._version
        torch.acme.as_cuda(x).copy_(torch.zeros(200, 300))
        assert x.cpu().sum() == 0
        assert x._version == t._version == back._version > before
        other = torch.empty(4, device="cuda:1")
        assert torch.acme.from_cuda(other).device == torch.device("acme", 1)
        assert torch.acme.memory_allocated() == torch.cuda.memory_allocated()
    """)
    assert [each.what for each in done.work] == ["copy"] * 3


def test_memory_lives_as_long_as_one_side(on_device):
    on_device("""
        x = torch.ones(1 << 20, device="acme")
        size, address = torch.cuda.memory_allocated(), x.data_ptr()
        t = torch.acme.as_cuda(x)
        del x
        assert torch.cuda.memory_allocated() == size
        assert torch.empty(1 << 20, device="acme").data_ptr() != address
        back = torch.acme.from_cuda(t)
        del t
        assert torch.cuda.memory_allocated() == size
        del back
        assert torch.cuda.memory_allocated() == torch.acme.memory_allocated() == 0
    """)


def test_a_tensor_with_a_gradient_is_not_shared(on_device):
    on_device("""
        x = torch.ones(4, device="acme", requires_grad=True)
        t = torch.ones(4, device="cuda", requires_grad=True)
        for share, tensor in ((torch.acme.as_cuda, x), (torch.acme.from_cuda, t)):
            try:
                share(tensor)
            except NotImplementedError as error:
                assert "detach()" in str(error)
            else:
                raise AssertionError("it is shared")
            assert share(tensor.detach()).data_ptr() == tensor.data_ptr()
            with torch.no_grad():
                assert not share(tensor).requires_grad
    """)


def test_a_function_of_autograd_passes_gradients(on_device):
    """What the error above advises."""
    done = on_device("""
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return torch.acme.from_cuda(torch.acme.as_cuda(x) * 2)

            @staticmethod
            def backward(ctx, grad):
                return torch.acme.from_cuda(torch.acme.as_cuda(grad) * 2)

        x = torch.ones(4, device="acme", requires_grad=True)
        Twice.apply(x).sum().backward()
        assert x.grad.is_acme
    """)
    assert done.count("copy") == 0


def test_streams_and_events_of_one_are_the_others(on_device):
    done = on_device("""
        x = torch.ones(64, device="acme")
        ours, theirs = torch.acme.Stream(), torch.cuda.Stream()
        with torch.cuda.stream(theirs):
            assert torch.acme.current_stream().stream_id == theirs.stream_id
            x.mul_(2)
        with torch.acme.stream(theirs):
            assert torch.cuda.current_stream() == theirs
            x.add_(1)
        with torch.acme.stream(ours):
            assert torch.cuda.current_stream().stream_id == ours.stream_id
            torch.acme.as_cuda(x).sub_(3)
        theirs.wait_stream(ours)
        ours.wait_stream(theirs)
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream())
        ours.wait_event(event)
        event = torch.acme.Event()
        event.record(ours)
        theirs.wait_event(event)
        torch.cuda.synchronize()
        assert event.query() and ours.query() and theirs.query()
        torch.acme.set_device(1)
        assert torch.cuda.current_device() == 1
    """)
    fill, multiply, add, subtract = done.work
    assert fill.stream == 0
    assert multiply.stream == add.stream != subtract.stream


def test_memory_waits_for_a_stream_of_the_other_side(on_device):
    on_device("""
        def states():
            blocks = (block for each in torch.cuda.memory_snapshot() for block in each["blocks"])
            return {block["state"] for block in blocks if block["size"] == 4 << 20}

        x, side = torch.zeros(1 << 20, device="acme"), torch.cuda.Stream()
        x.record_stream(side)
        del x
        # The allocator looks whether the stream is done when it is asked for memory again.
        assert states() == {"active_pending_free"}
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        assert states() == set()
        # PyTorch takes no other stream for a tensor of CUDA's.
        t = torch.zeros(1 << 20, device="cuda")
        try:
            t.record_stream(torch.acme.Stream())
        except RuntimeError as error:
            assert "DeviceType::CUDA" in str(error)
        else:
            raise AssertionError("it takes the stream")
    """)


def test_one_pool_has_the_memory_of_both(on_device):
    on_device("""
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            x, t = torch.empty(1000, device="acme"), torch.empty(1000, device="cuda")
        ours = torch.acme.MemPool()
        with torch.acme.use_mem_pool(ours):
            y, u = torch.empty(1000, device="acme"), torch.empty(1000, device="cuda")
        for each, (one, other) in ((pool, (x, t)), (ours, (y, u))):
            [segment] = each.snapshot()
            begin, end = segment["address"], segment["address"] + segment["total_size"]
            assert begin <= one.data_ptr() < end and begin <= other.data_ptr() < end
        outside = torch.empty(1000, device="acme")
        assert not any(
            segment["address"] <= outside.data_ptr() < segment["address"] + segment["total_size"]
            for segment in pool.snapshot() + ours.snapshot()
        )
    """)


def test_one_snapshot_has_both(on_device):
    on_device("""
        torch.cuda.memory._record_memory_history()
        x, t = torch.empty(1000, device="acme"), torch.empty(1000, device="cuda")
        assert torch.acme.memory_snapshot() == torch.cuda.memory_snapshot()
        trace = torch.cuda.memory._snapshot()["device_traces"][0]
        made = [entry["addr"] for entry in trace if entry["action"] == "alloc"]
        assert made == [x.data_ptr(), t.data_ptr()]
        assert torch.acme.memory_stats() == torch.cuda.memory_stats()
        torch.acme.reset_peak_memory_stats()
        del x
        assert torch.cuda.max_memory_allocated() == 2 * torch.cuda.memory_allocated()
    """)


def test_both_draw_from_one_generator(on_device):
    done = on_device("""
        torch.cuda.manual_seed(7)
        torch.acme.init()  # which takes what was asked before
        assert torch.acme.initial_seed() == 7
        for seed, module in enumerate((torch, torch.cuda, torch.acme)):
            module.manual_seed(seed)
            assert torch.acme.initial_seed() == torch.cuda.initial_seed() == seed
        start = torch.cuda.get_rng_state()
        torch.rand(9000, device="acme")
        after = torch.cuda.get_rng_state()
        torch.cuda.set_rng_state(start)
        torch.rand(9000, device="cuda")
        assert torch.equal(torch.cuda.get_rng_state(), after)
        assert torch.equal(torch.acme.get_rng_state(), after)
        torch.acme.set_rng_state(start)
        assert torch.equal(torch.cuda.get_rng_state(), start)
        generators = [torch.Generator(device).manual_seed(7) for device in ("acme", "cuda")]
        for generator in generators:
            torch.empty(9000, device=generator.device).normal_(generator=generator)
        assert torch.equal(*(generator.get_state() for generator in generators))
    """)
    ours, theirs, *_ = done.work
    assert ours == theirs


def test_a_seed_is_kept_where_a_compiled_function_starts_the_device(on_device):
    """Dynamo puts torch.cuda's generator back after tracing, which starts the device."""
    on_device("""
        torch.acme.manual_seed(5)
        assert not torch.acme.is_initialized()
        torch.compile(lambda: torch.ones(4, device="acme"))()
        assert torch.acme.initial_seed() == torch.cuda.initial_seed() == 5
    """)


def test_that_holds_after_dynamo_has_forgotten_its_callbacks(on_device):
    on_device("""
        torch._dynamo.reset()
        torch.acme.manual_seed(5)
        torch.compile(lambda: torch.ones(4, device="acme"))()
        assert torch.acme.initial_seed() == torch.cuda.initial_seed() == 5
    """)


def test_out_of_memory_is_told_in_the_same_words(on_device):
    on_device("""
        import re

        def words(device):
            try:
                torch.empty(9 << 30, dtype=torch.uint8, device=device)
            except torch.OutOfMemoryError as error:
                return re.sub(r"process \\d+", "process", str(error))

        assert words("acme") == words("cuda")
        assert words("acme").startswith("CUDA out of memory. Tried to allocate 9.00 GiB")
        torch.acme.set_per_process_memory_fraction(0.125)
        assert torch.cuda.get_per_process_memory_fraction() == 0.125
        try:
            torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError as error:
            assert "allowed" in str(error)
        else:
            raise AssertionError("there is no limit")
    """)


def test_to_copies_once_on_the_device(on_device):
    done = on_device("""
        x = torch.arange(1000.0).to("acme")
        t = x.to("cuda")
        assert t.data_ptr() != x.data_ptr()
        y = t.to("acme")
        z = torch.empty(1000, device="cuda:1").copy_(x)
        x.copy_(z)
        assert torch.equal(y.cpu(), torch.arange(1000.0))
        assert torch.equal(x.cpu(), y.cpu())
    """)
    assert [each.name for each in done.work] == [
        "pageable to device",
        *["device to device"] * 4,
        *["device to pageable"] * 3,
    ]
    assert all(each.size == 4000 for each in done.work)


def test_tensors_of_both_are_tensors_on_two_devices(on_device):
    on_device("""
        x, t = torch.ones(4, 4, device="acme"), torch.ones(4, 4, device="cuda")
        index = torch.zeros(4, dtype=torch.long, device="cuda")
        ways = {
            "+": lambda: x + t,
            "+ of the other": lambda: t + x,
            "add_": lambda: x.add_(t),
            "@": lambda: t @ x,
            "cat": lambda: torch.cat([x, t]),
            "where": lambda: torch.where(t > 0, x, x),
            "out": lambda: torch.add(x, x, out=t),
            "index_select": lambda: x.index_select(0, index),
            "foreach": lambda: torch._foreach_add_([x], [t]),
            "linear": lambda: torch.nn.functional.linear(x, t),
            "attention": lambda: torch.nn.functional.scaled_dot_product_attention(x, t, x),
        }
        for name, way in ways.items():
            try:
                way()
            except RuntimeError as error:
                assert "acme" in str(error) and "cuda" in str(error), f"{name}: {error}"
            else:
                raise AssertionError(f"{name} takes both")
    """)


def test_kernels_of_another_library_run_in_place(on_device):
    """Registered for CUDA, by Python: as those of a package that knows torch.cuda alone."""
    done = on_device("""
        library = torch.library.Library("shop", "DEF")
        library.define("scale(Tensor x, float by) -> Tensor")
        library.define("scale_(Tensor(a!) x, float by) -> Tensor(a!)")
        library.define("halves(Tensor x) -> Tensor[]")
        library.impl("scale", lambda x, by: x * by, "CUDA")
        library.impl("scale_", lambda x, by: x.mul_(by), "CUDA")
        library.impl("halves", lambda x: list(x.chunk(2)), "CUDA")

        @torch.library.custom_op("shop::twice", mutates_args=(), device_types="cuda")
        def twice(x: torch.Tensor) -> torch.Tensor:
            assert x.is_cuda
            return x * 2

        twice.register_autograd(lambda ctx, grad: grad * 2)

        x = torch.ones(8).to("acme")
        with torch.cuda.stream(torch.cuda.Stream()):
            y = torch.ops.shop.scale(x, 3.0)
            assert y.is_acme
        assert torch.ops.shop.scale_(x, 3.0).data_ptr() == x.data_ptr()
        first, second = torch.ops.shop.halves(x)
        assert first.data_ptr() == x.data_ptr() and second.is_acme
        leaf = torch.ones(8).to("acme").requires_grad_()
        twice(leaf).sum().backward()
        assert leaf.grad.is_acme
    """)
    assert done.count("kernel") >= 4
    assert [each.name for each in done.work if each.what == "copy"] == ["pageable to device"] * 2
    assert done.work[1].stream > 0


def test_what_one_saves_the_other_loads(on_device):
    on_device("""
        import io

        def through(tensor, **options):
            file = io.BytesIO()
            torch.save({"x": tensor, "view": tensor[2:]}, file)
            file.seek(0)
            loaded = torch.load(file, **options)
            assert torch.equal(loaded["x"].cpu(), torch.arange(6.0))
            assert loaded["view"].data_ptr() == loaded["x"].data_ptr() + 8
            return str(loaded["x"].device)

        x, t = torch.arange(6.0).to("acme:1"), torch.arange(6.0).to("cuda:1")
        assert through(x) == "acme:1" and through(t) == "cuda:1"
        assert through(x, map_location="cuda") == "cuda:0"
        assert through(t, map_location="acme") == "acme:0"
        assert through(x, map_location={"acme:1": "cuda:1"}) == "cuda:1"
        assert through(t, map_location={"cuda:1": "acme:0"}) == "acme:0"
    """)


def test_another_process_writes_shared_memory(on_device):
    """As torch.cuda's tensors: no copy is sent."""
    done = on_device("""
        import torch.multiprocessing as processes

        def work(queue, done):
            x, row, parameter, storage, t = (queue.get() for _ in range(5))
            assert all(str(each.device) == "acme:0" for each in (x, row, parameter, storage))
            assert x.shape == (3, 4) and row.data_ptr() == x.data_ptr() + 16
            assert isinstance(parameter, torch.nn.Parameter) and parameter.requires_grad
            assert torch.equal(row.cpu(), torch.arange(4.0, 8.0))
            assert t.is_cuda and t.cpu().tolist() == [0, 1]
            assert storage.nbytes() == 48
            row.copy_(torch.zeros(4))
            torch.acme.synchronize()
            del x, row, parameter, storage, t
            done.put(None)

        if __name__ == "__main__":
            context = processes.get_context("spawn")
            queue, done = context.Queue(), context.Queue()
            x = torch.arange(12.0).to("acme").view(3, 4)
            parameter, t = torch.nn.Parameter(x + 0), torch.arange(2.0).to("cuda")
            child = context.Process(target=work, args=(queue, done))
            child.start()
            for each in (x, x[1], parameter, x.untyped_storage(), t):
                queue.put(each)
            done.get()
            assert x.cpu().sum(1).tolist() == [6, 0, 38]
            child.join()
            assert child.exitcode == 0
            torch.acme.ipc_collect()
    """)
    assert [each.name for each in done.work if each.what == "copy"] == [
        *["pageable to device"] * 2,
        "device to pageable",
    ]


def test_nested_tensors(on_device):
    on_device("""
        parts = [torch.ones(length, 8).to("acme") for length in (3, 5)]
        jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
        assert jagged.is_acme and jagged.values().is_acme and jagged.offsets().is_acme
        layer = torch.nn.Linear(8, 4).to("acme")
        out = torch.nn.functional.gelu(layer(jagged))
        out.values().sum().backward()
        assert layer.weight.grad.is_acme
        padded = jagged.to_padded_tensor(0.0)
        assert padded.shape == (2, 5, 8)
        strided = torch.nested.nested_tensor(parts)
        assert strided.is_acme and (strided * 2).is_nested
        assert strided.to("cuda").is_cuda
    """)


def test_weights_of_an_rnn_lie_in_one_piece(on_device):
    """cuDNN does not start here, so that Python stands in for what arranges them."""
    on_device("""
        import torch.backends.cudnn

        def flattened(weights, *rest):
            whole, begin = torch.empty(sum(each.numel() for each in weights), device="cuda"), 0
            for each in weights:
                part = whole[begin : begin + each.numel()].view(each.shape)
                each.set_(part.copy_(each))
                begin += each.numel()
            return whole

        library = torch.library.Library("aten", "IMPL")
        library.impl("_cudnn_rnn_flatten_weight", flattened, "CUDA", allow_override=True)
        layer = torch.nn.LSTM(8, 16, num_layers=2)
        expected = [each.detach().clone() for each in layer.parameters()]
        layer.to("acme")
        weights = layer._flat_weights
        assert all(map(lambda one, other: one is other, weights, layer.parameters()))
        end = weights[0].data_ptr()
        for each, before in zip(weights, expected):
            assert each.is_acme and isinstance(each, torch.nn.Parameter) and each.requires_grad
            assert each.data_ptr() == end and torch.equal(each.cpu(), before)
            end += each.nbytes
        assert torch.acme.memory_allocated() == end - weights[0].data_ptr()
    """)
