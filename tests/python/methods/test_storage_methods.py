"""UntypedStorage.acme() and is_acme, and TypedStorage's."""

import inspect
import types
import warnings

import pytest
import torch

pytestmark = pytest.mark.any_runtime

ACME = torch.device("acme", 0)
VALUES = [1.0, 2.0, 3.0, 4.0]


@pytest.fixture
def untyped() -> torch.UntypedStorage:
    return torch.tensor(VALUES).untyped_storage()


@pytest.fixture
def typed() -> torch.TypedStorage:
    return torch.tensor(VALUES)._typed_storage()


@pytest.fixture
def quiet():
    """Typed storages are deprecated; here that is not the subject."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="TypedStorage is deprecated")
        yield


def values(storage: torch.UntypedStorage) -> list[float]:
    return torch.empty(0, device=storage.device).set_(storage).tolist()


# ---- UntypedStorage


def test_a_storage_goes_there_and_back(untyped):
    there = untyped.acme()
    assert type(there) is torch.UntypedStorage
    assert there.device == ACME and there.get_device() == 0
    assert there.is_acme is True and untyped.is_acme is False
    assert there.nbytes() == untyped.nbytes() == 16
    assert values(there) == VALUES
    back = there.cpu()
    assert back.is_acme is False and values(back) == VALUES


def test_a_storage_that_is_there_is_returned_itself(untyped):
    there = untyped.acme()
    for same in (there.acme(), there.acme(0), there.acme("acme"), there.acme(ACME, True)):
        assert same is there


@pytest.mark.parametrize("device", [None, "acme", torch.device("acme")])
def test_without_an_index_it_is_the_current_device(two_devices, untyped, device):
    there = untyped.acme(0)
    with torch.acme.device(1):
        assert untyped.acme(device).device.index == 1
        assert there.acme(device).device.index == 1
    assert there.acme(device) is there


@pytest.mark.parametrize("device", [1, "acme:1", torch.device("acme", 1)])
def test_a_device_may_be_positional_or_named(two_devices, untyped, device):
    assert untyped.acme(device).device.index == 1
    assert untyped.acme(device=device).device.index == 1
    assert untyped.acme(non_blocking=False, device=device).device.index == 1
    assert torch.acme.current_device() == 0


def test_a_pinned_storage_may_be_copied_without_waiting():
    source = torch.arange(1 << 18, dtype=torch.int32).pin_memory()
    there = source.untyped_storage().acme(0, non_blocking=True)
    torch.acme.synchronize()
    on_device = torch.empty(0, dtype=torch.int32, device="acme").set_(there)
    assert torch.equal(on_device.cpu(), source)


@pytest.mark.parametrize("storage", [torch.UntypedStorage(), torch.UntypedStorage(0)])
def test_an_empty_storage_moves(storage):
    there = storage.acme()
    assert there.is_acme and there.nbytes() == 0
    assert there.acme() is there
    assert there.cpu().nbytes() == 0


def test_a_part_of_a_storage_brings_all_of_it():
    part = torch.tensor(VALUES)[1:3]
    assert values(part.untyped_storage().acme()) == VALUES


def test_tensors_on_one_storage_share_it():
    base = torch.arange(6.0, device="acme")
    storage = base.untyped_storage()
    assert storage.acme() is storage or storage.acme().data_ptr() == storage.data_ptr()
    first = torch.empty(0, device="acme").set_(storage.acme(), 0, (3,))
    second = torch.empty(0, device="acme").set_(storage.acme(), 3, (3,))
    base.add_(1)
    assert first.tolist() == [1, 2, 3] and second.tolist() == [4, 5, 6]


@pytest.mark.parametrize(
    ("device", "error", "words"),
    [
        (True, TypeError, "got bool"),
        (1.0, TypeError, "got float"),
        (b"acme", TypeError, "got bytes"),
        ([0], TypeError, "got list"),
        ("cuda", ValueError, 'got "cuda"'),
        ("cpu", ValueError, 'got "cpu"'),
        (torch.device("cpu"), ValueError, 'got "cpu"'),
        ("acme:", ValueError, 'got "acme:"'),
        ("acme:99", torch.AcceleratorError, "acme:99 does not exist"),
        (99, torch.AcceleratorError, "acme:99 does not exist"),
        (-1, torch.AcceleratorError, "acme:-1 does not exist"),
        (10**40, torch.AcceleratorError, "does not exist"),
    ],
)
def test_a_wrong_device_is_refused(untyped, quiet, typed, device, error, words):
    for storage in (untyped, untyped.acme(), typed):
        with pytest.raises(error) as caught:
            storage.acme(device)
        assert words in str(caught.value) and "acme" in str(caught.value)
        assert "Exception raised from" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "keywords", "words"),
    [
        ((0, False, 1), {}, "takes from 1 to 3 positional arguments but 4 were given"),
        ((0,), {"device": 0}, "multiple values for argument 'device'"),
        ((0, True), {"non_blocking": True}, "multiple values for argument 'non_blocking'"),
        ((0, 1), {}, "'non_blocking' must be bool, not int"),
        ((), {"memory_format": torch.channels_last}, "keyword argument 'memory_format'"),
    ],
)
def test_wrong_arguments_are_type_errors(untyped, quiet, typed, arguments, keywords, words):
    for storage in (untyped, typed):
        with pytest.raises(TypeError, match=words):
            storage.acme(*arguments, **keywords)


def test_a_sparse_storage_is_refused_in_pytorchs_words(untyped):
    class Sparse(torch.UntypedStorage):
        is_sparse = True

    refused = "^Can not support a sparse storage move to acme backend$"
    with pytest.raises(RuntimeError, match=refused):
        Sparse(4).acme()
    # What is there already is returned before that, as PyTorch's own does.
    there = Sparse(4, device="acme")
    assert there.acme() is there


def test_an_error_in_is_sparse_comes_through():
    class Broken(torch.UntypedStorage):
        @property
        def is_sparse(self):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        Broken(4).acme()


def test_a_meta_storage_has_nothing_to_copy():
    with pytest.raises(NotImplementedError, match="meta"):
        torch.empty(2, device="meta").untyped_storage().acme()


def test_a_class_that_holds_no_storage_is_refused():
    empty = torch.storage._StorageBase()
    with pytest.raises(TypeError, match=r"expected a torch\.UntypedStorage, got _StorageBase"):
        _ = empty.is_acme
    with pytest.raises(TypeError, match=r"expected a torch\.UntypedStorage, got _StorageBase"):
        empty.acme()


@pytest.mark.parametrize("kind", [torch.UntypedStorage, torch.TypedStorage])
def test_unbound_calls_need_a_storage(kind):
    for wrong in (1, "storage", torch.ones(1)):
        with pytest.raises(TypeError, match="doesn't apply to"):
            kind.acme(wrong)
        with pytest.raises(TypeError, match="doesn't apply to"):
            kind.is_acme.__get__(wrong)


@pytest.mark.parametrize("kind", [torch.UntypedStorage, torch.TypedStorage])
def test_they_are_descriptors_that_explain_themselves(kind):
    assert type(kind.acme) is types.MethodDescriptorType
    assert type(kind.is_acme) is types.GetSetDescriptorType
    assert kind.acme.__name__ == "acme" and kind.is_acme.__name__ == "is_acme"
    assert "acme device" in kind.acme.__doc__ and "non_blocking" in kind.acme.__doc__
    assert "acme" in kind.is_acme.__doc__
    assert str(inspect.signature(kind.acme)) == "(self, /, device=None, non_blocking=False)"
    storage = kind(4)
    assert str(inspect.signature(storage.acme)) == "(device=None, non_blocking=False)"


@pytest.mark.parametrize("kind", [torch.UntypedStorage, torch.TypedStorage])
def test_is_acme_is_read_only(kind):
    storage = kind(4)
    with pytest.raises(AttributeError):
        storage.is_acme = True
    with pytest.raises(AttributeError):
        del storage.is_acme


def test_failed_calls_leave_the_storage_alone(untyped):
    with pytest.raises(torch.AcceleratorError):
        untyped.acme(99)
    assert untyped.device.type == "cpu" and values(untyped) == VALUES


# ---- TypedStorage


def test_a_typed_storage_goes_there_and_back(quiet, typed):
    there = typed.acme()
    assert type(there) is torch.TypedStorage
    assert there.dtype == torch.float32 and there.device == ACME
    assert there.is_acme is True and typed.is_acme is False
    assert there.tolist() == VALUES and len(there) == 4
    assert there.cpu().tolist() == VALUES
    assert there.acme().untyped() is there.untyped()
    assert there.acme(0, True).data_ptr() == there.data_ptr()


def test_a_typed_storage_takes_a_device(quiet, two_devices, typed):
    assert typed.acme(1).device.index == 1
    assert typed.acme(device="acme:1", non_blocking=True).acme(0).tolist() == VALUES


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float64,
        torch.bfloat16,
        torch.int8,
        torch.bool,
        torch.complex64,
        torch.qint8,
        torch.quint8,
        torch.qint32,
    ],
)
def test_every_dtype_is_kept(quiet, dtype):
    bytes_ = torch.arange(1, 17, dtype=torch.uint8)
    storage = torch.TypedStorage(wrap_storage=bytes_.untyped_storage(), dtype=dtype)
    there = storage.acme()
    assert there.dtype == dtype and there.is_acme
    assert there.size() == storage.size()
    back = torch.empty(0, dtype=torch.uint8).set_(there.untyped().cpu())
    assert torch.equal(back, bytes_)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_the_storage_of_a_quantized_tensor_moves(quiet):
    quantized = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    there = quantized._typed_storage().acme()
    assert there.dtype == torch.qint8 and there.is_acme
    bytes_ = torch.empty(0, dtype=torch.int8, device="acme").set_(there.untyped())
    assert bytes_.tolist() == [10, 10, 10]


def test_a_legacy_class_becomes_a_typed_storage(quiet):
    # As .cuda() of one does: the legacy classes are the CPU's.
    there = torch.FloatStorage(VALUES).acme()
    assert type(there) is torch.TypedStorage and there.dtype == torch.float32
    assert there.is_acme and there.tolist() == VALUES


def test_a_legacy_class_knows_no_instance_of_the_device(quiet, typed):
    assert isinstance(typed, torch.FloatStorage)
    assert not isinstance(typed.acme(), torch.FloatStorage)


# ---- the deprecation of typed storages


@pytest.fixture
def warned_afresh():
    """PyTorch warns of typed storages once in a process."""
    torch.storage._reset_warn_typed_storage_removal()
    yield
    torch.storage._reset_warn_typed_storage_removal()


def read_property(storage):
    return storage.is_acme  # the line that the warning names


def call_method(storage):
    return storage.acme()  # the line that the warning names


@pytest.mark.parametrize("use", [read_property, call_method])
def test_a_typed_storage_warns_at_the_callers_line(warned_afresh, typed, use):
    with pytest.warns(UserWarning, match="TypedStorage is deprecated") as caught:
        use(typed)
    assert len(caught) == 1
    assert caught[0].category is UserWarning
    assert caught[0].filename == __file__
    assert caught[0].lineno == use.__code__.co_firstlineno + 1


def test_it_warns_once(warned_afresh, typed):
    with pytest.warns(UserWarning) as caught:
        typed.acme()
        typed.acme()
        _ = typed.is_acme
    assert len(caught) == 1


@pytest.mark.parametrize("use", [read_property, call_method])
def test_a_warning_that_is_an_error_comes_through(warned_afresh, typed, use):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="TypedStorage is deprecated"):
            use(typed)


def test_a_call_that_is_none_does_not_warn(warned_afresh, typed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError):
            typed.acme(colour=1)


def test_an_untyped_storage_does_not_warn(warned_afresh, untyped):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert untyped.acme().is_acme


# ---- a backend that cannot hold every dtype

UNSUPPORTED = """
import torch
import outback_probe as probe

