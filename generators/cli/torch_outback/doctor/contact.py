"""The first contact with each backend, as a probe has told it."""

from __future__ import annotations

from collections.abc import Iterator

from . import explaining
from .child import AT_THE_END, Report
from .finding import NOTE, PROBLEM, Finding, one_line, size
from .installed import Backend

_SECTION = "contact"
_STEPS = ("a byte there and back", "a stream", "an event")


def findings(backend: Backend, report: Report) -> Iterator[Finding]:
    told = report.told
    tried = told.keys() & {"device", "load_error", "loaded", "warnings"}
    if not tried and report.at != f"loading {backend.name}":
        return  # torch itself is the matter, of which is told elsewhere
    if "device" not in told:
        yield _not_loaded(backend, report)
        return
    device = told["device"]
    yield Finding(_SECTION, device, f"{backend.package} registers it")
    yield from _devices(device, report)
    yield from _steps(device, report)
    yield from _end(device, backend, report)


def _not_loaded(backend: Backend, report: Report) -> Finding:
    told = report.told
    if report.death:
        return Finding(
            _SECTION,
            backend.name,
            report.how_it_ended(),
            PROBLEM,
            *_of_a_death(backend, report),
        )
    if "load_error" in told:
        text = explaining.told(told["load_error"])
    else:
        text = "; ".join(told.get("warnings", ()))
    if text:
        advice, command = explaining.of(text)
        advice = advice or "the backend's own documentation may know of it"
        return Finding(
            _SECTION, backend.name, one_line(f"does not load: {text}"), PROBLEM, advice, command
        )
    return Finding(
        _SECTION,
        backend.name,
        "is loaded, and takes no device type of the key PrivateUse1",
        NOTE,
        "its device has a key of its own, or it found no device",
    )


def _of_a_death(backend: Backend, report: Report) -> tuple[str, str]:
    if report.at == AT_THE_END:
        return "a thread that it has started, or what it does at exit, keeps Python from ending", ""
    if report.death.startswith("no end"):
        return (
            "it waits for something: a lock, a driver, a network. The line is where Python is; "
            "give it more time, or look at its threads",
            "outback doctor --timeout 120",
        )
    if backend.of_outback:
        return (
            "its compiled part is damaged or of another torch, or its runtime crashes at once",
            "pip install --no-build-isolation --force-reinstall --no-deps <its folder>",
        )
    return f"report it to those who make {backend.distribution or backend.name}", ""


def _devices(device: str, report: Report) -> Iterator[Finding]:
    told = report.told
    if "no_module" in told:
        yield Finding(
            _SECTION,
            f"{device}: devices",
            f"there is no torch.{device}: the backend registers no module of that name",
            NOTE,
            "torch._register_device_module is what a backend calls for it",
        )
        return
    count = told.get("count")
    if count == 0:
        error = told.get("first use") or {}
        text = _first_line(error) if error else "there are 0 devices"
        yield Finding(
            _SECTION,
            f"{device}: devices",
            one_line(text),
            PROBLEM,
            f"the driver finds none, or {device.upper()}_VISIBLE_DEVICES hides all",
        )
    for index, facts in enumerate(told.get("facts", ())):
        memory = f", {size(facts['memory'])}" if facts.get("memory") else ""
        yield Finding(_SECTION, f"{device}:{index}", (facts.get("name") or "no name") + memory)
    if error := told.get("facts_error"):
        text = one_line(f"its facts cannot be read: {explaining.told(error)}")
        yield Finding(_SECTION, f"{device}: facts", text, PROBLEM, "see the driver's own tools")


def _first_line(error: dict[str, str]) -> str:
    """What it says, or what it is where it says nothing."""
    return next(iter(error["text"].splitlines()), error["kind"])


def _steps(device: str, report: Report) -> Iterator[Finding]:
    for step in _STEPS:
        error = report.told.get(step)
        if error is None:
            continue
        name = f"{device}: {step}"
        if not error:
            yield Finding(_SECTION, name, "works")
            continue
        advice, command = explaining.of(error["text"])
        lacks = error["kind"] == "NotImplementedError" and step != _STEPS[0]
        yield Finding(
            _SECTION,
            name,
            one_line(_first_line(error)),
            NOTE if lacks else PROBLEM,
            advice or ("the runtime has none" if lacks else "`outback conformance` tells more"),
            command,
        )


def _end(device: str, backend: Backend, report: Report) -> Iterator[Finding]:
    if report.death:
        name, text = f"{device}: process", report.how_it_ended()
        advice, command = "it is the backend or its driver: a debugger shows where", ""
        if report.death.startswith("died"):
            program = f"import {backend.package}, torch; torch.ones(1, device='{device}')"
            command = f'gdb -batch -ex run -ex backtrace --args python -c "{program}"'
        yield Finding(_SECTION, name, text, PROBLEM, advice, command)
    lines = report.printed.splitlines()
    if any(line.strip() for line in lines):
        yield Finding(
            _SECTION,
            f"{device}: prints",
            one_line(f"on stdout, where a program's own output goes: {lines[0]}"),
            NOTE,
            "a backend prints nothing there, since programs write what others read",
        )
    for text in report.told.get("warnings", ()):
        yield Finding(_SECTION, f"{device}: warns", one_line(text), NOTE, "as it says")
