"""torch.<name>._sanitizer: finds operators on two streams that use the same memory at once.

The library keeps count of what orders the streams (core/races/race_finder.h). Here is what each
operator reads and writes, and how a race is told.
"""

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode_stack,
    _pop_mode,
    _push_mode,
)
from torch.utils._traceback import CapturedTraceback

from . import _native, device_module, name

_COPIES = {"aten::copy_", "aten::_to_copy", "aten::_copy_from", "aten::_copy_from_and_resize"}
# They touch no element: PyTorch's schemas do not say so.
_OF_METADATA = {
    "aten::record_stream",
    "aten::set_",
    "aten::resize_",
    "aten::resize_as_",
    "aten::_resize_output_",
    "aten::is_pinned",
    "aten::lift_fresh",
    "aten::detach_",
    "prim::device",
}
_FRAMES = 8  # of a stack, the last ones
_REMEMBERED = 10_000  # operators, before it is asked which of them are still needed


class RaceError(RuntimeError):
    """Two operators may use the same memory at once.

    Attributes:
        kind (str): "streams" if both are enqueued on streams, "host" if the later one is the
            host's, "freed" if the memory was freed while the earlier one could still use it.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class RaceWarning(UserWarning):
    """What RaceError says, where races only warn."""


def _is_made_of_others(kind: Any) -> bool:
    """Not for those that a mode of torch's own serves, such as fake tensors."""
    return not _is_plain(kind) and not hasattr(kind, "_mode_key")


@dataclass
class _Use:
    argument: str
    tensor: torch.Tensor
    writes: bool


@dataclass
class _Operator:
    """What is kept of an operator, to tell of it later. Keeps no tensor."""

    schema: Any
    stream: torch.Stream | None  # none: the host
    stack: CapturedTraceback
    node: str  # of the backward pass
    uses: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        on = f"on stream {self.stream.stream_id} of {self.stream.device}" if self.stream else ""
        lines = [f"  {self.schema.name} {on or 'on the host'}, which {'; '.join(self.uses)}"]
        if self.node:
            lines.append(f"    in a backward pass, for {self.node}")
        return "\n".join([*lines, *_lines_of(self.stack)])


_INSIDE = (os.path.join(torch.__path__[0], ""), f"<{__package__}>")


def _lines_of(stack: CapturedTraceback) -> Iterator[str]:
    """Of the program, without PyTorch's own frames if there are others."""
    frames = stack.summary()
    own = [each for each in frames if not each.filename.startswith(_INSIDE)]
    for each in (own or frames)[-_FRAMES:]:
        yield f'    File "{each.filename}", line {each.lineno}, in {each.name}'
        if each.line:
            yield f"      {each.line}"


def _described(use: _Use) -> str:
    tensor = use.tensor
    does = "writes" if use.writes else "reads"
    what = f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)} on {tensor.device}"
    return f"{does} {use.argument} ({what})"