probe.register("foo", unsupported_dtypes=[torch.float64, torch.bfloat16])


def refused(error, words, call):
    try:
        call()
    except error as caught:
        assert words in str(caught), caught
        assert "Exception raised from" not in str(caught), caught
    else:
        raise AssertionError("accepted")
"""


@pytest.fixture
def run_without_float64(run_python, probe_path):
    def run(source: str):
        return run_python(
            UNSUPPORTED + source, PYTHONPATH=probe_path, TORCH_DEVICE_BACKEND_AUTOLOAD="0"
        )

    return run


def test_an_unsupported_dtype_is_refused_of_storages(run_without_float64):
    # In PyTorch's words, of unsupported_dtype in generate_methods_for_privateuse1_backend.
    run_without_float64(
        """
import warnings
warnings.filterwarnings("ignore", message="TypedStorage is deprecated")
words = "Cannot create foo storage as torch.float64 dtype is not supported by this backend"
typed = torch.TypedStorage(4, dtype=torch.float64)
refused(RuntimeError, words, typed.foo)
refused(RuntimeError, words, lambda: typed.foo("no device at all"))
refused(RuntimeError, words, lambda: torch.DoubleStorage(2).foo())
assert typed.untyped().foo().is_foo  # bytes have no dtype
assert torch.TypedStorage(4, dtype=torch.float32).foo().is_foo
assert typed.is_foo is False
"""
    )


def test_an_unsupported_dtype_is_refused_of_tensors(run_without_float64):
    run_without_float64(
        """
