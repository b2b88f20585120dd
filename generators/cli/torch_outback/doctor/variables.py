"""The variables of the environment that are set: what each does, and whether it can be read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from .. import variables
from . import known_variables as known
from .finding import NOTE, OK, PROBLEM, Finding, one_line

_SECTION = "variables"
_DEVICES = "_VISIBLE_DEVICES"
# They are for tests: whoever has left one of them set wonders.
_FOR_TESTS = (
    "OUTBACK_FAULTS",
    "OUTBACK_FLOAT64",
    "OUTBACK_HOST_ADVERSARIAL",
    "OUTBACK_HOST_FAIL_WORK",
    "OUTBACK_HOST_PROTECTED",
    "OUTBACK_TWIN",
)


def findings(devices: Iterable[str]) -> Iterator[Finding]:
    """`devices`: the names of the backends' devices, as acme."""
    lists = {f"{device.upper()}{_DEVICES}" for device in devices}
    names = [name for name in sorted(variables.names()) if _concerns(name, lists)]
    if variables.has_other_rights():
        yield Finding(
            _SECTION,
            "all",
            "this program has other rights than its user: Outback takes none of its variables",
            NOTE,
        )
        return
    found = [it for it in (_of(name, variables.text(name), lists) for name in names) if it]
    yield from found or [Finding(_SECTION, "none", "no variable that matters is set")]


def _concerns(name: str, lists: set[str]) -> bool:
    if name in ("HOME", "XDG_CACHE_HOME"):  # always set, and wrong where they are no path
        return bool(known.problem(name, variables.text(name)))
    return name in known.OURS or name in known.THEIRS or name in lists or _is_ours(name)


def _is_ours(name: str) -> bool:
    return name.startswith("OUTBACK_")


def _of(name: str, value: str, lists: set[str]) -> Finding | None:
    if name not in known.OURS and name not in known.THEIRS and name not in lists:
        return _unknown(name)
    meaning = known.OURS["<NAME>_VISIBLE_DEVICES"][1] if name in lists else _meaning(name)
    shown = name in lists or known.shows_value(name)
    text = f"{variables.printable(value)}: {meaning}" if shown else f"set: {meaning}"
    if not value and name in known.OURS and not name.endswith(_DEVICES):
        return Finding(_SECTION, name, f"empty, which is as if it were not set: {meaning}")
    if expected := known.problem(name, value):
        ignored = name in ("HOME", "XDG_CACHE_HOME")
        return Finding(
            _SECTION,
            name,
            one_line(f"{text}: expected {expected}" + ("; it is ignored" if ignored else "")),
            NOTE if ignored else PROBLEM,
            "set it to that, or unset it",
            f"unset {name}",
        )
    status, advice = _warned(name, value)
    return Finding(
        _SECTION, name, one_line(text), status, advice, f"unset {name}" if advice else ""
    )


def _meaning(name: str) -> str:
    return known.OURS[name][1] if name in known.OURS else known.THEIRS[name]


def _unknown(name: str) -> Finding:
    near = difflib.get_close_matches(name, known.OURS, n=1)
    advice = f"{near[0]} may be meant; " if near else ""
    return Finding(
        _SECTION,
        name,
        "set, and Outback reads no variable of that name",
        NOTE,
        f"{advice}CMake's options are given as -D {name}=...",
    )


def _warned(name: str, value: str) -> tuple[str, str]:
    if name in _FOR_TESTS:
        return NOTE, "it is for tests: unset it for all else"
    if name == "OUTBACK_LAUNCH_BLOCKING" and value == "1":
        return NOTE, "it makes each operator wait, to find errors: unset it for all else"
    if value == "" and name.endswith(_DEVICES):
        return NOTE, "an empty list hides all devices: unset it to see them"
    if name == "TORCH_DEVICE_BACKEND_AUTOLOAD" and value != "1":
        return NOTE, "`import torch` loads no backend by itself: import it, or unset this"
    if name == "LD_PRELOAD":
        return NOTE, "a library that is loaded first may break torch: try without it"
    if name == "LD_LIBRARY_PATH" and "stubs" in value:
        return NOTE, "it names the Toolkit's stubs, which are only for linking: take them out"
    if name == "PYTHONHOME":
        return NOTE, "a Python of another release cannot start with it: unset it"
    return OK, ""
