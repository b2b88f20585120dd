"""torch.nn's attention and encoder, which take a fast path in inference: not under autocast."""

import warnings

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.any_runtime

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
SIZE = (2, 5, 16)  # batch, length, width


def without_fast_path(function):
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        return function()
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def assert_fast_path_changes_nothing(function, dtype=torch.bfloat16):
    with torch.inference_mode(), torch.autocast("acme", dtype=dtype):
        result, expected = function(), without_fast_path(function)
    torch.testing.assert_close(result, expected, rtol=0, atol=0)  # compares the dtypes too


def source():
    torch.manual_seed(1)
    return torch.randn(SIZE, device="acme")


def mask():
    lengths = torch.tensor([3, 4], device="acme")
    return torch.arange(SIZE[1], device="acme") >= lengths[:, None]


def encoder(norm_first=False, **options):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        16, 2, 32, batch_first=True, dropout=0.0, norm_first=norm_first
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nn.TransformerEncoder(layer, 2, **options).eval().acme()


def attention():
    torch.manual_seed(0)
    return nn.MultiheadAttention(16, 2, batch_first=True).eval().acme()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_an_addmm_with_its_activation_is_cast_as_addmm(dtype):
    a, b, c = (torch.randn(8, 8, device="acme") for _ in range(3))
    with torch.autocast("acme", dtype=dtype):
        result = torch._addmm_activation(a, b, c, use_gelu=False)
        torch.testing.assert_close(result, torch.relu(torch.addmm(a, b, c)))
    assert result.dtype == dtype


@pytest.mark.parametrize("norm_first", [False, True], ids=["", "norm first"])
@pytest.mark.parametrize("weights", DTYPES, ids=str)
@pytest.mark.parametrize("masked", [False, True], ids=["", "masked"])
def test_an_encoder(weights, masked, norm_first):
    net, x = encoder(norm_first).to(weights), source()
    keys = {"src_key_padding_mask": mask()} if masked else {}
    assert_fast_path_changes_nothing(lambda: net(x, **keys))
    assert_fast_path_changes_nothing(lambda: net(x.to(weights), **keys))


@pytest.mark.parametrize("weights", DTYPES, ids=str)
@pytest.mark.parametrize("need_weights", [False, True])
def test_attention(weights, need_weights):
    net, x = attention().to(weights), source()
    for given in (x, x.to(weights)):
        assert_fast_path_changes_nothing(
            lambda x=given: net(x, x, x, need_weights=need_weights, key_padding_mask=mask())
        )


def test_the_fast_path_is_there_without_autocast():
    seen = []

    class Seen(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            seen.append(function.overloadpacket.__name__)
            return function(*arguments, **(keywords or {}))

    net, x = encoder(), source()
    with torch.inference_mode(), Seen():
        net(x)
        assert seen.count("_transformer_encoder_layer_fwd") == 2
        seen.clear()
        with torch.autocast("acme", enabled=False):
            net(x)
        assert "_transformer_encoder_layer_fwd" in seen
        without_fast_path(lambda: seen.clear() or net(x))
        assert "_transformer_encoder_layer_fwd" not in seen


def test_a_compiled_encoder():
    net, x = encoder(), source()
    compiled = torch.compile(net, backend="eager")
    with torch.inference_mode(), torch.autocast("acme", dtype=torch.bfloat16):
        expected = net(x)
        torch.testing.assert_close(compiled(x), expected, rtol=0, atol=0)
    with torch.inference_mode():
        torch.testing.assert_close(compiled(x), net(x))
        assert not torch.equal(net(x), expected)


# What calls the operators under autocast anyway, as modules do that TorchScript has compiled.


@pytest.mark.parametrize("weights", DTYPES, ids=str)
@pytest.mark.parametrize("norm_first", [False, True], ids=["", "norm first"])
def test_the_operator_of_an_encoder_layer(weights, norm_first):
    net, x = encoder(norm_first).layers[0].to(weights), source()
    own = net.self_attn

    def fused(x):
        return torch._transformer_encoder_layer_fwd(
            *(x, 16, 2, own.in_proj_weight, own.in_proj_bias),
            *(own.out_proj.weight, own.out_proj.bias, False, norm_first, net.norm1.eps),
            *(net.norm1.weight, net.norm1.bias, net.norm2.weight, net.norm2.bias),
            *(net.linear1.weight, net.linear1.bias, net.linear2.weight, net.linear2.bias),
        )

    with torch.inference_mode(), torch.autocast("acme", dtype=torch.bfloat16):
        for given in (x, x.to(weights)):
            torch.testing.assert_close(fused(given), net(given), rtol=0.05, atol=0.05)
    net.double()
    with torch.inference_mode(), torch.autocast("acme", dtype=torch.bfloat16):
        assert fused(x.double()).dtype == torch.float64


@pytest.mark.parametrize("weights", DTYPES, ids=str)
def test_the_operator_of_attention(weights):
    net, x = attention().to(weights), source()
    parts = (net.in_proj_weight, net.in_proj_bias, net.out_proj.weight, net.out_proj.bias)
    for need_weights in (False, True):
        with torch.inference_mode(), torch.autocast("acme", dtype=torch.bfloat16):
            result, of_heads = torch._native_multi_head_attention(
                x, x, x, 16, 2, *parts, None, need_weights
            )
            expected, expected_of_heads = net(x, x, x, need_weights=need_weights)
        torch.testing.assert_close(result, expected, rtol=0.05, atol=0.05)
        if need_weights:
            torch.testing.assert_close(of_heads, expected_of_heads, rtol=0.05, atol=0.05)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("weights", DTYPES[:2], ids=str)
def test_a_scripted_encoder_layer(weights):
    layer = encoder().layers[0].to(weights)
    scripted, x = torch.jit.script(layer), source()
    with torch.inference_mode():
        torch.testing.assert_close(scripted(x.to(weights)), layer(x.to(weights)))
        with torch.autocast("acme", dtype=torch.bfloat16):
            torch.testing.assert_close(scripted(x), layer(x), rtol=0.05, atol=0.05)
