"""What else knows of the methods: torch.overrides, and what PyTorch's own generator may replace."""

import pytest
import torch
from torch.overrides import (
    get_default_nowrap_functions,
    get_ignored_functions,
    get_overridable_functions,
    get_testing_overrides,
    handle_torch_function,
    has_torch_function_unary,
    is_tensor_method_or_property,
    resolve_name,
)

pytestmark = pytest.mark.any_runtime

# ---- torch.overrides: the same as of cuda() and is_cuda

PAIRS = [
    pytest.param(torch.Tensor.acme, torch.Tensor.cuda, id="method"),
    pytest.param(torch.Tensor.is_acme.__get__, torch.Tensor.is_cuda.__get__, id="property"),
]


def in_testing_overrides(function) -> bool:
    return function in get_testing_overrides()


def in_ignored_functions(function) -> bool:
    return function in get_ignored_functions()


def in_nowrap_functions(function) -> bool:
    return function in get_default_nowrap_functions()


def in_overridable_methods(function) -> bool:
    return function in get_overridable_functions()[torch.Tensor]


@pytest.mark.parametrize(
    "says",
    [
        in_testing_overrides,
        in_ignored_functions,
        in_nowrap_functions,
        in_overridable_methods,
        is_tensor_method_or_property,
    ],
)
@pytest.mark.parametrize(("ours", "torchs"), PAIRS)
def test_the_lists_have_ours_where_they_have_torchs(says, ours, torchs):
    assert says(ours) == says(torchs)


def test_the_property_is_overridable_as_torchs_is():
    functions = get_overridable_functions()
    assert functions[torch.Tensor.is_cuda] == [torch.Tensor.is_cuda.__get__]
    assert functions[torch.Tensor.is_acme] == [torch.Tensor.is_acme.__get__]


def test_names_lead_back_to_the_functions():
    for function, name in [
        (torch.Tensor.acme, "torch.Tensor.acme"),
        (torch.Tensor.is_acme.__get__, "torch.Tensor.is_acme.__get__"),
        (torch.Tensor.is_acme.__set__, "torch.Tensor.is_acme.__set__"),
    ]:
        assert resolve_name(function) == name
        assert eval(name) == function


def test_the_testing_override_of_the_method_takes_what_it_takes():
    override = get_testing_overrides()[torch.Tensor.acme]
    assert override(torch.ones(1)) == -1


def test_what_was_asked_early_is_asked_again(run_python):
    # Each of these keeps its answer: one from before the import would lack ours.
    run_python(
        """
        import torch
        from torch.overrides import is_tensor_method_or_property, resolve_name
        assert is_tensor_method_or_property(torch.Tensor.add)
        assert resolve_name(torch.Tensor.add) == "torch.Tensor.add"
        import torch_acme
        method, get = torch.Tensor.acme, torch.Tensor.is_acme.__get__
        assert resolve_name(method) == "torch.Tensor.acme"
        assert resolve_name(get) == "torch.Tensor.is_acme.__get__"
        assert is_tensor_method_or_property(get)
        assert is_tensor_method_or_property(method), "torch.overrides._get_tensor_methods"
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


def test_an_overriding_class_can_hand_on_to_the_method():
    # The pattern of PyTorch's own docs: a Python function that defers to __torch_function__.
    class Logging:
        @classmethod
        def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
            return resolve_name(function)

    def move(tensor):
        if has_torch_function_unary(tensor):
            return handle_torch_function(torch.Tensor.acme, (tensor,), tensor)
        return tensor.acme()

    assert move(Logging()) == "torch.Tensor.acme"
    assert move(torch.ones(1)).is_acme


@pytest.mark.parametrize("wrong", [1, "tensor", [torch.ones(1)], torch.nn.Linear(1, 1)])
def test_unbound_calls_need_a_tensor(wrong):
    with pytest.raises(TypeError, match=r"'acme' for '.*' objects doesn't apply to"):
        torch.Tensor.acme(wrong)
    with pytest.raises(TypeError, match=r"'is_acme' for '.*' objects doesn't apply to"):
        torch.Tensor.is_acme.__get__(wrong)


def test_unbound_calls_without_a_tensor_say_so():
    with pytest.raises(TypeError, match="needs an argument"):
        torch.Tensor.acme()
    with pytest.raises(TypeError, match="needs an argument"):
        torch.Tensor.acme(device=0)


def test_the_base_class_is_left_as_it_is():
    # Ours are Tensor's, as the methods of torch/_tensor.py are: nothing is added to the C++ class.
    assert "acme" in vars(torch.Tensor) and "is_acme" in vars(torch.Tensor)
    assert not hasattr(torch._C.TensorBase, "acme")
    assert not hasattr(torch._C.TensorBase, "is_acme")


# ---- PyTorch's own generator, called after the registration

OURS = """
import itertools
import torch

CLASSES = [
    torch.Tensor, torch.nn.Module, torch.nn.utils.rnn.PackedSequence,
    torch.storage._StorageBase, torch.UntypedStorage, torch.TypedStorage,
]
GROUPS = ["for_tensor", "for_module", "for_packed_sequence", "for_storage"]
generate = torch.utils.generate_methods_for_privateuse1_backend


def snapshot():
    return (
        [dict(vars(cls)) for cls in CLASSES],
        torch._C._get_privateuse1_backend_name(),
        torch.utils.backend_registration._privateuse1_backend_name,
        dir(torch), dir(torch._C), sorted(vars(torch.Tensor)),
    )


def refused(call, *words):
    before = snapshot()
    try:
        call()
    except RuntimeError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("accepted")
    assert snapshot() == before


def works(name):
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2)])
    for thing in (torch.ones(1), packed, torch.UntypedStorage(4)):
        assert getattr(thing, f"is_{name}") is False
        assert getattr(getattr(thing, name)(), f"is_{name}") is True
    module = getattr(torch.nn.Linear(1, 1), name)()
    assert getattr(module.weight, f"is_{name}") is True
