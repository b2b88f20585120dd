"""Looks at everything: what may crash or hang in processes of their own, all at the same time."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from . import backends, cache, contact, cuda, level_zero, python, pytorch, toolchain
from . import variables as set_variables
from .child import Probe, Report
from .finding import PROBLEM, Finding
from .fixing import fix
from .installed import Backend, Installed, look


@dataclass(frozen=True)
class Examination:
    findings: list[Finding]
    fixed: list[str]
    seconds: float

    @property
    def problems(self) -> int:
        return sum(it.status == PROBLEM for it in self.findings)


def examine(limit: float, fixes: bool) -> Examination:
    """`limit` is in seconds, for each of the processes."""
    begun = time.monotonic()
    here = python.present_folder()
    if here is None:
        os.chdir("/")
    installed = look()
    with contextlib.ExitStack() as stack:
        probes = {
            name: stack.enter_context(contextlib.closing(probe))
            for name, probe in _probes(installed, limit)
        }
        # Torch's headers are read and a compiler is tried while the others import torch.
        key = cache.present_key()
        fixed = fix(key) if fixes else []
        has_backend = bool(installed.backends)
        compiled = list(toolchain.findings(has_backend))
        cached = list(cache.findings(key, has_backend))
        reports = {name: probe.report() for name, probe in probes.items()}
    torch = reports.get("torch")
    contacts = {
        it.name: reports[_contact(it)] for it in installed.backends if _contact(it) in reports
    }
    devices = {it.told["device"] for it in contacts.values() if "device" in it.told}
    found = [
        *python.findings(installed, here),
        *pytorch.findings(installed, torch),
        *compiled,
        *cuda.findings(reports["cuda"], torch),
        *level_zero.findings(reports["level zero"]),
        *cached,
        *backends.findings(installed, torch, contacts),
        *_contacts(installed, contacts),
        *set_variables.findings(devices | {it.device for it in installed.backends}),
    ]
    return Examination(found, fixed, time.monotonic() - begun)


def _probes(installed: Installed, limit: float) -> Iterator[tuple[str, Probe]]:
    """Starts each when it is asked for: what is started is closed, whatever comes after it."""
    plain = _environment()

    def probe(name: str, *arguments: str, **more: str) -> Probe:
        return Probe(name, *arguments, limit=limit, environment=plain | more)

    if installed.torch_folder is not None:
        yield "torch", probe("torch_probe", "1" if backends.torch_loads_backends() else "0")
        for backend in installed.backends:
            if backend.is_there:
                module = backend.name if backend.value else backend.package
                # It is to be loaded, whatever else `import torch` would do.
                loaded = probe("backend_probe", module, backend.value, OUTBACK_AUTOLOAD="1")
                yield _contact(backend), loaded
    yield "cuda", probe("cuda_probe", cuda.nvml(), *cuda.cudarts(installed))
    yield "level zero", probe("level_zero_probe", level_zero.loader())


def _contact(backend: Backend) -> str:
    return f"contact with {backend.name}, {backend.distribution}"


def _environment() -> dict[str, str]:
    """This process's, but that torch loads nothing by itself, and that no file is written."""
    ours = {name: text for name, text in os.environ.items() if name != "OUTBACK_TRACE"}
    return ours | {backends.AUTOLOAD: "0"}


def _contacts(installed: Installed, contacts: dict[str, Report]) -> Iterator[Finding]:
    for backend in installed.backends:
        if backend.name in contacts:
            yield from contact.findings(backend, contacts[backend.name])
