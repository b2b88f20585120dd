"""Which suites there are: the modules of `suites`, and PyTorch's samples."""

from __future__ import annotations

import importlib
import pkgutil

from .running.refused import Refused

PACKAGE = f"{__package__}.suites"
# What a suite of samples is called in opinfo.
KINDS = {"operators": "ops", "modules": "modules", "optimizers": "optimizers"}
TITLES = {
    "operators": "PyTorch's samples of operators agree with the CPU",
    "modules": "PyTorch's samples of modules agree with the CPU",
    "optimizers": "PyTorch's samples of optimizers agree with the CPU",
}


def of_checks(package: str = PACKAGE) -> list[str]:
    """By name; none of them is imported, since that wants torch."""
    path = importlib.import_module(package).__path__
    return sorted(module.name for module in pkgutil.iter_modules(path))


def chosen(names: tuple[str, ...], package: str = PACKAGE) -> tuple[str, ...]:
    """Those names, or all, in the order in which they run. Raises Refused."""
    known = (*of_checks(package), *KINDS)
    if unknown := [name for name in names if name not in known]:
        raise Refused(f"no such suite: {', '.join(unknown)}; there are {', '.join(known)}")
    return tuple(name for name in known if not names or name in names)