"""


def test_torchs_generator_changes_nothing_of_ours(run_python):
    run_python(
        OURS
        + """
import torch_acme
for chosen in itertools.product([False, True], repeat=4):
    options = dict(zip(GROUPS, chosen))
    if any(chosen):
        refused(lambda: generate(**options), "already been registered", "acme")
    else:
        before = snapshot()
        generate(**options)
        assert snapshot() == before
refused(generate, "already been registered")
refused(lambda: generate(for_storage=True, unsupported_dtype=[torch.float64]), "already")
works("acme")
"""
    )


def test_a_second_name_changes_nothing_of_ours(run_python):
    run_python(
        OURS
        + """
import torch_acme
for name in ("acme", "acme"):
    torch.utils.rename_privateuse1_backend(name)
refused(lambda: torch.utils.rename_privateuse1_backend("other"), "acme")
refused(lambda: torch.utils.rename_privateuse1_backend("cuda"))
works("acme")
assert torch.device("acme:0").type == "acme" and torch.Tensor.acme.__name__ == "acme"
assert torch._C._autograd.DeviceType.ACME == torch._C._autograd.DeviceType.PrivateUse1
"""
    )


# ---- methods that were left out


@pytest.fixture
def run_probe(run_python, probe_path):
    def run(source: str):
        prelude = OURS + "import outback_probe as probe\n"
        return run_python(
            prelude + source, PYTHONPATH=probe_path, TORCH_DEVICE_BACKEND_AUTOLOAD="0"
        )

    return run


@pytest.mark.parametrize(
    ("left_out", "generated", "classes"),
    [
        ("module_methods", "for_module", "[torch.nn.Module]"),
        ("packed_sequence_methods", "for_packed_sequence", "[torch.nn.utils.rnn.PackedSequence]"),
        (
            "storage_methods",
            "for_storage",
            "[torch.storage._StorageBase, torch.UntypedStorage, torch.TypedStorage]",
        ),
    ],
)
def test_a_group_can_be_left_out_and_torchs_own_made(run_probe, left_out, generated, classes):
    run_probe(
        f"""
probe.register("foo", {left_out}=False)
without = {classes}
for cls in CLASSES:
    assert hasattr(cls, "foo") is (cls not in without), cls
    if cls is not torch.nn.Module:
        assert hasattr(cls, "is_foo") is (cls not in without), cls

before = [vars(cls).get("foo") for cls in CLASSES if cls not in without]
refused(lambda: generate(), "already")
generate(**{{group: group == "{generated}" for group in GROUPS}})
assert [vars(cls).get("foo") for cls in CLASSES if cls not in without] == before
works("foo")
assert type(without[0].foo).__name__ == "function"
"""
    )


def test_all_can_be_left_out_and_torchs_own_made(run_probe):
    run_probe(
        """
probe.register("foo", tensor_methods=False, module_methods=False,
               packed_sequence_methods=False, storage_methods=False)
for cls in CLASSES:
    assert not hasattr(cls, "foo") and not hasattr(cls, "is_foo"), cls
generate(for_storage=True)
works("foo")
assert type(torch.Tensor.foo).__name__ == "function"
"""
    )


def test_what_needs_the_tensors_methods_is_refused_without_them(run_probe):
    run_probe(
        """
for wanted, needs in [
    ({"module_methods": False}, "PackedSequence.foo() needs Tensor.foo()"),
    ({"packed_sequence_methods": False}, "Module.foo() needs Tensor.foo()"),
    ({}, "leave tensor_methods on"),
]:
    refused(lambda: probe.register("foo", tensor_methods=False, **wanted), needs)
# Storages need nothing.
probe.register("foo", tensor_methods=False, module_methods=False, packed_sequence_methods=False)
assert torch.UntypedStorage(4).foo().is_foo
assert not hasattr(torch.Tensor, "foo") and not hasattr(torch.nn.Module, "foo")
assert torch.ones(1, device="foo").device.type == "foo"
"""
    )


def test_a_storage_attribute_of_a_user_is_kept(run_probe):
    run_probe(
        """
torch.TypedStorage.is_foo = "mine"
refused(lambda: probe.register("foo"), "torch.TypedStorage", '"is_foo"')
torch.nn.utils.rnn.PackedSequence.foo = lambda self: "mine"
refused(lambda: probe.register("foo"), "torch.nn.utils.rnn.PackedSequence", '"foo"', "__main__")
assert torch.TypedStorage.is_foo == "mine"
probe.register("foo", storage_methods=False, packed_sequence_methods=False)
assert torch.ones(1).foo().is_foo
"""
    )
