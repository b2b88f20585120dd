"""What a program does with torch.cuda's objects and those of the device at once."""

import pytest


def test_record_stream_of_what_was_lent_keeps_the_memory(on_device):
    run = on_device(
        """

        def pending():
            blocks = [each for of in torch.cuda.memory_snapshot() for each in of["blocks"]]
            return sum(each["state"] not in ("active_allocated", "inactive") for each in blocks)

        to_cuda, to_acme = torch.acme.as_cuda, torch.acme.from_cuda
        for name, lend in {
            "as_cuda": to_cuda,
            "from_cuda": lambda x: to_acme(to_cuda(x)),
            "itself": lambda x: x,
        }.items():
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                torch.cuda._sleep(1)
                large = torch.empty(1 << 26, device="cuda")
                for _ in range(20):
                    large.zero_()
            x = torch.empty(1 << 20, device="acme")
            lend(x).record_stream(stream)
            del x
            print(name, pending())
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        """
    )
    assert run.output.split("\n")[:3] == ["as_cuda 1", "from_cuda 1", "itself 1"]


def test_a_graph_takes_a_generator_of_the_device(on_device):
    run = on_device(
        """

        graph, generator = torch.acme.CUDAGraph(), torch.Generator("acme")
        graph.register_generator_state(generator)
        with torch.acme.graph(graph):
            torch.randn(4, device="acme", generator=generator)
        graph.replay()
        graph.replay()
        print(isinstance(graph, torch.cuda.CUDAGraph), generator.get_offset())
        """
    )
    assert run.output.split() == ["True", "8"]
    assert run.count("kernel", "replayed") == 2


def test_each_device_captures_on_a_stream_of_its_own(on_device):
    run = on_device(
        """

        for index in 0, 1, 0:
            with torch.acme.device(index):
                x, graph = torch.ones(4, device="acme"), torch.acme.CUDAGraph()
                with torch.acme.graph(graph):
                    y = x + 1
                graph.replay()
                print(y.device)
        """
    )
    assert run.output.split() == ["acme:0", "acme:1", "acme:0"]
    replayed = [each.device for each in run.work if each.when == "replayed"]
    assert replayed == [0, 1, 0]


def test_lists_of_tensors_of_several_devices(on_device):
    run = on_device(
        """

        there = [torch.empty(2, device="acme"), torch.empty(2, device="acme:1")]
        here = [torch.full((2,), 3.0), torch.full((2,), 4.0)]
        torch._foreach_copy_(there, here)
        back = [torch.empty(2), torch.empty(2)]
        torch._foreach_copy_(back, there)
        print(back[0].tolist(), back[1].tolist())
        for each in torch._foreach_add([there[0], here[0], there[1]], 1.0):
            print(each.device)
        """
    )
    assert run.output.split("\n")[:4] == ["[3.0, 3.0] [4.0, 4.0]", "acme:0", "cpu", "acme:1"]


@pytest.mark.parametrize("dtypes", [["float32"], ["float32", "float16"]], ids=["one", "two"])
def test_lists_of_another_device_than_the_current_one(on_device, dtypes):
    """With two dtypes CUDA's kernel goes tensor by tensor, by operators."""
    run = on_device(
        f"""

        lists = [
            [torch.ones(3, device="acme:1", dtype=getattr(torch, each)) for each in {dtypes} * 20]
            for _ in range(3)
        ]
        torch.acme.synchronize()
        torch._foreach_add_(lists[0], 1.0)
        torch._foreach_addcmul_(*lists)
        if len({dtypes}) == 1:
            options = dict(weight_decay=0.1, momentum=0.9, lr=0.1, dampening=0.0)
            options |= dict(nesterov=False, maximize=False, is_first_step=False)
            torch._fused_sgd_(*lists, **options)
        print(torch.acme.current_device(), {{each.device.index for each in lists[0]}})
        """
    )
    assert run.output.split() == ["0", "{1}"]
    launched = [each for each in run.work if "multi_tensor_apply" in each.name]
    assert len(launched) == (3 if len(dtypes) == 1 else 0)
    assert {each.device for each in run.work if each.what == "kernel"} == {1}


def test_changes_of_lists_are_counted_as_torch_cuda_counts_them(on_device, on_cuda):
    """Autograd knows by the count that a value which it needs was overwritten. Who counts is the
    kernel: a fast one, or the operators that a slow one calls. (That of _foreach_zero_ forgets to
    on torch.cuda; the device counts.)"""
    program = """
        import sys, torch

        def made(*sizes, dtype=torch.float32):
            return [torch.ones(size, device=sys.argv[1], dtype=dtype) for size in sizes]

        for lists, change in (
            ([made(2, 3)], lambda x: torch._foreach_add_(x, 1.0)),
            ([made(2, 3)], lambda x: torch._foreach_mul_(x, torch.tensor(2.0))),
            ([made(2) + made(3, dtype=torch.half)], lambda x: torch._foreach_add_(x, 1.0)),
            ([made(2, 3), made(2, 3)], lambda x, y: torch._foreach_copy_(x, y)),
            ([made(2, 3), made(2, 3), made(2, 3)], torch._foreach_addcmul_),
        ):
            change(*lists)
            print([[each._version for each in one] for one in lists])
    """
    here, there = on_device(program, "acme"), on_cuda(program, "cuda")
    assert here.output == there.output
    assert "[[1, 1], [0, 0]]" in there.output.splitlines()


def test_devices_are_matched_where_others_are_visible(on_device):
    run = on_device(
        """

        x = torch.ones(4, device="acme")
        print(torch.acme.get_device_properties(0).kernels, torch.acme.as_cuda(x).device)
        """,
        ACME_VISIBLE_DEVICES="1",
    )
    assert run.output.split() == ["cuda:1", "cuda:1"]
    assert {each.device for each in run.work if each.what == "kernel"} == {1}


def test_compiled_attention_keeps_its_seed_where_torch_cuda_does(on_device, tmp_path):
    run = on_device(
        """
        from torch.nn.functional import scaled_dot_product_attention

        @torch.compile(fullgraph=True)
        def attend(q):
            return scaled_dot_product_attention(q, q, q, dropout_p=0.5)

        for dtype in torch.float32, torch.float16:
            q = torch.ones(1, 2, 32, 32, dtype=dtype, device="acme", requires_grad=True)
            attend(q).sum().backward()
            print(q.grad.device)
        """,
        TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "inductor"),
        TRITON_CACHE_DIR=str(tmp_path / "triton"),
    )
    assert run.output.split() == ["acme:0", "acme:0"]
