"""torch.acme._normalize_device and torch.acme._utils._get_device_index: what may name a device."""

import inspect
import re

import pytest
import torch
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.any_runtime

NORMALIZE = torch.acme._normalize_device
GET_INDEX = torch.acme._utils._get_device_index
BOTH = pytest.mark.parametrize("function", [NORMALIZE, GET_INDEX], ids=["normalize", "get_index"])

LARGEST = 127  # c10::DeviceIndex is an int8_t


class Index:
    """Stands for an int, as numpy's integers do."""

    def __init__(self, value) -> None:
        self.value = value

    def __index__(self):
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


class Text(str):
    """A str whose str() is another one: what counts is what it holds."""

    def __str__(self) -> str:
        return "acme:99"


class Int(int):
    pass


# ---- what is accepted


@BOTH
@pytest.mark.parametrize(
    "device",
    [1, Int(1), Index(1), torch.tensor(1), "acme:1", Text("acme:1"), torch.device("acme", 1)],
)
def test_an_index_has_many_spellings(two_devices, function, device):
    assert function(device) == 1
    assert type(function(device)) is int


@BOTH
@pytest.mark.parametrize("kind", ["int8", "uint8", "int64", "uint64"])
def test_numpy_integers_are_integers(function, kind):
    numpy = pytest.importorskip("numpy")
    assert function(getattr(numpy, kind)(0)) == 0
    assert function(numpy.array(0, dtype=kind)) == 0


@pytest.mark.parametrize("device", [None, "acme", Text("acme"), torch.device("acme")])
def test_without_an_index_it_is_the_current_device(two_devices, device):
    assert NORMALIZE(device) == 0
    with torch.acme.device(1):
        assert NORMALIZE(device) == NORMALIZE() == NORMALIZE(device=device) == 1
        assert GET_INDEX(device, True) == GET_INDEX(device, optional=True) == 1


@pytest.mark.parametrize("device", [None, "acme", torch.device("acme")])
def test_an_index_may_be_demanded(device):
    words = 'expected an index or a device with one, such as "acme:0", got none'
    for refused in (
        lambda: NORMALIZE(device, False),
        lambda: NORMALIZE(device, optional=False),
        lambda: GET_INDEX(device),
        lambda: GET_INDEX(device, allow_cpu=True),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
            refused()
    assert NORMALIZE(0, optional=False) == NORMALIZE("acme:0", False) == 0


@BOTH
@pytest.mark.parametrize("device", ["cpu", "cpu:0", torch.device("cpu"), torch.device("cpu", 0)])
def test_the_cpu_is_minus_one_where_it_is_allowed(function, device):
    assert function(device, allow_cpu=True) == -1
    assert function(device, True, True) == -1
    with pytest.raises(ValueError, match=r'acme.*, got "cpu(:0)?"$'):
        function(device)


@BOTH
def test_a_message_names_the_cpu_only_where_it_is_allowed(function):
    for device in ("cuda", torch.device("cuda", 0)):
        with pytest.raises(ValueError, match=' or "cpu", got "cuda'):
            function(device, allow_cpu=True)
        with pytest.raises(ValueError) as caught:
            function(device)
        assert "cpu" not in str(caught.value)


@BOTH
def test_minus_one_is_no_other_name_of_the_cpu(function):
    with pytest.raises(torch.AcceleratorError, match="acme:-1 does not exist"):
        function(-1, allow_cpu=True)


# ---- what is refused

KINDS = 'expected a device as an int, "acme", "acme:<index>", a torch.device or None, got '


@BOTH
@pytest.mark.parametrize(
    ("device", "kind"),
    [
        (True, "bool"),
        (False, "bool"),
        (1.0, "float"),
        (1j, "complex"),
        (b"acme", "bytes"),
        (bytearray(b"acme"), "bytearray"),
        ([0], "list"),
        (("acme", 0), "tuple"),
        ({}, "dict"),
        (object(), "object"),
        (int, "type"),
        (torch.float32, "torch.dtype"),
        (torch.tensor([0, 0]), "Tensor"),
        (torch.tensor(0.0), "Tensor"),
        (Index("0"), "Index"),
        (Index(TypeError("mine")), "Index"),
    ],
)
def test_another_kind_of_object_is_a_type_error(function, device, kind):
    with pytest.raises(TypeError, match=f"^{re.escape(KINDS + kind)}$"):
        function(device)


@BOTH
@pytest.mark.parametrize("kind", ["bool_", "float32", "complex64"])
def test_other_numpy_scalars_are_refused(function, kind):
    numpy = pytest.importorskip("numpy")
    with pytest.raises(TypeError, match=KINDS + "numpy"):
        function(getattr(numpy, kind)(0))


@BOTH
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, LookupError])
def test_what_an_index_raises_comes_through(function, error):
    # Not a matter of its type: an interrupt, above all, must not become a TypeError.
    with pytest.raises(error, match="mine"):
        function(Index(error("mine")))