class _Plan:
    """What an overload does with its arguments and results, as its schema says."""

    def __init__(self, overload: Any) -> None:
        schema = overload._schema
        base = schema.name.rpartition("::")[2]
        is_factory = base.startswith("new_") or base.endswith("_like")
        of_processes = schema.name.startswith("c10d::")
        self.touches_nothing = schema.name in _OF_METADATA
        self.is_copy = schema.name in _COPIES
        self.fills_results = not base.removeprefix("new_").startswith("empty")
        self.makes_the_host_wait = bool(
            {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape} & set(overload.tags)
        )
        # None: only its shape is asked for, or the result is a view of it.
        self.writes: dict[str, bool | None] = {}
        for each in schema.arguments:
            if of_processes:  # their schemas do not say what they write
                self.writes[each.name] = not each.name.startswith("input")
            elif each.alias_info is not None:
                self.writes[each.name] = True if each.alias_info.is_write else None
            else:
                self.writes[each.name] = None if is_factory else False
        self.also_written = _native.also_written(schema.name)
        self.names = [each.name for each in schema.arguments]
        self.makes = [each.alias_info is None for each in schema.returns]

    def uses(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[_Use]:
        found = []
        values = dict(zip(self.names, args, strict=False)) | kwargs
        # A normalization that does not train leaves its statistics as they are.
        trains = values.get("training", True)
        for argument, value in values.items():
            writes = self.writes.get(argument)
            if trains and argument in self.also_written:
                writes = True
            if writes is not None:
                found += [_Use(f"`{argument}`", each, writes) for each in _tensors_in(value)]
        return found

    def results(self, returned: Any) -> list[_Use]:
        if not self.fills_results:
            return []
        several = returned if len(self.makes) > 1 else (returned,)
        return [
            _Use("its result", each, True)
            for is_made, value in zip(self.makes, several, strict=False)
            if is_made
            for each in _tensors_in(value)
        ]


def _tensors_in(value: Any) -> list[torch.Tensor]:
    """Those that have memory of their own and one shape: no fake ones, and no others that stand for
    several."""
    if _is_plain(type(value)):
        return [value] if _is_strided(value) else []
    if not isinstance(value, (list, tuple)):
        return []
    leaves = _pytree.tree_leaves(value)
    return [each for each in leaves if _is_plain(type(each)) and _is_strided(each)]


def _is_strided(tensor: torch.Tensor) -> bool:
    return tensor.layout is torch.strided and not tensor.is_nested


def _is_plain(kind: Any) -> bool:
    """Whether its objects are tensors without a __torch_dispatch__ of their own."""
    dispatch = getattr(kind, "__torch_dispatch__", None)
    return dispatch is torch._C._disabled_torch_dispatch_impl


class _Watch(TorchDispatchMode):
    def __init__(self, on_race: str) -> None:
        super().__init__()
        self._raises = on_race == "raise"
        self._plans: dict[Any, _Plan] = {}
        self._operators: dict[int, _Operator] = {}
        self._remembered = _REMEMBERED

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if any(map(_is_made_of_others, types)):
            return NotImplemented  # the operators on these others come here then
        kwargs = kwargs or {}
        plan = self._plans.get(func)
        if plan is None:
            plan = self._plans[func] = _Plan(func)
        if plan.touches_nothing:
            return func(*args, **kwargs)
        uses = plan.uses(args, kwargs)
        devices = [use.tensor.device for use in uses if use.tensor.device.type == name]
        wanted = kwargs.get("device")
        if wanted is not None and torch.device(wanted).type == name:
            index = torch.device(wanted).index
            index = device_module.current_device() if index is None else index
            devices.append(torch.device(name, index))
        if not devices:
            self._host_uses(func, uses)
            return func(*args, **kwargs)
        return self._on_a_stream(func, plan, uses, devices, args, kwargs)

    def _on_a_stream(
        self,
        func: Any,
        plan: _Plan,
        uses: list[_Use],
        devices: list[torch.device],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        if device_module.is_current_stream_capturing():
            return func(*args, **kwargs)
        # A copy between devices runs on the source's stream, behind what the other one's has to do.
        device = next((use.tensor.device for use in uses if not use.writes), devices[0])
        if device.type != name:
            device = devices[0]
        others = {*devices} - {device} if plan.is_copy else ()
        for other in others:
            _native.race_order(other.index, device.index)
        now = _native.race_begin(device.index)
        operator = self._operator(func, device_module.current_stream(device))
        self._operators[now[0]] = operator
        asynchronous = plan.is_copy and _is_non_blocking(func, args, kwargs)
        try:
            for use in uses:
                if use.tensor.device.type == name or (asynchronous and use.tensor.is_pinned()):
                    self._enqueued_use(now, operator, use)
                elif use.tensor.device.type == "cpu":
                    self._host_use(operator, use)
            returned = func(*args, **kwargs)
        except BaseException:  # an operator that has not run has used nothing
            _native.race_withdraw(now)
            raise
        for use in plan.results(returned):
            if use.tensor.device.type == name or (asynchronous and use.tensor.is_pinned()):
                self._enqueued_use(now, operator, use)
        for other in others:
            _native.race_order(device.index, other.index)
        if plan.makes_the_host_wait or (plan.is_copy and _waits(uses, returned, asynchronous)):
            _native.race_host_wait(device.index)
        self._tell_of_freed_memory(operator)
        self._forget()
        return returned

    def _operator(self, func: Any, stream: torch.Stream | None) -> _Operator:
        node = torch._C._current_autograd_node()
        stack = CapturedTraceback.extract(skip=2)
        return _Operator(func._schema, stream, stack, node.name() if node else "")

    def _enqueued_use(self, now: tuple[int, int], operator: _Operator, use: _Use) -> None:
        operator.uses.append(_described(use))
        for number, _, _ in _native.race_access(now, use.tensor, use.writes):
            self._tell(
                "streams",
                f"{name}: two operators use the same memory, and nothing orders their streams\n"
                f"{operator}\nThe earlier one:\n{self._operators[number]}\n"
                "Let the later stream wait for the earlier one: later.wait_stream(earlier), or "
                "later.wait_event(event) of an event that was recorded after the earlier operator.",
            )

    def _host_uses(self, func: Any, uses: list[_Use]) -> None:
        operator = None
        for use in uses:
            if use.tensor.device.type == "cpu":
                operator = operator or self._operator(func, None)
                self._host_use(operator, use)

    def _host_use(self, operator: _Operator, use: _Use) -> None:
        operator.uses.append(_described(use))
        for number, _, _ in _native.race_access_by_host(use.tensor, use.writes):
            self._tell(
                "host",
                f"{name}: the host uses memory that a copy on a stream may still use\n"
                f"{operator}\nThe earlier one:\n{self._operators[number]}\n"
                "Wait for the copy first: stream.synchronize(), or event.synchronize() of an event "
                "that was recorded after it.",
            )

    def _tell_of_freed_memory(self, operator: _Operator) -> None:
        for number, _, stream in _native.race_freed():
            self._tell(
                "freed",
                f"{name}: memory was freed while an operator could still use it, and may be handed "
                f"out again\n{self._operators[number]}\nMemory is handed out for:\n{operator}\n"
                f"Call tensor.record_stream(stream) for stream {stream.stream_id} of "
                f"{stream.device} before the tensor goes, or let the stream that it was allocated "
                "on wait for that one.",
            )

    def _tell(self, kind: str, text: str) -> None:
        if self._raises:
            raise RaceError(kind, text)
        frame = sys._getframe()
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
            frame = frame.f_back
        warnings.warn_explicit(
            text,
            RaceWarning,
            frame.f_code.co_filename,
            frame.f_lineno,
            module=frame.f_globals.get("__name__"),
            registry=frame.f_globals.setdefault("__warningregistry__", {}),
        )

    def _forget(self) -> None:
        if len(self._operators) > self._remembered:
            # Other threads add theirs meanwhile, which are newer than what is looked at.
            known = list(self._operators)
            needed = _native.race_remembered()
            for each in known:
                if each not in needed:
                    self._operators.pop(each, None)
            self._remembered = max(_REMEMBERED, 2 * len(needed))


def _is_non_blocking(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    for place, argument in enumerate(func._schema.arguments):
        if argument.name == "non_blocking":
            return bool(kwargs.get("non_blocking", args[place] if place < len(args) else False))
    return False


def _waits(uses: list[_Use], returned: Any, asynchronous: bool) -> bool:
    """Whether the host waits for a copy: one from or to the CPU, that need not be pinned."""
    hosts = [use.tensor for use in uses if use.tensor.device.type == "cpu"]
    made = [each for each in _tensors_in(returned) if each.device.type == "cpu"]
    if not hosts and not made:
        return False
    return not asynchronous or any(not each.is_pinned() for each in (*hosts, *made))


_active: list[tuple[_Watch, threading.Thread]] = []


def enable(on_race: str = "raise") -> None:
    """Watches the operators of the calling thread, and of the backward passes that it starts, until
    `disable`. The variable OUTBACK_SANITIZER=1 does so for the main thread from the start.

    Operators that were enqueued before are not known. Those in a captured graph are not seen when
    it is replayed, and those of code that torch.compile has compiled only as far as they are
    PyTorch's.

    Args:
        on_race: "raise" raises RaceError at the later operator, before it runs unless memory was
            freed too early; "warn" issues a RaceWarning and goes on.
    """
    if on_race not in ("raise", "warn"):
        raise ValueError(f'on_race must be "raise" or "warn", not {on_race!r}')
    if _active:
        raise RuntimeError(f"torch.{name}._sanitizer is enabled already: call disable() first")
    _native.look_for_races(True)
    watch = _Watch(on_race)
    watch.__enter__()
    _active.append((watch, threading.current_thread()))


def disable() -> None:
    """Ends what `enable` began, on the same thread. Does nothing if nothing is enabled."""
    if not _active:
        return
    watch, thread = _active[0]
    if thread.is_alive() and thread is not threading.current_thread():
        raise RuntimeError(
            f"torch.{name}._sanitizer was enabled on the thread {thread.name!r}: call disable() on "
            "it"
        )
    _take_off(watch)
    _active.clear()
    _native.look_for_races(False)


def _take_off(watch: _Watch) -> None:
    """Leaves the modes above it, which have begun since, as they are."""
    if watch not in _get_current_dispatch_mode_stack():
        return  # its thread is gone, or a mode that it began in has ended and took it along
    above = []
    while _get_current_dispatch_mode_stack()[-1] is not watch:
        above.append(_pop_mode())
    watch.__exit__(None, None, None)
    for mode in reversed(above):
        _push_mode(mode)
