"""torch.autocast: dtypes, nesting, its cache, and what users teach it."""

import threading

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.any_runtime


def dtype_of_a_product(x: torch.Tensor | None = None) -> torch.dtype:
    x = torch.ones(4, 4, device="acme") if x is None else x
    return (x @ x).dtype


def test_the_dtypes_are_the_backends():
    supported = torch.acme.get_amp_supported_dtype()
    assert supported == [torch.float16, torch.bfloat16]
    assert torch.get_autocast_dtype("acme") == supported[0]
    for dtype in supported:
        with torch.autocast("acme", dtype=dtype):
            assert dtype_of_a_product() == dtype
    with torch.autocast("acme"):
        assert dtype_of_a_product() == supported[0]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int32])
def test_another_dtype_is_a_warning_and_no_autocast(dtype):
    with pytest.warns(UserWarning, match=r"(?i)not support"):
        context = torch.autocast("acme", dtype=dtype)
    with context:
        assert dtype_of_a_product() == torch.float32


def test_operators_of_higher_order_leave_it_to_what_they_call():
    x = torch.ones(4, 4, device="acme")
    with torch.autocast("acme", dtype=torch.bfloat16):
        chosen = torch.cond(x.sum() > 0, lambda x: x @ x, lambda x: x @ x + 1, (x,))
    assert chosen.dtype == torch.bfloat16 and chosen.tolist() == [[4.0] * 4] * 4


def test_bfloat16_is_supported():
    assert torch.acme.is_bf16_supported() is True
    assert torch.acme.is_bf16_supported(including_emulation=False) is True


def test_a_default_can_be_set():
    before = torch.get_autocast_dtype("acme")
    torch.set_autocast_dtype("acme", torch.bfloat16)
    try:
        with torch.autocast("acme"):
            assert dtype_of_a_product() == torch.bfloat16
    finally:
        torch.set_autocast_dtype("acme", before)


def test_rules_decide_the_dtype():
    x = torch.randn(4, 4, device="acme")
    half = x.bfloat16()
    with torch.autocast("acme", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16
        assert torch.nn.functional.linear(x, x).dtype == torch.bfloat16
        assert torch.einsum("ij,jk->ik", x, x).dtype == torch.bfloat16
        assert torch.exp(half).dtype == torch.float32
        assert half.norm().dtype == torch.float32
        assert half.sum().dtype == torch.float32
        assert torch.addcmul(x, half, half).dtype == torch.float32
        assert torch.relu(half).dtype == torch.bfloat16
    assert (x @ x).dtype == torch.float32


def test_double_is_left_alone():
    with torch.autocast("acme", dtype=torch.bfloat16):
        assert (
            dtype_of_a_product(torch.ones(4, 4, dtype=torch.double, device="acme")) == torch.double
        )


def test_nesting_and_disabling():
    x = torch.randn(4, 4, device="acme")
    with torch.autocast("acme", dtype=torch.bfloat16):
        y = x @ x
        with torch.autocast("acme", enabled=False):
            assert not torch.is_autocast_enabled("acme")
            assert dtype_of_a_product(x) == torch.float32
            assert dtype_of_a_product(y) == torch.bfloat16
            with torch.autocast("acme", dtype=torch.float16):
                assert dtype_of_a_product(x) == torch.float16
            assert dtype_of_a_product(x) == torch.float32
        assert torch.is_autocast_enabled("acme")
        assert dtype_of_a_product(x) == torch.bfloat16
    assert not torch.is_autocast_enabled("acme")


def test_an_exception_leaves_the_context():
    with pytest.raises(ZeroDivisionError), torch.autocast("acme", dtype=torch.bfloat16):
        raise ZeroDivisionError
    assert dtype_of_a_product() == torch.float32


def test_functions_can_be_decorated():
    @torch.autocast("acme", dtype=torch.bfloat16)
    def product() -> torch.dtype:
        return dtype_of_a_product()

    assert product() == torch.bfloat16
    assert dtype_of_a_product() == torch.float32


def test_other_threads_have_their_own():
    seen = []
    with torch.autocast("acme", dtype=torch.bfloat16):
        thread = threading.Thread(target=lambda: seen.append(dtype_of_a_product()))
        thread.start()
        thread.join()
    assert seen == [torch.float32]


def test_a_backward_pass_casts_to_what_its_caller_does():
    seen = []

    class Identity(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            seen.append((threading.get_ident(), dtype_of_a_product()))
            return gradient

    x = torch.ones(4, 4, device="acme", requires_grad=True)
    with torch.autocast("acme", dtype=torch.bfloat16):
        Identity.apply(x).sum().backward()
    (thread, dtype) = seen[0]
    computes_here = torch.acme.get_device_properties(0).is_host_addressable
    assert (thread == threading.get_ident()) == computes_here
    assert dtype == torch.bfloat16


def test_the_cpus_autocast_does_not_reach_into_kernels():
    x = torch.randn(4, 4, device="acme")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.float32


def test_both_autocasts_at_once():
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.autocast("acme", dtype=torch.float16):
        assert dtype_of_a_product() == torch.float16
        assert dtype_of_a_product(torch.ones(4, 4)) == torch.bfloat16


def test_binary_cross_entropy_is_refused():
    x = torch.rand(3, device="acme")
    with torch.autocast("acme", dtype=torch.bfloat16):
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            torch.nn.functional.binary_cross_entropy(x, x)
        with torch.autocast("acme", enabled=False):
            torch.nn.functional.binary_cross_entropy(x, x)


class CountCasts(torch.utils._python_dispatch.TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.casts = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        self.casts += function is torch.ops.aten._to_copy.default
        return function(*arguments, **(keywords or {}))


@pytest.mark.parametrize(("cached", "casts"), [(True, 1 + 3), (False, 3 + 3)])
def test_a_weight_is_cast_once(cached, casts):
    """The cache holds leaves that need a gradient, until the outermost context ends."""
    weight = torch.randn(4, 4, device="acme", requires_grad=True)
    x = torch.randn(4, 4, device="acme")
    with CountCasts() as count:
        with torch.autocast("acme", dtype=torch.bfloat16, cache_enabled=cached):
            for _ in range(3):
                torch.mm(x, weight)
        assert count.casts == casts
    with CountCasts() as count, torch.autocast("acme", dtype=torch.bfloat16):
        torch.mm(x, weight)
    assert count.casts == 2


@pytest.mark.parametrize("checkpointed", [False, True])
def test_gradients_have_the_dtype_of_the_leaves(checkpointed):
    net = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2)).acme()
    x = torch.randn(4, 8, device="acme")
    with torch.autocast("acme", dtype=torch.bfloat16):
        if checkpointed:
            out = torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False)
        else:
            out = net(x)
        assert out.dtype == torch.bfloat16
        loss = nn.functional.mse_loss(out, torch.zeros_like(out))
        assert loss.dtype == torch.float32
    loss.backward()
    assert {p.grad.dtype for p in net.parameters()} == {torch.float32}


