"""torch.<name>.record_operators: which operators ran, who served them, and what
that took. The command `outback ops` shows what is written here."""

import atexit
import dataclasses
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from . import _native, device_module, name, safe_files

SCHEMA = 1  # of the document: its fields may become more, and none changes under one number


@dataclasses.dataclass
class OperatorCalls:
    """All calls of one operator with one dtype, from one place, that the same one served."""

    operator: str  # "aten::add"
    overload: str  # "Tensor"
    dtype: str  # of the first tensor on the device: "float32"
    # "vendor", "own", "portable", "in place", "over copies", "composed" or "elsewhere"
    served: str
    place: str  # "train.py:12", if places were asked for
    calls: int = 0
    own_ns: int = 0  # of the host, without the device's operators that they called
    total_ns: int = 0
    tensor_bytes: int = 0  # of the tensors that they read and wrote
    bytes_to_host: int = 0
    bytes_to_device: int = 0
    bytes_on_devices: int = 0  # copied from device memory to device memory
    copies: int = 0  # calls of the slot mem_copy
    waits: int = 0  # how often the host waited for the device
    waited_ns: int = 0  # of own_ns, in waits for work from before the call
    flops: int | None = None  # by torch.utils.flop_counter; None: it has no formula

    @property
    def name(self) -> str:
        return f"{self.operator}.{self.overload}" if self.overload else self.operator


_COUNTS = [
    "calls",
    "own_ns",
    "total_ns",
    "tensor_bytes",
    "bytes_to_host",
    "bytes_to_device",
    "bytes_on_devices",
    "copies",
    "waits",
    "waited_ns",
]
_OUTSIDE = _COUNTS[4:]
_Key = tuple[str, str, Any, str, str, int]
_Logged = dict[_Key, tuple[tuple[int, ...], Any, Any]]


@dataclasses.dataclass(repr=False, eq=False)
class OperatorRecord:
    """What `record_operators` gives. It is filled when the block ends."""

    # The one with the most time of its own first.
    operators: list[OperatorCalls] = dataclasses.field(default_factory=list)
    # Copies and waits outside of operators.
    outside: dict[str, int] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        """All of it for JSON, with a number in "schema". RuntimeError until the block has ended."""
        if not self.outside:
            raise RuntimeError(
                f"{name}: the record is empty until the `with` block of record_operators() ends; "
                "save it, and read its operators, after that"
            )
        used = device_module.is_initialized()
        return {
            "schema": SCHEMA,
            "backend": name,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "device": device_module.get_device_name(0) if used else None,
            "kernels": _native.kernels_of(0) if used else None,
            "process": os.getpid(),
            "seconds": self.seconds,
            "outside": self.outside,
            "operators": [
                dataclasses.asdict(each) | {"signature": _signature(each)}
                for each in self.operators
            ],
        }

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the document, which `outback ops --read` shows: whole or not at all. A link of
        another user's is not followed."""
        safe_files.write(os.fsdecode(file), self._data())

    def _data(self) -> bytes:
        return json.dumps(self.document(), indent=1).encode()

    def __str__(self) -> str:
        rows = [each for each in self.operators if each.served != "elsewhere"][:20]
        width = max((len(each.name) for each in rows), default=8)
        head = f"{'dtype':9} {'served':11} {'calls':>8} {'own ms':>10} {'waited ms':>10}"
        lines = [f"{'operator':{width}} {head}"]
        lines += [
            f"{each.name:{width}} {each.dtype:9} {each.served:11} {each.calls:8} "
            f"{each.own_ns / 1e6:10.3f} {each.waited_ns / 1e6:10.3f}  "
            f"{_printable(each.place)}".rstrip()
            for each in rows
        ]
        return "\n".join(lines)


class record_operators:
    """Records the operators of all threads in a `with` block, and gives an OperatorRecord.

    Args:
        with_stack: also says from which line of Python each was called, but for those of a backward
            pass that runs in a thread of autograd's.
    """

    def __init__(self, with_stack: bool = False) -> None:
        self._with_stack = with_stack
        self._record: OperatorRecord | None = None  # while the block runs

    def __enter__(self) -> OperatorRecord:
        if self._record is not None:
            raise RuntimeError(
                f"{name}: this record_operators() records already: make another one for a block "
                "within its block"
            )
        self._formulas = _formulas()
        _native.begin_recording(list(self._formulas), self._with_stack)
        try:
            self._before = _logged()
            self._outside = _native.noted_outside_operators()
        except BaseException:
            _native.end_recording()
            raise
        self._begun = time.perf_counter()
        self._record = OperatorRecord()
        return self._record

    def __exit__(self, *_: object) -> None:
        record, self._record = self._record, None
        if record is None:
            raise RuntimeError(f"{name}: this record_operators() records nothing: enter it first")
        record.seconds = time.perf_counter() - self._begun
        _native.end_recording()
        after, outside = _logged(), _native.noted_outside_operators()
        record.operators = self._calls(after)
        record.outside = {
            each: now - before
            for each, now, before in zip(_OUTSIDE, outside, self._outside, strict=True)
        }

    def _calls(self, after: _Logged) -> list[OperatorCalls]:
        found: dict[tuple[str, ...], OperatorCalls] = {}
        for key, (counts, arguments, results) in after.items():
            before, *_ = self._before.get(key, ((0,) * len(_COUNTS), None, None))
            operator, overload, dtype, served, place, _ = key
            if counts[0] == before[0]:
                continue
            of_dtype = "" if dtype is None else str(dtype).removeprefix("torch.")
            row = (operator, overload, of_dtype, served, place if self._with_stack else "")
            calls = found.setdefault(row, OperatorCalls(*row))
            for each, now, then in zip(_COUNTS, counts, before, strict=True):
                setattr(calls, each, getattr(calls, each) + now - then)
            if arguments is not None:
                positional = _positional(operator, overload)
                each_call = None
                if positional is not None:
                    each_call = self._formulas[operator](arguments[:positional], results)
                if each_call is not None:
                    calls.flops = (calls.flops or 0) + each_call * (counts[0] - before[0])
        return sorted(found.values(), key=lambda calls: -calls.own_ns)


