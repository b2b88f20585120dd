"""Fused steps of optimizers: to the bit the CPU's where its kernel makes them and is right, over
lists of tensors."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory

OPTIMIZERS = {
    "Adam": lambda p: torch.optim.Adam(p, lr=0.1, fused=True),
    "Adam, amsgrad": lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True, fused=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.1, fused=True),
    "AdamW, lr is a tensor": lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.1), fused=True),
    "AdamW, maximize": lambda p: torch.optim.AdamW(p, lr=0.1, maximize=True, fused=True),
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, fused=True),
    "SGD, momentum": lambda p: torch.optim.SGD(p, 0.1, 0.9, nesterov=True, fused=True),
    "SGD, weight decay": lambda p: torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.1, fused=True),
    "SGD, maximize": lambda p: torch.optim.SGD(p, lr=0.1, maximize=True, fused=True),
    "SGD, lr is a tensor": lambda p: torch.optim.SGD(p, lr=torch.tensor(0.1), fused=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.1, fused=True),
}
SIZES = [(3, 4), (17,), (), (2, 3, 5, 7), (0,), (300, 40)]


def parameters(device: str, dtype: torch.dtype) -> list[torch.nn.Parameter]:
    torch.manual_seed(0)
    return [torch.nn.Parameter(torch.randn(size).to(dtype).to(device)) for size in SIZES]


def train(make, device: str, dtype: torch.dtype, gradient=lambda g: g, steps: int = 3) -> list:
    trained = parameters(device, dtype)
    optimizer = make(trained)
    for _ in range(steps):
        for parameter in trained:
            parameter.grad = gradient(torch.randn(parameter.shape).to(dtype).to(device))
        optimizer.step()
    return trained


# torch's kernel for the CPU leaves whole vectors of half and bfloat16 as they were.
REDUCED_SGD = [
    *("SGD", "SGD, momentum", "SGD, weight decay", "SGD, maximize", "SGD, lr is a tensor"),
]

# Portable kernels add in another order, and round a 16-bit float's step once.
LOOSE = {
    torch.float32: 2e-6,
    torch.float64: 1e-13,
    torch.bfloat16: 2 * torch.finfo(torch.bfloat16).eps,
}


def is_host_addressable() -> bool:
    return torch.acme.get_device_properties(0).is_host_addressable


def equal(result: torch.Tensor, want: torch.Tensor) -> None:
    """To the bit, or nearly on a device that has kernels of its own."""
    tolerance = 0 if is_host_addressable() else LOOSE[want.dtype]
    torch.testing.assert_close(result.detach().cpu(), want.detach(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_equals_the_cpu(name, dtype):
    if name in REDUCED_SGD and dtype == torch.bfloat16:
        pytest.skip("the CPU's is wrong: test_in_reduced_precision has a reference of its own")
    make = OPTIMIZERS[name]
    for result, want in zip(train(make, "acme", dtype), train(make, "cpu", dtype), strict=True):
        assert result.is_acme
        equal(result, want)


@pytest.mark.parametrize("name", ["AdamW", "SGD, momentum"])
def test_gradients_that_are_not_contiguous(name):
    if not is_host_addressable():
        pytest.skip("the CPU's kernels mix such gradients up: portable kernels do not")

    def transposed(gradient):
        return gradient.t().contiguous().t() if gradient.dim() == 2 else gradient

    make = OPTIMIZERS[name]
    results = train(make, "acme", torch.float32, transposed)
    for result, want in zip(results, train(make, "cpu", torch.float32, transposed), strict=True):
        equal(result, want)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD, momentum", "Adagrad"])
def test_with_a_grad_scaler(name):
    """It divides gradients in the step, and skips the step if one of them is infinite."""
    results = {}
    for device in ("cpu", "acme"):
        trained = parameters(device, torch.float32)
        optimizer = OPTIMIZERS[name](trained)
        scaler = torch.amp.GradScaler(device, init_scale=8.0)
        for factor in (1.0, float("inf"), 2.0):
            for parameter in trained:
                parameter.grad = scaler.scale(torch.randn(parameter.shape).to(device) * factor)
            scaler.step(optimizer)
            scaler.update()
        results[device] = trained
    for result, want in zip(results["acme"], results["cpu"], strict=True):
        assert torch.isfinite(result).all()
        equal(result, want)


def rounded_training(make, dtype: torch.dtype, steps: int = 3) -> list[torch.Tensor]:
    """What `train` gives, by a loop in float32 whose state is rounded to `dtype` at each step."""
    trained = [torch.nn.Parameter(each.detach().float()) for each in parameters("cpu", dtype)]
    optimizer = make(trained)
    for each in optimizer.param_groups:
        each["fused"] = False
    for _ in range(steps):
        for parameter in trained:
            parameter.grad = torch.randn(parameter.shape).to(dtype).float()
        optimizer.step()
        for parameter in trained:
            state = optimizer.state[parameter]
            kept = [state[key] for key in state if key != "step" and state[key] is not None]
            for each in (parameter.data, *kept):
                each.copy_(each.to(dtype))
    return trained


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_in_reduced_precision(name, dtype):
    """To one or two roundings of what float32 gives."""
    results = train(OPTIMIZERS[name], "acme", dtype)
    step = torch.finfo(dtype).eps
    for result, want in zip(results, rounded_training(OPTIMIZERS[name], dtype), strict=True):
        assert result.is_acme and result.dtype == dtype
        torch.testing.assert_close(
            result.detach().cpu().float(), want.detach(), rtol=2 * step, atol=2 * step
        )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_reduced_sgd_divides_gradients_and_skips_a_step(dtype):
    for infinite in (0.0, 1.0):
        weights, gradients = ([torch.full((40,), value, dtype=dtype, device="acme")]
                              for value in (1.0, 8.0))  # fmt: skip
        momenta = [torch.zeros(40, dtype=dtype, device="acme")]
        torch._fused_sgd_(
            weights, gradients, momenta, weight_decay=0.0, momentum=0.5, lr=0.25, dampening=0.0,
            nesterov=False, maximize=False, is_first_step=True,
            grad_scale=torch.tensor(4.0, device="acme"),
            found_inf=torch.tensor(infinite, device="acme"),
        )  # fmt: skip
        want = (1.0, 8.0, 0.0) if infinite else (0.5, 2.0, 2.0)
        assert [each[0].unique().tolist() for each in (weights, gradients, momenta)] == [
            [value] for value in want
        ]


def test_reduced_sgd_refuses_other_dtypes_among_its_lists():
    weights = [torch.ones(40, dtype=torch.half, device="acme")]
    for gradients in ([torch.ones(40, device="acme")], [torch.ones(40, dtype=torch.half)]):
        with pytest.raises(RuntimeError):
            torch._fused_sgd_(
                weights, gradients, [], weight_decay=0.0, momentum=0.0, lr=0.25, dampening=0.0,
                nesterov=False, maximize=False, is_first_step=True,
            )  # fmt: skip
    assert weights[0].unique().item() == 1


def test_a_cpu_tensor_among_them_is_refused():
    here, cpu = torch.ones(3, device="acme"), torch.ones(3)
    step = torch.ones((), device="acme")
    options = {"lr": 0.1, "beta1": 0.9, "beta2": 0.9, "weight_decay": 0.0, "eps": 1e-8}
    options |= {"amsgrad": False, "maximize": False}
    lists = [[here], [here], [here], [here], [], [step]]
    torch._fused_adamw_(*lists, **options)
    lists[1] = [cpu]
    with pytest.raises(RuntimeError, match="same device"):
        torch._fused_adamw_(*lists, **options)


def test_a_step_is_no_wait_of_the_users():
    if not is_host_addressable():
        pytest.skip("over copies the host waits indeed")
    trained = parameters("acme", torch.float32)
    for parameter in trained:
        parameter.grad = torch.ones_like(parameter)
    before = torch.acme.get_sync_debug_mode()
    torch.acme.set_sync_debug_mode("error")
    try:
        torch._fused_adamw_(
            [p.detach() for p in trained], [p.grad for p in trained],
            [torch.zeros_like(p.grad) for p in trained],
            [torch.zeros_like(p.grad) for p in trained], [],
            [torch.ones((), device="acme") for _ in trained],
            lr=0.1, beta1=0.9, beta2=0.9, weight_decay=0.0, eps=1e-8, amsgrad=False,
            maximize=False,
        )  # fmt: skip
    finally:
        torch.acme.set_sync_debug_mode(before)


def test_a_step_waits_for_the_stream():
    weights = torch.zeros(1 << 22, device="acme")
    ones = torch.ones(1 << 22, device="acme")
    for _ in range(20):
        weights.copy_(ones)
        torch._fused_sgd_(
            [weights[-1:]], [ones[-1:]], [], weight_decay=0.0, momentum=0.0, lr=0.25,
            dampening=0.0, nesterov=False, maximize=False, is_first_step=True,
        )  # fmt: skip
        assert weights[-1].item() == 0.75
        weights.zero_()
        assert weights[-1].item() == 0