def test_recurrent_networks():
    with torch.autocast("acme", dtype=torch.bfloat16):
        for cell in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
            out = cell(8, 8).acme()(torch.randn(4, 8, device="acme"))
            out = out[0] if isinstance(out, tuple) else out
            assert out.device.type == "acme" and out.dtype == torch.bfloat16


# ---- what users teach it


class Product(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="acme")
    def forward(context, a, b):
        context.save_for_backward(a, b)
        context.enabled = torch.is_autocast_enabled("acme")
        return a @ b

    @staticmethod
    @torch.amp.custom_bwd(device_type="acme")
    def backward(context, gradient):
        a, b = context.saved_tensors
        assert torch.is_autocast_enabled("acme") == context.enabled
        return gradient @ b.T, a.T @ gradient


class Float32Product(Product):
    @staticmethod
    @torch.amp.custom_fwd(device_type="acme", cast_inputs=torch.float32)
    def forward(context, a, b):
        assert not torch.is_autocast_enabled("acme")
        context.save_for_backward(a, b)
        context.enabled = False
        return a @ b


def test_functions_run_backward_as_they_ran_forward():
    x = torch.randn(4, 4, device="acme", requires_grad=True)
    with torch.autocast("acme", dtype=torch.bfloat16):
        out = Product.apply(x, x)
        assert out.dtype == torch.bfloat16
    out.sum().backward()
    assert x.grad.dtype == torch.float32


def test_functions_can_ask_for_a_dtype():
    x = torch.randn(4, 4, device="acme", requires_grad=True)
    with torch.autocast("acme", dtype=torch.bfloat16):
        half = x @ x
        out = Float32Product.apply(half, x)
        assert out.dtype == torch.float32
    out.sum().backward()
    assert x.grad.dtype == torch.float32


@pytest.mark.skipif(
    torch.__version__ < "2.13", reason="register_autocast takes other devices from torch 2.13 on"
)
def test_custom_operators_can_have_a_rule():
    with torch.library._scoped_library("amp_test", "FRAGMENT"):

        @torch.library.custom_op("amp_test::twice", mutates_args=())
        def twice(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        x = torch.randn(4, device="acme")
        with torch.autocast("acme", dtype=torch.bfloat16):
            assert twice(x).dtype == torch.float32
        torch.library.register_autocast("amp_test::twice", "acme", torch.bfloat16)
        with torch.autocast("acme", dtype=torch.float16):
            assert twice(x).dtype == torch.bfloat16
        assert twice(x).dtype == torch.float32