@BOTH
@pytest.mark.parametrize("index", [-1, -128, -129, 99, 127, 128, 255, 256, 300, -300])
@pytest.mark.parametrize("make", [int, Int, Index])
def test_an_index_out_of_range_is_an_index_error(function, index, make):
    with pytest.raises(
        torch.AcceleratorError, match=rf"^acme:{index} does not exist: expected an index"
    ):
        function(make(index))


@BOTH
@pytest.mark.parametrize(
    "index", [2**31, 2**32, 2**63 - 1, 2**63, 2**64, 10**40, -(2**63), -(10**40)]
)
def test_a_huge_index_is_named_whole(function, index):
    # 2**32 and 2**64 are 0 in fewer bits.
    with pytest.raises(torch.AcceleratorError, match=rf"^acme:{index} does not exist"):
        function(index)
    with pytest.raises(torch.AcceleratorError, match=rf"^acme:{index} does not exist"):
        function(Index(index))


def test_the_number_of_devices_is_in_the_message():
    for device in (99, "acme:99", "acme:9999", torch.device("acme", 99)):
        with pytest.raises(torch.AcceleratorError, match=rf"\b{torch.acme.device_count()}\b"):
            NORMALIZE(device)


MALFORMED = [
    "",
    " ",
    ":",
    ":0",
    "0",
    "ac",
    "acmes",
    "acme0",
    "acme ",
    " acme",
    "Acme",
    "ACME:0",
    "acme:",
    "acme::0",
    "acme:0:0",
    "acme:x",
    "acme: 0",
    "acme:0 ",
    "acme:0\n",
    "acme:+0",
    "acme:-0",
    "acme:-1",
    "acme:00",
    "acme:01",
    "acme:0x0",
    "acme:0.0",
    "acme:1_0",
    "acme:\u0660",  # a zero, in Arabic
    "\u0430cme:0",  # an "a", in Cyrillic
]


@pytest.mark.parametrize("device", MALFORMED)
def test_malformed_text_is_a_value_error(device):
    words = f'expected "acme" or "acme:<index>", got "{device}"'
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        NORMALIZE(device)


@pytest.mark.parametrize("device", ["acme:\0", "acme\0", "acme:0\0", "acme:0\0cuda"])
def test_a_null_character_ends_nothing_but_the_message(device):
    with pytest.raises(ValueError, match=r'^expected "acme" or "acme:<index>", got "acme'):
        NORMALIZE(device)


def test_torch_load_gets_a_value_error_too():
    others = {}
    for device in [*MALFORMED, "cuda", "cuda:0", "cpu", "meta"]:
        try:
            others[device] = GET_INDEX(device, True)
        except ValueError as error:
            assert "acme" in str(error)
        except Exception as error:
            others[device] = error
    assert not others


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cpu", "cpu:1", "meta", "mps"])
def test_the_text_of_another_device_is_a_value_error(device):
    words = f'expected "acme" or "acme:<index>", got "{device}"'
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        NORMALIZE(device)


