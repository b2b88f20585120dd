"""Operators that PyTorch composes for every device of what reads memory by pointers."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory

X = torch.linspace(-1, 1, 32).reshape(4, 8)
ENGINE = torch.quasirandom.SobolEngine(2)


def grid_sampled(on):
    image = X.reshape(1, 2, 4, 4).to(on).requires_grad_()
    grid = torch.linspace(-1, 1, 18).reshape(1, 3, 3, 2).to(on).requires_grad_()
    out = torch.ops.aten._grid_sampler_2d_cpu_fallback(image, grid, 0, 0, False)
    out.sum().backward()
    return out, image.grad, grid.grad


def linear_fp16(on, name):
    # In CPU memory wherever the weight is: it holds a pointer.
    packed = torch.fbgemm_pack_gemm_matrix_fp16(X.to(on))
    assert packed.is_cpu
    return getattr(torch, name)(X.to(on), packed, torch.ones(4, device=on))


def linear_int8(on, name):
    weight, offsets, scale, zero_point = torch.fbgemm_linear_quantize_weight(X.to(on))
    packed = torch.fbgemm_pack_quantized_matrix(weight)
    assert packed.is_cpu
    bias = torch.ones(4, device=on)
    out = getattr(torch, name)(X.to(on), weight, packed, offsets, scale, zero_point, bias)
    return out, weight, offsets


def saturated(on):
    x = X.clone().mul_(1e6).to(on)
    torch.ops.aten._saturate_weight_to_fp16(x)
    return x


def sobol(on):
    state, quasi = ENGINE.sobolstate.to(on), torch.zeros(2, dtype=torch.long, device=on)
    drawn, quasi = torch._sobol_engine_draw(quasi, 5, state, 2, 0, dtype=torch.float32)
    torch._sobol_engine_ff_(quasi, 3, state, 2, 5)
    made = torch.zeros(2, 30, dtype=torch.long, device=on)
    torch._sobol_engine_initialize_state_(made, 2)
    lower = torch.ones(2, 30, 30, dtype=torch.long, device=on).tril()
    torch._sobol_engine_scramble_(made, lower, 2)
    return drawn, quasi, made


CALLS = {
    "choose_qparams_optimized": lambda on: torch.choose_qparams_optimized(X.to(on), 32, 10, 0.1, 8),
    "grid_sampler": grid_sampled,
    "fp16": lambda on: linear_fp16(on, "fbgemm_linear_fp16_weight"),
    "fp16, fp32": lambda on: linear_fp16(on, "fbgemm_linear_fp16_weight_fp32_activation"),
    "int8": lambda on: linear_int8(on, "fbgemm_linear_int8_weight"),
    "int8, fp32": lambda on: linear_int8(on, "fbgemm_linear_int8_weight_fp32_activation"),
    "rowwise_prune": lambda on: torch._rowwise_prune(
        X.to(on), torch.tensor([True, False, True, True], device=on), torch.int32
    ),
    "saturate": saturated,
    "sobol": sobol,
}


def tensors(result) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else list(result)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_they_equal_the_cpu(call):
    try:
        expected = tensors(call("cpu"))
    except RuntimeError as why:  # a processor without AVX2
        pytest.skip(f"needs a CPU that FBGEMM serves: {why}")
    results = tensors(call("acme"))
    for result, right in zip(results, expected, strict=True):
        assert result.device.type == "acme"
        assert result.dtype == right.dtype
        assert torch.equal(result.cpu(), right)


def test_they_wait_for_the_stream(callbacks):
    x = torch.zeros(4, 8, device="acme")
    source = X.clone().pin_memory()
    torch.acme._sleep(100_000_000)
    x.copy_(source, non_blocking=True)
    low, high = torch.choose_qparams_optimized(x, 32, 10, 0.1, 8)
    right = torch.choose_qparams_optimized(X, 32, 10, 0.1, 8)
    assert (low.item(), high.item()) == (right[0].item(), right[1].item())


def test_they_have_no_derivative_as_on_the_cpu():
    for on in ("cpu", "acme"):
        weight = X.clone().to(on).requires_grad_()
        assert not any(
            each.requires_grad for each in torch.choose_qparams_optimized(weight, 32, 10, 0.1, 8)
        )
