"""Where this backend's methods differ from PyTorch's generated ones on purpose: all of it.

A difference says which calls it is about and what must happen instead, to the last field of an
outcome (see calls.execute): so it is a claim and no hole. They are applied in the order of this
list, each to what the ones before it made of their outcome.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from oracle import reading
from oracle.description import (
    Call,
    ModuleSource,
    SequenceSource,
    StorageSource,
    TensorSource,
    call,
)
from oracle.modules import WAYS

Outcome = dict
Ask = Callable[[Call], Outcome]  # what theirs does on another call


@dataclass(frozen=True)
class Difference:
    name: str
    reason: str
    applies: Callable[[Call, Outcome], bool]
    expect: Callable[[Call, Outcome, Ask], Outcome]
    example: Call  # where theirs and ours do differ


def expected(made: Call, theirs: Outcome, ask: Ask) -> Outcome:
    outcome = theirs
    for difference in DIFFERENCES:
        if difference.applies(made, outcome):
            outcome = difference.expect(made, outcome, ask)
    return outcome


# ---- what is expected instead


def refused(kind: str, *, early: bool = False):
    """The error `kind`, and nothing has changed. Early: before anyone is told or warned."""

    def expect(made: Call, theirs: Outcome, _: Ask) -> Outcome:
        kept = {name: theirs[name] for name in ("before", "current device")}
        silent = early or isinstance(made.source, ModuleSource)
        heard = {
            "told": [] if silent else theirs["told"],
            "warnings": [] if early else warned(made, theirs),
        }
        return kept | heard | {"raised": kind, "after": theirs["before"]}

    return expect


# A TypedStorage is deprecated whatever is asked of it; the rest is about a copy that is not made.
def warned(made: Call, theirs: Outcome) -> list:
    return theirs["warnings"] if reading.is_typed(made) else []


def with_value(change: Callable[[Call, dict], dict]):
    def expect(made: Call, theirs: Outcome, _: Ask) -> Outcome:
        return theirs | {"result": {"value": repr(change(made, evaluated(theirs)))}}

    return expect


def evaluated(theirs: Outcome) -> dict:
    return reading.evaluate(theirs["result"]["value"])


def shown(made: Call, described: dict) -> dict:
    rest = described["parameters"][1:]
    kept = [p for p in rest if not (reading.is_typed(made) and p[0] == "kwargs")]
    own = ("self", "POSITIONAL_ONLY", None)
    return {"name": "acme", "parameters": [own, *kept], "documented": True}


def told_as_written(made: Call, theirs: Outcome, _: Ask) -> Outcome:
    positional = [repr(reading.evaluate(argument)) for argument in made.positional]
    named = sorted((name, repr(reading.evaluate(value))) for name, value in made.keywords)
    return theirs | {"told": [("acme", positional, named)]}


def told_one_device(made: Call, theirs: Outcome, _: Ask) -> Outcome:
    device = f"device(type='acme', index={reading.destination(made)})"
    return theirs | {"told": [("acme", [device], []) for _ in theirs["told"]]}


def pointing_at_the_caller(made: Call, theirs: Outcome, _: Ask) -> Outcome:
    return theirs | {"warnings": [(category, True) for category, _ in theirs["warnings"]]}


def as_if_device_were_written(made: Call, _: Outcome, ask: Ask) -> Outcome:
    return ask(replace(made, positional=reading.with_device(made)))


def lazily_moved(made: Call, theirs: Outcome, ask: Ask) -> Outcome:
    """As a module that is lazy no more; its tensors are those from before, elsewhere."""
    other = ask(replace(made, source=replace(made.source, name="lazy no more")))
    device = other["result"]["run"]["device"]
    before = theirs["before"]
    tensors = {name: look | {"device": device} for name, look in before["tensors"].items()}
    run = {"device": device, "shape": other["result"]["run"]["shape"]}
    kinds = {name: look["class"] for name, look in tensors.items()}
    same = [name for name, kind in kinds.items() if kind == "UninitializedParameter"]
    for name, kind in kinds.items():
        if kind == "UninitializedBuffer":  # a new one
            tensors[name] = tensors[name] | {"attributes": []}
    result = other["result"] | {"run": run, "same objects": same, "same gradients": []}
    return theirs | {
        "raised": None,
        "after": before | {"tensors": tensors},
        "result": result,
    }


# ---- which calls it is about


def has_mistake(kind: str):
    return lambda made, _: reading.mistake(made) == kind


def flag_is_wrong(made: Call, _: Outcome) -> bool:
    bound = reading.bind(made)
    takes_one = isinstance(made.source, TensorSource | StorageSource)
    return bound is not None and takes_one and not reading.takes(made, bound.non_blocking)


def is_unknown_to_typed_storages(made: Call, _: Outcome) -> bool:
    is_call = reading.is_typed(made) and reading.has_signature(made)
    return is_call and reading.bind(made) is None


def is_lazy(made: Call, theirs: Outcome) -> bool:
    return (
        isinstance(made.source, ModuleSource)
        and made.source.name == "lazy"
        and reading.bind(made) is not None
        and theirs["raised"] == "ValueError"
        and reading.mistake(made) is None
    )


def does(action: str):
    return lambda made, _: made.action == action


def has_sequence_mistake(kind: str):
    return lambda made, _: reading.sequence_mistake(made) == kind


DIFFERENCES = [
    Difference(
        "warnings point at the caller",
        "A C method has no Python frame: the line that a warning names is the user's, not torch's.",
        lambda made, theirs: isinstance(made.source, TensorSource)
        and not all(at_caller for _, at_caller in theirs["warnings"]),
        pointing_at_the_caller,
        call(TensorSource(dtype="complex64"), dtype="torch.float32"),
    ),
    Difference(
        "__torch_function__ is told the call as it was written",
        "Theirs passes non_blocking=False whatever was asked for, and every argument by name.",
        lambda made, theirs: reading.is_overridden(made)
        and reading.bind(made) is not None
        and theirs["told"] != [],
        told_as_written,
        call(TensorSource(kind="watching"), "1", non_blocking="True"),
    ),
    Difference(
        "a module reads its device once",
        "All its tensors are told of the same device, with its index, even if one of them sets "
        "another current device.",
        lambda made, theirs: isinstance(made.source, ModuleSource)
        and theirs["told"] != []
        and reading.bind(made) is not None
        and reading.mistake(made) is None,
        told_one_device,
        call(ModuleSource("watched"), '"acme"', current=1),
    ),
    Difference(
        "non_blocking must be a bool, always",
        "Theirs does not look at it where __torch_function__ is told or a storage is there "
        "already, takes None for False in storages, and elsewhere looks only after the device.",
        flag_is_wrong,
        refused("TypeError", early=True),
        call(TensorSource(), '"cpu"', '"yes"'),
    ),
    Difference(
        "what is no device of this backend is a ValueError",
        "A wrong value is no failure of the runtime: theirs is a RuntimeError, and a module "
        "without parameters takes anything.",
        has_mistake("ValueError"),
        refused("ValueError"),
        call(ModuleSource("without parameters"), '"cpu"'),
    ),
    Difference(
        "an index out of range is a torch.AcceleratorError",
        "Theirs wraps around at 256, says RuntimeError for negative ones, and does not look at all "
        "in a module without parameters or if the tensor is there already.",
        has_mistake("torch.AcceleratorError"),
        refused("torch.AcceleratorError"),
        call(TensorSource(), "256"),
    ),
    Difference(
        "what cannot name a device is a TypeError",
        "Theirs pastes it into a string and says RuntimeError; True, 1.0 and [0] are mistakes.",
        has_mistake("TypeError"),
        refused("TypeError"),
        call(TensorSource(), "True"),
    ),
    Difference(
        "text that cannot be encoded is Python's own error",
        "UnicodeEncodeError says which character it is; theirs is a RuntimeError.",
        has_mistake("UnicodeEncodeError"),
        refused("UnicodeEncodeError"),
        call(TensorSource(), '"acme:\\ud800"'),
    ),
    Difference(
        "lazy modules move",
        "There is nothing to copy yet, and the first forward goes on at the new place, as after "
        "Module.cuda; theirs raises ValueError.",
        lambda made, theirs: is_lazy(made, theirs) and not made.source.changes & set(WAYS),
        lazily_moved,
        call(ModuleSource("lazy"), "1"),
    ),
    Difference(
        "a lazy module refuses to be swapped as torch's own moves do",
        "Module.cpu raises RuntimeError in this way of torch.__future__'s.",
        lambda made, theirs: is_lazy(made, theirs) and "swapped" in made.source.changes,
        lambda made, theirs, _: theirs | {"raised": "RuntimeError"},
        call(ModuleSource("lazy", changes=frozenset({"swapped"}))),
    ),
    Difference(
        "a packed sequence's index is one of this backend, and checked",
        "Theirs gives it to Tensor.to, to which it is an index of the accelerator; then it wraps "
        "around, or is a RuntimeError, a ValueError or a TypeError.",
        has_sequence_mistake("torch.AcceleratorError"),
        refused("torch.AcceleratorError"),
        call(SequenceSource(), "256"),
    ),
    Difference(
        "a packed sequence asked to another device refuses",
        "Theirs ignores the device and goes to the current one of this backend, or says TypeError "
        "that device was given twice.",
        lambda made, _: reading.sequence_mistake(made) == "ValueError"
        or (reading.sequence_mistake(made) is None and reading.sequence_goes_elsewhere(made)),
        refused("ValueError"),
        call(SequenceSource(), device='"meta"'),
    ),
    Difference(
        "a packed sequence takes a dtype without a device",
        "Theirs adds the device behind it, where Tensor.to takes none.",
        lambda made, theirs: reading.sequence_lacks_device(made)
        and theirs["raised"] == "TypeError",
        as_if_device_were_written,
        call(SequenceSource(), "torch.float64"),
    ),
    Difference(
        "text that cannot be encoded is Python's own error in a packed sequence too",
        "UnicodeEncodeError says which character it is; theirs is a RuntimeError.",
        has_sequence_mistake("UnicodeEncodeError"),
        refused("UnicodeEncodeError"),
        call(SequenceSource(), '"acme:\\ud800"'),
    ),
    Difference(
        "a TypedStorage does not warn of a call that is none",
        "Theirs takes any keyword, warns, and then finds that UntypedStorage's method does not.",
        is_unknown_to_typed_storages,
        refused("TypeError", early=True),
        call(StorageSource(kind="typed"), colour="1"),
    ),
    Difference(
        "methods are named acme, and self has no name",
        "As all C methods of torch.Tensor; theirs are wrap_module_to, wrap_storage_to. "
        "TypedStorage's takes no **kwargs: no keyword could be among them.",
        does("describe method"),
        with_value(shown),
        call(ModuleSource(), action="describe method"),
    ),
    Difference(
        "is_acme has a docstring",
        "help() has something to show.",
        does("describe property"),
        with_value(lambda made, described: described | {"documented": True}),
        call(TensorSource(), action="describe property"),
    ),
    Difference(
        "is_acme is no property of other types",
        "A C descriptor checks what it is given: TypeError; theirs fails inside, AttributeError.",
        does("read on another type"),
        refused("TypeError", early=True),
        call(TensorSource(), action="read on another type"),
    ),
    Difference(
        "acme() is no method of other types",
        "The same for Tensor.acme(5).",
        does("call on another type"),
        refused("TypeError", early=True),
        call(TensorSource(), action="call on another type"),
    ),
    Difference(
        "self cannot be given by name",
        "As for all C methods, Tensor.to and Tensor.cuda among them.",
        does("call with self by keyword"),
        refused("TypeError", early=True),
        call(TensorSource(), action="call with self by keyword"),
    ),
]
