"""Makes a call and says what came of it, as plain data. Both processes run this."""

import contextlib
import inspect
import warnings
from pathlib import Path

import numpy
import torch

from oracle import modules, sequences, storages, tensors
from oracle.description import Call, ModuleSource, SequenceSource, StorageSource, TensorSource

HERE = Path(__file__).parent
FAMILIES = {
    TensorSource: (tensors, torch.Tensor),
    ModuleSource: (modules, torch.nn.Module),
    SequenceSource: (sequences, torch.nn.utils.rnn.PackedSequence),
    StorageSource: (storages, None),
}


def evaluate(expression: str):
    return eval(expression, {"torch": torch, "numpy": numpy})


def owner_of(subject, kind: type | None) -> type:
    if kind is not None:
        return kind
    return torch.TypedStorage if isinstance(subject, torch.TypedStorage) else torch.UntypedStorage


def shown_default(parameter: inspect.Parameter) -> str | None:
    return None if parameter.default is parameter.empty else repr(parameter.default)


def describe(method) -> dict:
    """What help() shows of a method, without its annotations."""
    parameters = inspect.signature(method).parameters.values()
    return {
        "name": method.__name__,
        "parameters": [(p.name, p.kind.name, shown_default(p)) for p in parameters],
        "documented": bool(method.__doc__),
    }


def act(subject, owner: type, call: Call):
    positional = [evaluate(expression) for expression in call.positional]
    keywords = {name: evaluate(expression) for name, expression in call.keywords}
    match call.action:
        case "call":
            return subject.acme(*positional, **keywords)
        case "call through the class":
            return owner.acme(subject, *positional, **keywords)
        case "call with self by keyword":
            return owner.acme(self=subject)
        case "call on another type":
            return owner.acme(5)
        case "read":
            return subject.is_acme
        case "read on another type":
            return inspect.getattr_static(owner, "is_acme").__get__(5)
        case "write":
            subject.is_acme = True
            return None
        case "delete":
            del subject.is_acme
            return None
        case "describe method":
            return describe(owner.acme)
        case "describe property":
            found = inspect.getattr_static(owner, "is_acme")
            return {"data": inspect.isdatadescriptor(found), "documented": bool(found.__doc__)}
    raise ValueError(call.action)


@contextlib.contextmanager
def current_device(index: int):
    torch.acme.set_device(index)
    try:
        yield
    finally:
        torch.acme.set_device(0)


@contextlib.contextmanager
def every_warning():
    """All warnings, also those that torch gives only once in a process."""
    was = torch.is_warn_always_enabled(), torch.storage._get_always_warn_typed_storage_removal()
    torch.set_warn_always(True)
    torch.storage._set_always_warn_typed_storage_removal(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield caught
    finally:
        torch.set_warn_always(was[0])
        torch.storage._set_always_warn_typed_storage_removal(was[1])


def kind_of(error: Exception) -> str:
    kind = type(error)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def execute(call: Call) -> dict:
    family, kind = FAMILIES[type(call.source)]
    subject = family.make(call.source)
    owner = owner_of(subject, kind)
    around = getattr(family, "around", lambda _: contextlib.nullcontext())
    before = family.look(subject)
    tensors.told.clear()
    seen = {"before": before, "raised": None}
    with current_device(call.current):
        with every_warning() as caught:
            try:
                with around(call.source):
                    result = act(subject, owner, call)
            except Exception as error:
                seen["raised"] = kind_of(error)
        seen["current device"] = torch.acme.current_device()
    # The category, and whether it points at the line that made the call.
    seen["warnings"] = [(w.category.__name__, Path(w.filename).parent == HERE) for w in caught]
    seen["told"] = list(tensors.told)
    seen["after"] = family.look(subject)
    if seen["raised"] is None:
        seen["result"] = family.compare(subject, result)
    return seen
