"""Which operators autocast casts, held against torch's own rules for CUDA, operator by operator."""

import pytest
import torch
from torch.testing._internal.autocast_test_lists import AutocastTestLists

pytestmark = pytest.mark.any_runtime

# torch's own cases for CUDA; each list stands for a policy. On the CPU, they are only names.
LISTS = AutocastTestLists(torch.device("cpu"))


def with_kernel(key: str) -> set[str]:
    return {
        name
        for name in torch._C._dispatch_get_all_op_names()
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
    }


def test_the_same_operators_have_rules_as_on_cuda():
    cuda = with_kernel("AutocastCUDA")
    assert len(cuda) > 90, "this torch has no rules for CUDA to compare with"
    ours = {name for name in with_kernel("AutocastPrivateUse1") if name.startswith("aten::")}
    # torch.nn leaves these alone under CUDA's autocast, which it asks for by name.
    of_fast_paths = {
        "aten::_addmm_activation",
        "aten::_native_multi_head_attention",
        "aten::_transformer_encoder_layer_fwd",
    }
    assert ours == {name for name in cuda if "cudnn" not in name} | of_fast_paths


def cases(name: str) -> list:
    return [
        pytest.param(name, index, id=f"{index}-{case[0]}")
        for index, case in enumerate(getattr(LISTS, name))
    ]


@pytest.fixture(scope="module")
def lists() -> AutocastTestLists:
    return AutocastTestLists(torch.device("acme"))


def cast(value, dtype: torch.dtype):
    """As torch's own test: every floating-point tensor."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, list | tuple):
        return type(value)(cast(element, dtype) for element in value)
    return value


def run(module, name: str, arguments, keywords):
    if module is not None and hasattr(module, name):
        return getattr(module, name)(*arguments, **keywords)
    return getattr(arguments[0], name)(*arguments[1:], **keywords)


def first(result) -> torch.Tensor:
    while not isinstance(result, torch.Tensor):
        result = result[0]
    return result


def check(lists, where: str, index: int, module, run_as: torch.dtype | None, lower: torch.dtype):
    name, arguments, *rest = getattr(lists, where)[index]
    keywords = next((each for each in rest if isinstance(each, dict)), {})
    given = next((each for each in rest if isinstance(each, torch.dtype)), None)
    with torch.autocast("acme", dtype=lower):
        try:
            found = run(module, name, arguments, keywords)
        except RuntimeError as error:
            if "not implemented for" not in str(error):
                raise
            pytest.skip(str(error).splitlines()[0])
        if run_as is not None:
            expected_dtype = given or run_as
            assert first(found).dtype == expected_dtype
            with torch.autocast("acme", enabled=False):
                control = run(module, name, cast(arguments, run_as), keywords)
            torch.testing.assert_close(found, control, equal_nan=True)
        elif isinstance(found, torch.Tensor):  # torch.equal answers a bool
            assert found.dtype == given


@pytest.mark.parametrize("lower", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("where", "index"), cases("torch_fp16"))
def test_in_lower_precision(lists, where, index, lower):
    name = getattr(LISTS, where)[index][0]
    if name.startswith("cudnn"):
        pytest.skip("an operator of CUDA's own")
    if name == "einsum":
        pytest.skip("torch's list has no tuple of arguments for it")
    check(lists, where, index, torch, lower, lower)


@pytest.mark.parametrize(("where", "index"), cases("nn_fp16"))
def test_modules_in_lower_precision(lists, where, index):
    check(lists, where, index, torch._C._nn, torch.bfloat16, torch.bfloat16)


@pytest.mark.parametrize(("where", "index"), cases("torch_fp32"))
def test_in_float32(lists, where, index):
    check(lists, where, index, torch, torch.float32, torch.float16)


@pytest.mark.skipif(not hasattr(torch.linalg, "matrix_sqrth"), reason="comes with torch 2.14")
def test_what_torch_has_a_rule_for_and_no_list():
    x = torch.eye(3, device="acme", dtype=torch.bfloat16)
    with torch.autocast("acme", dtype=torch.bfloat16):
        assert torch.linalg.matrix_sqrth(x).dtype == torch.float32


@pytest.mark.parametrize(("where", "index"), cases("nn_fp32"))
def test_modules_in_float32(lists, where, index):
    check(lists, where, index, torch._C._nn, torch.float32, torch.float16)


@pytest.mark.parametrize(("where", "index"), cases("methods_fp32"))
def test_methods_in_float32(lists, where, index):
    check(lists, where, index, None, torch.float32, torch.float16)


@pytest.mark.parametrize(("where", "index"), cases("torch_need_autocast_promote"))
def test_promoted_to_the_widest(lists, where, index):
    check(lists, where, index, torch, torch.float32, torch.float16)


@pytest.mark.parametrize(
    ("where", "index"),
    [*cases("torch_expect_builtin_promote"), *cases("methods_expect_builtin_promote")],
)
def test_what_promotes_by_itself_is_left_alone(lists, where, index):
    module = torch if where.startswith("torch") else None
    check(lists, where, index, module, None, torch.float16)


@pytest.mark.parametrize(("where", "index"), cases("nn_fp16"))
def test_nothing_is_cast_outside(lists, where, index):
    name, arguments, *_ = getattr(lists, where)[index]
    arguments = cast(arguments, torch.float32)
    assert first(run(torch._C._nn, name, arguments, {})).dtype == torch.float32
    with torch.autocast("acme", dtype=torch.bfloat16), torch.autocast("acme", enabled=False):
        assert first(run(torch._C._nn, name, arguments, {})).dtype == torch.float32