def providers(name_space: str = "aten") -> dict[str, str]:
    """Who would serve each overload of a namespace, by their names: "aten::add.Tensor"."""
    device_module.init()
    return {
        f"{operator}.{overload}" if overload else operator: served
        for operator, overload, served in sorted(_native.providers(name_space))
    }


def providers_document() -> dict[str, Any]:
    """The same for JSON, of ATen's, which `outback ops --list` shows."""
    return {
        "schema": SCHEMA,
        "backend": name,
        "torch": torch.__version__,
        "operators": providers(),
    }


def _printable(text: str) -> str:
    """A file's name may have what a terminal would obey."""
    return "".join(it if it.isprintable() else ascii(it)[1:-1] for it in text)


def _logged() -> _Logged:
    return {key: (counts, *of_formula) for key, counts, *of_formula in _native.logged_operators()}


def _schema(operator: str, overload: str) -> Any:
    """None if the operator is gone, with the torch.library.Library that had it."""
    try:
        return torch._C._get_schema(operator, overload)
    except RuntimeError:
        return None


def _signature(calls: OperatorCalls) -> str:
    schema = _schema(calls.operator, calls.overload)
    dot = "." if calls.overload else ""
    return str(schema or f"{calls.operator}{dot}{calls.overload}(...)")


def _positional(operator: str, overload: str) -> int | None:
    """How many arguments may stand without their names, as the formulas take them."""
    schema = _schema(operator, overload)
    return schema and sum(not each.kwarg_only for each in schema.arguments)


_Formula = Callable[[list[Any], list[Any]], int | None]


def _formulas() -> dict[str, _Formula]:
    """FLOPs of a call by its arguments, with sizes in the place of tensors, and its results' sizes.
    No formula needs an argument that only its name sets."""
    from torch.utils.flop_counter import flop_registry

    known = {
        packet._qualified_op_name: formula
        for packet, formula in flop_registry.items()
        # Some read the tensors themselves.
        if isinstance(packet, torch._ops.OpOverloadPacket) and not hasattr(formula, "_get_raw")
    }
    attention = "aten::_scaled_dot_product_flash_attention"
    for same, as_that in (
        ("aten::convolution_overrideable", "aten::convolution"),
        (f"{attention}_for_cpu", attention),
        (f"{attention}_for_cpu_backward", f"{attention}_backward"),
    ):
        known.setdefault(same, known[as_that])
    made = {op: _guarded(formula) for op, formula in known.items()}
    backward = made["aten::convolution_backward"]

    def without_bias_sizes(arguments: list[Any], results: list[Any]) -> int | None:
        return backward([*arguments[:3], None, *arguments[3:]], results)

    made["aten::convolution_backward_overrideable"] = without_bias_sizes
    return made


def _guarded(formula: Callable[..., int]) -> _Formula:
    def flops(arguments: list[Any], results: list[Any]) -> int | None:
        # torch's sizes of a call with one result are that result's.
        sizes = results[0] if len(results) == 1 else results
        try:
            return int(formula(*arguments, out_val=sizes))
        except (AssertionError, TypeError, ValueError, IndexError):
            return None  # sizes that the formula is not for, of nested tensors say

    return flops


def _record_until_the_end(file: str, with_stack: bool) -> None:
    if not safe_files.is_own_descriptor(file):
        file = os.path.abspath(file)  # the program may change its folder
    recording = record_operators(with_stack)
    record, process = recording.__enter__(), os.getpid()

    def write() -> None:
        if os.getpid() != process:  # a fork, which has its parent's calls
            return
        recording.__exit__()
        to = file.replace("%p", str(process))
        try:
            # The start refused a link there; somebody may have made one since.
            safe_files.write(to, record._data(), follows=False)
        except OSError as error:
            print(f"{name}: OUTBACK_OPERATORS={to} cannot be written: {error}", file=sys.stderr)

    atexit.register(write)


def record_until_the_end() -> None:
    """What OUTBACK_OPERATORS asks for."""
    file = _native.wanted_report()
    if file is not None:
        _record_until_the_end(file, _native.are_places_wanted())


for each in (record_operators, OperatorRecord, OperatorCalls):
    each.__module__ = f"torch.{name}"  # which gives them to those who ask (surface.py)
