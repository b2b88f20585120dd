"""Looks at everything: what may crash or hang in processes of their own, all at the same time."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from . import backends, cache, contact, cuda, level_zero, opencl, python, pytorch, toolchain
from . import variables as set_variables
from .child import Probe, Report
from .finding import PROBLEM, Finding
from .installed import Backend, Installed, look


@dataclass(frozen=True)
class Examination:
    findings: list[Finding]
    seconds: float

    @property
    def problems(self) -> int:
        return sum(it.status == PROBLEM for it in self.findings)


def examine(limit: float) -> Examination:
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
        has_backend = bool(installed.backends)
        compiled = list(toolchain.findings(has_backend))
        cached = list(cache.findings(key, has_backend))
        reports = {name: probe.report() for name, probe in probes.items()}
        contacts = _contacts_made(installed, reports, limit)
    torch = reports.get("torch")
    devices = {it.told["device"] for it in contacts.values() if "device" in it.told}
    found = [
        *python.findings(installed, here),
        *pytorch.findings(installed, torch),
        *compiled,
        *cuda.findings(reports["cuda"], torch),
        *level_zero.findings(reports["level zero"]),
        *opencl.findings(reports["opencl"]),
        *cached,
        *backends.findings(installed, torch, contacts),
        *_contacts(installed, contacts),
        *set_variables.findings(devices | {it.device for it in installed.backends}),
    ]
    return Examination(found, time.monotonic() - begun)


def _probes(installed: Installed, limit: float) -> Iterator[tuple[str, Probe]]:
    """Starts each when it is asked for: what is started is closed, whatever comes after it."""
    plain = _environment()
    if installed.torch_folder is not None:
        named = ", ".join(it.name for it in installed.backends if it.value)
        loads = named if backends.torch_loads_backends() else ""
        yield "torch", Probe("torch_probe", loads, limit=limit, environment=plain)
        alone = _alone(installed)
        for backend in installed.backends:
            if backend.is_there and backend is not alone:
                yield _contact(backend), _probe(backend, limit)
    cudarts = cuda.cudarts(installed)
    yield "cuda", Probe("cuda_probe", cuda.nvml(), *cudarts, limit=limit, environment=plain)
    loader = level_zero.loader()
    yield "level zero", Probe("level_zero_probe", loader, limit=limit, environment=plain)
    yield "opencl", Probe("opencl_probe", opencl.loader(), limit=limit, environment=plain)


def _alone(installed: Installed) -> Backend | None:
    """The one backend, if `import torch` loads it: the process that does makes the contact too."""
    if len(installed.backends) != 1 or not backends.torch_loads_backends():
        return None
    (backend,) = installed.backends
    return backend if backend.value and backend.is_there else None


def _probe(backend: Backend, limit: float) -> Probe:
    module = backend.name if backend.value else backend.package
    # It is to be loaded, whatever else `import torch` would do.
    loaded = _environment() | {"OUTBACK_AUTOLOAD": "1"}
    return Probe("backend_probe", module, backend.value, limit=limit, environment=loaded)


def _contacts_made(
    installed: Installed, reports: dict[str, Report], limit: float
) -> dict[str, Report]:
    made = {it.name: reports[_contact(it)] for it in installed.backends if _contact(it) in reports}
    alone = _alone(installed)
    if alone is None or "torch" not in reports:
        return made
    torch = reports["torch"]
    left_out = "loaded" in torch.told and not torch.told.keys() & {"device", "load_error"}
    if left_out and not torch.told["warnings"]:  # as beside torch.cuda, it is no failure
        with contextlib.closing(_probe(alone, limit)) as probe:
            torch = probe.report()
    return made | {alone.name: torch}


def _contact(backend: Backend) -> str:
    return f"contact with {backend.name}, {backend.distribution}"


def _environment() -> dict[str, str]:
    """This process's, but that torch loads nothing by itself, and that no file is written."""
    writing = ("OUTBACK_TRACE", "OUTBACK_OPERATORS", "OUTBACK_OPERATORS_STACK")
    ours = {name: text for name, text in os.environ.items() if name not in writing}
    return ours | {backends.AUTOLOAD: "0"}


def _contacts(installed: Installed, contacts: dict[str, Report]) -> Iterator[Finding]:
    for backend in installed.backends:
        if backend.name in contacts:
            yield from contact.findings(backend, contacts[backend.name])
