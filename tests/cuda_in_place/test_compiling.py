"""Kernels that are compiled while a program runs, on the stand-in."""


def test_a_compiled_step_launches_what_triton_made(on_cuda, tmp_path):
    done = on_cuda(
        """
        import torch

        @torch.compile
        def layer(x, y):
            return torch.nn.functional.gelu(x * 2 + y).sum(1)

        x, y = (torch.ones(64, 256, device="cuda", requires_grad=True) for _ in range(2))
        layer(x, y).sum().backward()
        assert x.grad.shape == x.shape
    """,
        TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "inductor"),
        TRITON_CACHE_DIR=str(tmp_path / "triton"),
    )
    made = [each for each in done.work if each.name.startswith("triton_")]
    assert any("gelu_backward" in each.name for each in made)
    # Their parameters are known, from what was loaded.
    assert all(each.addresses for each in made)


def test_a_kernel_that_nvrtc_compiled_is_launched(on_cuda):
    done = on_cuda("""
        import torch

        torch.special.airy_ai(torch.ones(100, device="cuda"))
    """)
    last = done.work[-1]
    assert last.name.startswith("airy_ai_forward")
    assert len(last.addresses) == 2
