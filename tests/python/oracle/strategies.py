"""The calls that hypothesis draws."""

from hypothesis import strategies as st

from oracle import arguments
from oracle.description import Call, ModuleSource, SequenceSource, StorageSource, TensorSource
from oracle.modules import CHANGES, MODULES, WAYS

PLACES = ["cpu", "cpu", "acme:0", "acme:1"]
REAL = ["float32", "float64", "half", "bfloat16"]
DIFFERENTIABLE = [*REAL, "complex64", "complex128"]
DTYPES = [*DIFFERENTIABLE, "bool", "uint8", "int32", "int64", "float8_e4m3fn"]
WITH_ARGUMENTS = [*["call"] * 15, *["call through the class"] * 3]

# ---- arguments

one_of = st.sampled_from


def often(usual: list, rarely: list):
    """One of the usual ones, three times in four."""
    return one_of([usual, usual, usual, rarely]).flatmap(one_of)


devices = often(arguments.DEVICES, arguments.REFUSED)
flags = often(arguments.BOOLS, arguments.NO_BOOLS)


@st.composite
def move_arguments(draw, others: dict) -> dict:
    """Of `acme(device=None, non_blocking=False, **others)`: by position, by name, left out, twice,
    or too many.
    """
    positional: list[str] = []
    keywords = {}
    if draw(st.integers(0, 9)):
        device = draw(devices)
        if draw(st.booleans()):
            positional.append(device)
        else:
            keywords["device"] = device
    if draw(st.booleans()):
        flag = draw(flags)
        if positional and draw(st.booleans()):
            positional.append(flag)
        else:
            keywords["non_blocking"] = flag
    mistake = draw(st.integers(0, 29))
    if mistake == 0:
        positional.append(draw(flags))
    elif mistake == 1:
        keywords["device"] = draw(devices)
    elif mistake == 2:
        keywords["self"] = "1"
    for name, values in others.items():
        if draw(st.integers(0, 5)) == 0:
            keywords[name] = draw(one_of(values))
    return {"positional": tuple(positional), "keywords": tuple(keywords.items())}


OTHERS = {
    "memory_format": [
        "torch.channels_last",
        "torch.contiguous_format",
        "torch.preserve_format",
        "1",
    ],
    "dtype": ["torch.float64", "torch.int32", "torch.bool", "None", '"x"'],
    "copy": ["True", "False", "1"],
    "colour": ["1"],
    "other": ["torch.ones(1)"],
}
NOTHING_ELSE = {"colour": ["1"]}

# What takes no arguments.
METHOD = ["call with self by keyword", "call on another type", "describe method"]
PROPERTY = ["read", "write", "delete", "read on another type", "describe property"]


@st.composite
def calls(draw, sources, given, bare=(*METHOD, *PROPERTY)) -> Call:
    action = draw(one_of([*WITH_ARGUMENTS, *bare]))
    arguments = draw(given) if action in WITH_ARGUMENTS else {}
    return Call(draw(sources), current=draw(one_of([0, 1])), action=action, **arguments)


# ---- tensors

SHAPES = {
    "transposed": [(2, 3), (2, 0), (2, 3, 4)],
    "stepped": [(0,), (5,), (2, 3), (2, 0, 3)],
    "offset": [(3,), (2, 3), (2, 3, 4)],
    "channels_last": [(2, 3, 4, 5), (1, 1, 2, 2)],
    "sparse": [(3,), (2, 3)],
}
ANY_SHAPE = [(), (0,), (1,), (3,), (2, 3), (2, 0, 3), (2, 3, 4)]
LAYOUTS = ["contiguous", "contiguous", "expanded", "conjugated", "negated", *SHAPES]
NEEDS_GRADIENT = ["leaf", "view of a leaf", "parameter"]
NO_STORAGE_NEEDED = ["plain", "leaf", "parameter", "mode", "function disabled"]
KINDS = [
    *["plain", "plain", "plain", "frozen parameter", "buffer", "mode", "inference", "fake"],
    *["function disabled", "pinned", "two tensors", "watching", "answering", "raising", "disabled"],
    *NEEDS_GRADIENT,
]


