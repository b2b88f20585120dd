"""The suites of checks as a source of entries."""

from __future__ import annotations

import importlib
import random
import traceback
import unittest
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import torch

from . import device, dtypes
from .apart import need_device
from .backend import Backend
from .check import Check, Skipped, Unsupported
from .running.source import Entry, Say
from .suite_settings import LOADING, SuiteSettings

_TRACE = 8000  # characters


class Suites:
    """The checks of modules, which are run on a backend."""

    renews = True

    def __init__(
        self,
        settings: SuiteSettings,
        without: tuple[str, ...],
        say: Say,
        versions: dict[str, str],
    ):
        self._backend = Backend(device.find(settings.device), tuple(settings.imports))
        self._settings = settings
        self._without = without
        self._say = say
        self._versions = versions
        self._titles: dict[str, str] = {}
        self._checks: dict[str, Check] = {}  # by key, in order
        self._beside_the_cpu: set[str] = set()  # suites that ask for what the CPU is not

    def _load(self, suite: str) -> None:
        """A suite that cannot be loaded has one check, which fails of that."""
        self._titles[suite] = suite
        try:
            module = importlib.import_module(f"{self._settings.package}.{suite}")
            self._titles[suite] = _title(module)
            found = _by_name(_checks_of(module, self._backend))
            if getattr(module, "BESIDE_THE_CPU", False):
                self._beside_the_cpu.add(suite)
        except Exception as error:
            found = {LOADING: _failing(error)}
        self._checks |= {f"{suite}/{name}": check for name, check in found.items()}

    def describe(self) -> dict[str, Any]:
        for suite in self._settings.suites:
            if suite not in self._without:
                self._say.loading(suite)
                self._load(suite)
        return {
            "versions": self._versions,
            "backend": device.packages(self._settings.device, self._settings.imports),
            "titles": self._titles,
            "catalog": [_described(key, check) for key, check in self._checks.items()],
        }

    def check(self, key: str, phase: str) -> Entry:
        suite = key.partition("/")[0]
        if suite not in self._titles:  # some import much, which few workers need
            self._load(suite)
        if key not in self._checks:
            return {"status": "failed", "error": "another process of the same backend has had it"}
        torch.default_generator.manual_seed(0)
        random.seed(0)
        try:
            if suite in self._beside_the_cpu:
                need_device(self._backend)
            self._checks[key](self._backend)
        except Unsupported as error:
            return {"status": "unsupported", "reason": str(error)}
        except NotImplementedError as error:
            return {"status": "unsupported", "reason": _first_line(error)}
        except (Skipped, unittest.SkipTest) as error:
            return {"status": "skipped", "reason": str(error)}
        except Exception as error:
            if needed := dtypes.needed(self._backend.device, error):
                return {"status": "unsupported", "reason": needed}
            trace = "".join(traceback.format_exception(type(error), error, _from_check(error)))
            return {"status": "failed", "error": _said(error), "trace": trace[-_TRACE:]}
        return {"status": "passed"}


def open(settings: str, without: tuple[str, ...], say: Say) -> Suites:
    """Of a suite in `without` the supervisor knows that loading it ends the process."""
    asked = SuiteSettings.from_json(settings)
    versions = device.load(asked.device, asked.imports)
    return Suites(asked, without, say, versions)


def _checks_of(module: ModuleType, backend: Backend) -> Iterator[Check]:
    """Those of the module and of its lists, then those that it makes for a backend."""
    for value in list(vars(module).values()):
        if isinstance(value, Check):
            yield value
        elif isinstance(value, list):
            yield from (each for each in value if isinstance(each, Check))
    if hasattr(module, "checks"):
        yield from module.checks(backend)


def _by_name(checks: Iterable[Check]) -> dict[str, Check]:
    found: dict[str, Check] = {}
    for check in checks:
        if check.name in found:
            raise ValueError(f"two checks are called {check.name}")
        found[check.name] = check
    return found


def _failing(error: Exception) -> Check:
    """Its name is LOADING."""

    def loading(_: Backend) -> None:
        """The suite can be loaded."""
        raise error

    return Check(loading)


def _title(module: ModuleType) -> str:
    first = (module.__doc__ or module.__name__.rpartition(".")[2]).strip().splitlines()[0]
    return first.removesuffix(".")


def _described(key: str, check: Check) -> dict[str, Any]:
    return {
        "key": key,
        "suite": key.partition("/")[0],
        "name": check.name,
        "phases": [""],
        "level": check.level,
        "alone": check.alone,
        "tier": check.tier,
        "promise": check.promise,
        "called_by": check.called_by,
        "without": check.without,
    }


def _from_check(error: Exception) -> Any:
    """The traceback without what called the check."""
    frames = error.__traceback__
    inner = frames.tb_next.tb_next if frames is not None and frames.tb_next is not None else None
    return inner or frames


def _said(error: Exception) -> str:
    """In a line; an assertion without words by what it asserts."""
    if isinstance(error, AssertionError):
        if str(error):
            return _first_line(error)
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{frame.line} ({frame.filename.rpartition('/')[2]}:{frame.lineno})"
    return f"{type(error).__name__}: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    """With the details that torch.testing gives below it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines and lines[0].endswith(("are not close!", "are not equal!")):
        lines = ["; ".join(lines[:3])]
    line = lines[0] if lines else type(error).__name__
    return line if len(line) <= 300 else line[:299] + "…"