double, single = torch.ones(2, dtype=torch.float64), torch.ones(2).foo()
for call in (
    double.foo,
    lambda: single.foo(dtype=torch.float64),
    lambda: torch.empty(2, dtype=torch.float64, device="foo"),
    lambda: torch.zeros(0, dtype=torch.float64, device="foo"),
    lambda: torch.tensor([1.0], dtype=torch.float64, device="foo"),
    lambda: torch.empty_like(double, device="foo"),
    lambda: torch.empty_strided((2,), (1,), dtype=torch.float64, device="foo"),
    lambda: single.new_zeros(2, dtype=torch.float64),
    lambda: torch.rand(2, dtype=torch.float64, device="foo"),
    lambda: torch.arange(2, dtype=torch.float64, device="foo"),
    lambda: double.to("foo"),
    lambda: single.to(torch.float64),
    lambda: single.double(),
    lambda: single.type(torch.float64),
    lambda: single.sum(dtype=torch.float64),
    lambda: torch.ones(1, dtype=torch.complex128, device="foo").abs(),
    lambda: torch.nn.utils.rnn.pack_sequence([double]).foo(),
    lambda: single.view(torch.float64),
):
    refused(TypeError, "torch.float64", call)
    refused(TypeError, "foo", call)
refused(TypeError, "torch.bfloat16", single.bfloat16)
assert double.foo(dtype=torch.float32).is_foo  # converted on the way
assert double.is_foo is False
assert single.copy_(double).dtype == torch.float32
assert (torch.ones(1, dtype=torch.int64, device="foo") * 1.5).dtype == torch.float32
"""
    )


def test_a_module_with_an_unsupported_dtype_does_not_move_by_halves(run_without_float64):
    run_without_float64(
        """