@st.composite
def tensor_sources(draw) -> TensorSource:
    layout = draw(one_of(LAYOUTS))
    kinds = NO_STORAGE_NEEDED if layout == "sparse" else KINDS
    kind = draw(one_of(kinds))
    if kind == "two tensors" or (kind == "pinned" and layout == "expanded"):
        layout = "contiguous"
    dtypes = DIFFERENTIABLE if kind in NEEDS_GRADIENT else DTYPES
    if layout in ("negated", "sparse"):
        dtypes = [dtype for dtype in dtypes if dtype not in ("bool", "float8_e4m3fn")]
    places = ["cpu"] if kind == "pinned" else PLACES if layout == "sparse" else [*PLACES, "meta"]
    shape = draw(one_of(SHAPES.get(layout, ANY_SHAPE)))
    return TensorSource(draw(one_of(places)), draw(one_of(dtypes)), shape, layout, kind)


tensor_calls = calls(tensor_sources(), move_arguments(OTHERS))

# ---- modules


@st.composite
def module_sources(draw) -> ModuleSource:
    name = draw(one_of(list(MODULES)))
    changes = draw(st.frozensets(one_of([*CHANGES, *WAYS]), max_size=4))
    place = draw(one_of([*PLACES, "meta"]))
    if name == "scripted":
        changes &= {"gradients", "eval", *WAYS}
    if name == "lazy":  # its parameters can hardly be touched yet
        place = "cpu"
        changes &= {"frozen", "hooks", "eval", *WAYS}
    return ModuleSource(name, place, changes)


@st.composite
def module_arguments(draw) -> dict:
    positional = [draw(devices)] if draw(st.booleans()) else []
    keywords = {}
    if not positional and draw(st.booleans()):
        keywords["device"] = draw(devices)
    mistake = draw(st.integers(0, 29))
    if mistake == 0:
        positional.append("True")
    elif mistake == 1:
        keywords["device"] = "0"
    elif mistake == 2:
        keywords["non_blocking"] = "True"
    return {"positional": tuple(positional), "keywords": tuple(keywords.items())}


module_calls = calls(module_sources(), module_arguments(), bare=METHOD)

# ---- packed sequences


@st.composite
def sequence_sources(draw) -> SequenceSource:
    enforce_sorted = draw(st.booleans())
    requires_grad = draw(st.booleans())
    return SequenceSource(
        device=draw(one_of(PLACES)),
        dtype=draw(one_of(REAL if requires_grad else DTYPES[:-1])),
        lengths=(3, 2, 1) if enforce_sorted else draw(one_of([(3, 2, 1), (1, 3), (2,)])),
        enforce_sorted=enforce_sorted,
        requires_grad=requires_grad,
    )


@st.composite
def to_arguments(draw) -> dict:
    """The arguments of Tensor.to, in its several orders."""
    positional = []
    keywords = {}
    anywhere = often(arguments.DEVICES + arguments.ELSEWHERE, arguments.REFUSED)
    first = draw(one_of(["none", "device", "device", "keyword", "keyword", "dtype", "other"]))
    if first == "device":
        positional.append(draw(anywhere))
    elif first == "keyword":
        keywords["device"] = draw(anywhere)
    elif first == "dtype":
        positional.append(draw(one_of(["torch.float64", "torch.half"])))
    elif first == "other":
        positional.append(draw(one_of(["torch.ones(1)", 'torch.ones(1, device="acme:1")'])))
    if positional and draw(st.integers(0, 3)) == 0:
        positional.append(draw(one_of(["torch.float64", "True", "None"])))
    if draw(st.integers(0, 3)) == 0:
        keywords["non_blocking"] = draw(flags)
    if draw(st.integers(0, 4)) == 0:
        keywords["dtype"] = draw(one_of(["torch.float64", "torch.half", "None"]))
    if draw(st.integers(0, 4)) == 0:
        keywords["copy"] = draw(one_of(["True", "False"]))
    if draw(st.integers(0, 19)) == 0:
        keywords["colour"] = "1"
    return {"positional": tuple(positional), "keywords": tuple(keywords.items())}


sequence_calls = calls(sequence_sources(), to_arguments())

# ---- storages


@st.composite
def storage_sources(draw) -> StorageSource:
    kind = draw(one_of(["untyped", "untyped", "typed", "typed", "legacy", "pinned", "subclass"]))
    places = [*PLACES, "meta"] if kind in ("untyped", "typed") else ["cpu"]
    return StorageSource(
        device=draw(one_of(places)),
        dtype="float32" if kind == "legacy" else draw(one_of(DTYPES[:-1])),
        size=draw(one_of([0, 3, 5])),
        kind=kind,
    )


storage_calls = calls(storage_sources(), move_arguments(NOTHING_ELSE))
