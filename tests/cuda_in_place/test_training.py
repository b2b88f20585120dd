"""Training with torch.cuda on the stand-in: which kernels, and that they are the same each time."""

from stand_in import differences


def test_a_gpt_step_launches_flash_attention_and_the_fused_optimizer(on_cuda):
    done = on_cuda("gpt_step.py", "cuda", "1")
    launched = done.kernels
    assert launched.count("flash_fwd_kernel") == 2
    assert launched.count("flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel") == 2
    assert any("FusedAdam" in each.name for each in done.work)
    assert any(each.name.startswith("cublasLtMatmul") for each in done.work)
    assert done.count("kernel") > 100
    assert all(each.stream == 0 for each in done.work)


def test_two_runs_of_a_program_do_the_same(on_cuda):
    one, other = (on_cuda("gpt_step.py", "cuda", "2").work for _ in range(2))
    assert differences(one, other) == []
    # It is more than names: nearly every kernel reads or writes memory that is known.
    kernels = [each for each in one if each.what == "kernel"]
    assert sum(bool(each.addresses) for each in kernels) == len(kernels)


def test_attention_in_single_precision_is_memory_efficient(on_cuda):
    done = on_cuda("""
        import torch

        q, k, v = (torch.randn(2, 4, 64, 32, device="cuda", requires_grad=True) for _ in range(3))
        torch.nn.functional.scaled_dot_product_attention(q, k, v).sum().backward()
    """)
    assert any("fmha_cutlassF" in name for name in done.kernels)
    assert any("fmha_cutlassB" in name for name in done.kernels)


def test_random_numbers_advance_the_generator(on_cuda):
    on_cuda("""
        import torch

        torch.cuda.manual_seed(3)
        before = torch.cuda.get_rng_state()
        torch.randn(1000, device="cuda")
        assert not torch.equal(torch.cuda.get_rng_state(), before)
        torch.cuda.manual_seed(3)
        assert torch.equal(torch.cuda.get_rng_state(), before)
    """)


def test_a_convolution_without_cudnn_trains(on_cuda):
    done = on_cuda("""
        import torch

        torch.backends.cudnn.enabled = False
        layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(),
            torch.nn.Linear(8 * 6 * 6, 10),
        ).cuda()
        optimizer = torch.optim.SGD(layers.parameters(), lr=0.1, momentum=0.9)
        for _ in range(2):
            layers(torch.randn(4, 3, 8, 8, device="cuda")).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    """)
    assert any("im2col" in name for name in done.kernels)
