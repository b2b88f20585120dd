"""Looks at everything: what may crash or hang in processes of their own, all at the same time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from . import backends, cache, child, contact, cuda, level_zero, python, pytorch, toolchain
from . import variables as set_variables
from .child import Report, Side
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
    installed = look()
    try:
        sides = _start(installed, limit)
        # Torch's headers are read and a compiler is tried while the others import torch.
        key = cache.present_key()
        fixed = fix(key) if fixes else []
        has_backend = bool(installed.backends)
        compiled = list(toolchain.findings(has_backend))
        cached = list(cache.findings(key, has_backend))
        reports = {name: side.result() for name, side in sides.items()}
    finally:
        child.end_all()
    torch = reports.get("torch")
    contacts = {
        it.name: reports[_contact(it)] for it in installed.backends if _contact(it) in reports
    }
    devices = {it.told["device"] for it in contacts.values() if "device" in it.told}
    found = [
        *python.findings(installed),
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


def _start(installed: Installed, limit: float) -> dict[str, Side]:
    plain = _environment()
    sides = {}
    if installed.torch_folder is not None:
        by_itself = "1" if backends.torch_loads_backends() else "0"
        sides["torch"] = Side("torch_probe", by_itself, limit=limit, environment=plain)
        for backend in installed.backends:
            if backend.is_there:
                sides[_contact(backend)] = Side(
                    "backend_probe",
                    backend.name if backend.value else backend.package,
                    backend.value,
                    limit=limit,
                    environment=plain | _LOADED,
                )
    cudarts = cuda.cudarts(installed)
    sides["cuda"] = Side("cuda_probe", cuda.nvml(), *cudarts, limit=limit, environment=plain)
    loader = level_zero.loader()
    sides["level zero"] = Side("level_zero_probe", loader, limit=limit, environment=plain)
    return sides


def _contact(backend: Backend) -> str:
    return f"contact with {backend.name}, {backend.distribution}"


# The backend is to be loaded, whatever else `import torch` would do.
_LOADED = {"OUTBACK_AUTOLOAD": "1"}


def _environment() -> dict[str, str]:
    """This process's, but that torch loads nothing by itself, and that no file is written."""
    ours = {name: text for name, text in os.environ.items() if name != "OUTBACK_TRACE"}
    return ours | {backends.AUTOLOAD: "0"}


def _contacts(installed: Installed, contacts: dict[str, Report]) -> Iterator[Finding]:
    for backend in installed.backends:
        if backend.name in contacts:
            yield from contact.findings(backend, contacts[backend.name])