from torch import nn

class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(1, 1)
        self.second = nn.Linear(1, 1, dtype=torch.float64)
        self.register_buffer("third", torch.ones(1, dtype=torch.bfloat16), persistent=False)

def places():
    return {tensor.device.type for tensor in [*module.parameters(), *module.buffers()]}

module = Mixed()
words = 'cannot move the module: "second.weight" is torch.float64, a dtype that foo does not'
refused(TypeError, words, module.foo)
assert places() == {"cpu"}
module.second.float()
refused(TypeError, '"third" is torch.bfloat16', module.foo)
assert places() == {"cpu"}
module.float()
assert module.foo() is module and places() == {"foo"}
refused(TypeError, "torch.float64", module.double)
assert places() == {"foo"}
refused(TypeError, '"weight" is torch.float64', nn.LazyLinear(1, dtype=torch.float64).foo)
refused(TypeError, '"0.weight" is torch.float64', nn.Sequential(nn.Linear(1, 1)).double().foo)
"""
    )


def test_an_unsupported_dtype_is_not_offered(run_without_float64):
    run_without_float64(
        """
if hasattr(torch.accelerator, "get_device_capability"):
    dtypes = torch.accelerator.get_device_capability("foo")["supported_dtypes"]
    assert torch.float64 not in dtypes and torch.bfloat16 not in dtypes
    assert {torch.float32, torch.float16, torch.int64, torch.complex128} <= dtypes
amp = torch.foo.get_amp_supported_dtype()
assert torch.bfloat16 not in amp and torch.float64 not in amp
assert torch.foo.is_bf16_supported() is False
"""
    )


def test_a_tensor_can_be_printed_without_float64(run_without_float64):
    # PyTorch computes the columns in float64 except on devices that it knows not to have it.
    run_without_float64(
        """
assert repr(torch.tensor([1.5, 2.5]).foo()) == "tensor([1.5000, 2.5000], device='foo:0')"
"""
    )