@pytest.mark.parametrize("device", [torch.device("cuda", 0), torch.device("meta")])
@BOTH
def test_another_device_is_a_value_error(function, device):
    words = f'expected a device of type acme, got "{device}"'
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        function(device)


@BOTH
@pytest.mark.parametrize("device", ["\ud800", "acme:\ud800", "acme\udfff"])
def test_lone_surrogates_are_pythons_own_error(function, device):
    with pytest.raises(UnicodeEncodeError):
        function(device)


def test_torchs_internal_name_is_understood_as_torch_does(two_devices):
    # torch.device("privateuseone:1") is acme:1, so PyTorch's generated methods take the text.
    assert torch.device("privateuseone:1") == torch.device("acme", 1)
    for function in (NORMALIZE, GET_INDEX):
        assert function("privateuseone:1", optional=True) == 1
        assert function("privateuseone", optional=True) == 0


# ---- torch.load's own check


@pytest.mark.parametrize("device", ["acme:99", torch.device("acme", 99)])
def test_torch_load_checks_the_range_itself(device):
    # Its error names the remedy, map_location.
    assert GET_INDEX(device) == 99


@pytest.mark.parametrize("index", [128, 255, 256, 257, 384, 65536, 2**32, 10**20])
def test_an_index_in_text_does_not_wrap_around(index):
    # torch.device("acme:256") is acme:0, which would be a wrong device, silently.
    with pytest.raises(torch.AcceleratorError, match=f"acme:{index} does not exist"):
        NORMALIZE(f"acme:{index}")
    if index < 2**63:
        assert GET_INDEX(f"acme:{index}") == index  # torch.load checks the range itself
    else:
        with pytest.raises(torch.AcceleratorError, match=f"acme:{index} does not exist"):
            GET_INDEX(f"acme:{index}")


# ---- how it is called


