"""What a call says, read from its description: differences.py states its rules with this."""

import operator
import re
from dataclasses import dataclass

import torch

from oracle.calls import evaluate
from oracle.description import Call, ModuleSource, SequenceSource, StorageSource, TensorSource

DEVICES = 2  # conftest.py sees to it
# To torch.device the second name means the same.
DEVICE = re.compile(r"(?:acme|privateuseone)(?::(0|[1-9][0-9]*))?")


@dataclass(frozen=True)
class Arguments:
    """As the method's signature binds them."""

    device: str = "None"
    non_blocking: str = "False"
    others: tuple[str, ...] = ()


def is_call(call: Call) -> bool:
    return call.action in ("call", "call through the class")


def is_typed(call: Call) -> bool:
    return isinstance(call.source, StorageSource) and call.source.kind in ("typed", "legacy")


def has_signature(call: Call) -> bool:
    """A PackedSequence takes the arguments of Tensor.to."""
    return is_call(call) and not isinstance(call.source, SequenceSource)


def parameters_of(call: Call) -> list[str]:
    return ["device"] if isinstance(call.source, ModuleSource) else ["device", "non_blocking"]


def is_misused(call: Call) -> bool:
    """Too many arguments, or one twice."""
    if not has_signature(call):
        return False
    names = parameters_of(call)
    twice = {*names[: len(call.positional)], "self"} & dict(call.keywords).keys()
    return len(call.positional) > len(names) or bool(twice)


def bind(call: Call) -> Arguments | None:
    """None if they do not fit it."""
    if not has_signature(call) or is_misused(call):
        return None
    names = parameters_of(call)
    given = dict(zip(names, call.positional, strict=False))
    keywords = dict(call.keywords)
    given |= {name: keywords.pop(name) for name in names if name in keywords}
    if keywords and not isinstance(call.source, TensorSource):
        return None
    return Arguments(**given, others=tuple(keywords))


def is_answered(call: Call) -> bool:
    """A tensor's class does something else than to move it."""
    return isinstance(call.source, TensorSource) and call.source.kind in ("answering", "raising")


def is_overridden(call: Call) -> bool:
    """__torch_function__ is told of the call."""
    overriding = ("watching", "answering", "raising", "mode")
    return isinstance(call.source, TensorSource) and call.source.kind in overriding


def wrong_index(index: int) -> str | None:
    return None if 0 <= index < DEVICES else "torch.AcceleratorError"


def wrong_text(text: str) -> str | None:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return "UnicodeEncodeError"
    match = DEVICE.fullmatch(text)
    return "ValueError" if match is None else wrong_index(int(match[1] or 0))


def wrong_device(expression: str) -> str | None:
    """The error that a device argument deserves, None if it is a device of this backend."""
    device = evaluate(expression)
    if device is None:
        return None
    if isinstance(device, str):
        return wrong_text(device)
    if isinstance(device, torch.device):
        return wrong_index(device.index or 0) if device.type == "acme" else "ValueError"
    if type(device).__name__ in ("bool", "bool_"):
        return "TypeError"
    try:
        return wrong_index(operator.index(device))
    except TypeError:
        return "TypeError"


def mistake(call: Call) -> str | None:
    """The error that the device of a call deserves where no other mistake comes first."""
    bound = bind(call)
    if bound is None or is_answered(call) or not takes(call, bound.non_blocking):
        return None
    return wrong_device(bound.device)


def destination(call: Call) -> int:
    """The index of a device without a mistake."""
    device = evaluate(bind(call).device)
    if device is None:
        return call.current
    if isinstance(device, str | torch.device):
        index = torch.device(device).index
        return call.current if index is None else index
    return operator.index(device)


def takes(call: Call, flag: str) -> bool:
    """As non_blocking."""
    return type(evaluate(flag)) is bool


def sequence_mistake(call: Call) -> str | None:
    """The error that the devices among the arguments of PackedSequence.acme deserve."""
    if not isinstance(call.source, SequenceSource) or not is_call(call):
        return None
    named = [expression for name, expression in call.keywords if name == "device"]
    for expression in [*call.positional[:1], *named]:
        value = evaluate(expression)
        is_device = isinstance(value, str | torch.device | float) or hasattr(value, "__index__")
        if is_device and not isinstance(value, torch.Tensor) and wrong_device(expression):
            return wrong_device(expression)
    return None


def sequence_goes_elsewhere(call: Call) -> bool:
    """Tensor.to with these arguments would move the data, and not to this backend."""
    if not isinstance(call.source, SequenceSource) or not is_call(call):
        return False
    dtype = getattr(torch, call.source.dtype)
    data = torch.empty(0, dtype=dtype, device=call.source.device)
    positional = [evaluate(expression) for expression in call.positional]
    try:
        device = data.to(*positional, **{n: evaluate(e) for n, e in call.keywords}).device
    except Exception:
        return False
    return device.type != "acme" and device != data.device


def sequence_lacks_device(call: Call) -> bool:
    """It is on the CPU, and its arguments name no device that could be a mistake."""
    if not isinstance(call.source, SequenceSource) or not is_call(call):
        return False
    is_there = call.source.device != "cpu" or "device" in dict(call.keywords)
    first = evaluate((*call.positional, "None")[0])
    return not is_there and (first is None or isinstance(first, torch.dtype | torch.Tensor))


def with_device(call: Call) -> tuple[str, ...]:
    """The positional arguments of a sequence's call, behind a device."""
    values = [(expression, evaluate(expression)) for expression in call.positional]
    if values and values[0][1] is None:
        del values[0]
    rest = [
        f"({expression}).dtype" if isinstance(value, torch.Tensor) else expression
        for expression, value in values
    ]
    return ('"acme"', *rest)
