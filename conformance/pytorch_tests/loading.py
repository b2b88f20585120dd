"""Imports one of PyTorch's test files, and finds what it has made for a device type."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import sys
import unittest
from pathlib import Path
from types import ModuleType

import torch

from . import stand_ins
from .naming import Name, name_of

_ONLY_FOR = "PYTORCH_TESTING_DEVICE_ONLY_FOR"


@dataclasses.dataclass(frozen=True)
class Test:
    """What PyTorch has made of a template for one device type."""

    name: Name
    case: type[unittest.TestCase]
    method: str

    @property
    def label(self) -> str:
        """As PyTorch's runner takes it."""
        return f"{self.case.__name__}.{self.method}"


@dataclasses.dataclass(frozen=True)
class Loaded:
    """The tests of one file by their keys, and what stands in for names that it imports.

    Args:
        asked_for: the device type as PyTorch's variable has it, of the tests that are made.
    """

    asked_for: str
    tests: dict[str, Test]
    stand_ins: list[str]


def load(folder: Path, file: str, device: torch.device) -> Loaded:
    """As `python FILE` would in the folder, for that device type only."""
    only_for = asked_for(device)
    os.environ[_ONLY_FOR] = only_for
    # Its import looks for backends: not before the device's module has been loaded.
    from torch.testing._internal import common_device_type, common_utils

    path = folder / file
    sys.argv = [file]
    sys.path[:0] = [str(path.parent), str(folder)]
    os.chdir(folder)
    common_utils.parse_cmd_line_args()
    with stand_ins.provided(path.read_text(encoding="utf-8")) as used:
        module = _import(path)
    found: dict[str, Test] = {}
    for value in vars(module).values():
        if not isinstance(value, type):
            continue
        if issubclass(value, common_device_type.DeviceTypeTestBase):
            for test in _tests_of(value, device.type):
                found[test.name.key] = test
    return Loaded(only_for, found, used)


def asked_for(device: torch.device) -> str:
    """As PyTorch's variable has it: a backend on PrivateUse1 by the name of the key."""
    is_privateuse1 = device.type == torch._C._get_privateuse1_backend_name()
    return "privateuse1" if is_privateuse1 else device.type


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where what is pickled, and expected results, look for it
    spec.loader.exec_module(module)
    return module


def _tests_of(case: type[unittest.TestCase], device_type: str) -> list[Test]:
    methods = unittest.defaultTestLoader.getTestCaseNames(case)
    return [Test(name_of(case.__name__, each, device_type), case, each) for each in methods]