def test_wrong_arguments_are_type_errors():
    for wrong in (
        lambda: NORMALIZE(0, True, False, 1),
        lambda: NORMALIZE(0, device=0),
        lambda: NORMALIZE(index=0),
        lambda: GET_INDEX(),
        lambda: GET_INDEX(0, device=0),
        lambda: GET_INDEX(0, True, False, 1),
        lambda: GET_INDEX(index=0),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_the_signature_is_readable():
    signature = inspect.signature(NORMALIZE)
    assert str(signature) == "(device=None, optional=True, allow_cpu=False)"


def test_an_error_in_a_flag_comes_through():
    class Unsure:
        def __bool__(self) -> bool:
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        NORMALIZE(0, Unsure())


def test_it_starts_no_device(run_python):
    run_python(
        """
        import torch, torch_acme
        normalize = torch.acme._normalize_device
        assert normalize() == normalize("acme:0") == normalize(0) == 0
        for wrong in (99, "acme:99", "cuda", 1.0):
            try:
                normalize(wrong)
            except (torch.AcceleratorError, ValueError, TypeError):
                pass
        assert not torch.acme.is_initialized()
        """
    )


# ---- anything at all

fuzzed = settings(derandomize=True, deadline=None, max_examples=300, database=None)

DIGITS = st.text("0123456789", max_size=25)
DEVICE_TEXT = st.one_of(
    st.text(),
    st.builds("acme:{}".format, st.one_of(DIGITS, st.integers(), st.text(max_size=5))),
    st.builds("{}acme{}".format, st.text(max_size=2), st.text(max_size=3)),
    st.from_regex(r"[a-z]{0,6}(:[-+ 0-9a-z]{0,4})?", fullmatch=True),
)


def answer(function, *arguments, **keywords):
    """The index, or None for one of the errors that a user may get."""
    try:
        index = function(*arguments, **keywords)
    except (TypeError, ValueError, torch.AcceleratorError) as error:
        assert "Exception raised from" not in str(error)
        assert isinstance(error, UnicodeEncodeError) or "acme" in str(error)
        return None
    assert type(index) is int
    return index


def by_torch(text: str) -> int | None:
    """The index of an existing device, as torch.device reads the text."""
    try:
        device = torch.device(text)
    except (RuntimeError, UnicodeEncodeError):
        return None
    if device.type != "acme":
        return None
    index = torch.acme.current_device() if device.index is None else device.index
    return index if 0 <= index < torch.acme.device_count() else None


def wraps_around(text: str) -> bool:
    """torch.device keeps the last eight bits of an index: see the test above."""
    name, _, digits = text.partition(":")
    return name == "acme" and digits.isascii() and digits.isdecimal() and int(digits) > LARGEST


@fuzzed
@given(DEVICE_TEXT)
@example("acme:0")
@example("acme:1")
@example("acme")
def test_text_means_what_it_means_to_torch(text):
    assume(not wraps_around(text))
    assert answer(NORMALIZE, text) == by_torch(text)
    if ":" not in text:
        assert answer(NORMALIZE, text, optional=False) is None


@fuzzed
@given(DEVICE_TEXT)
def test_torch_load_gets_the_same_index_for_text(text):
    # torch's own RuntimeError for malformed text has a test of its own above.
    assume(not wraps_around(text))
    expected = by_torch(text)
    try:
        index = GET_INDEX(text, True)
    except (TypeError, ValueError, torch.AcceleratorError, RuntimeError):
        assert expected is None
    else:
        assert index == torch.device(text).index if expected is None else index == expected


@fuzzed
@given(st.integers())
@example(0)
@example(1)
@example(2**64)
def test_an_integer_is_an_index_or_refused(number):
    expected = number if 0 <= number < torch.acme.device_count() else None
    for function in (NORMALIZE, GET_INDEX):
        for form in (number, Int(number), Index(number)):
            assert answer(function, form) == expected
            assert answer(function, form, optional=False, allow_cpu=True) == expected


@fuzzed
@given(st.sampled_from(["acme", "cpu", "meta", "cuda"]), st.none() | st.integers(0, LARGEST))
def test_a_torch_device_is_itself_or_refused(kind, index):
    device = torch.device(kind) if index is None else torch.device(kind, index)
    wanted = 0 if index is None else index
    expected = wanted if kind == "acme" and wanted < torch.acme.device_count() else None
    assert answer(NORMALIZE, device) == expected
    assert answer(NORMALIZE, device, allow_cpu=True) == (-1 if kind == "cpu" else expected)


ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.complex_numbers(),
        st.binary(),
        st.text(),
        st.decimals(),
        st.fractions(),
        st.datetimes(),
        st.sampled_from([torch.float32, torch.strided, torch, Index, len, Ellipsis]),
        st.builds(Index, st.one_of(st.integers(), st.text(), st.builds(TypeError))),
        st.builds(torch.tensor, st.lists(st.integers(-9, 9), max_size=2)),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@fuzzed
@given(ANYTHING, st.booleans(), st.booleans())
def test_anything_else_is_one_of_three_errors(thing, optional, allow_cpu):
    index = answer(NORMALIZE, thing, optional, allow_cpu)
    assert index is None or -1 <= index < torch.acme.device_count()
    assert index != -1 or (allow_cpu and thing in ("cpu", "cpu:0"))


@fuzzed
@given(ANYTHING)
def test_the_methods_refuse_what_it_refuses(thing):
    expected = answer(NORMALIZE, thing)
    moved = answer(lambda: torch.ones(1).acme(thing).device.index)
    assert moved == expected
    assert answer(lambda: torch.UntypedStorage(1).acme(thing).device.index) == expected
    assert answer(lambda: torch.nn.Linear(1, 1).acme(thing).weight.device.index) == expected
