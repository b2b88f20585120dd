"""Loads one backend, whatever `import torch` would do, and makes a first contact.

Arguments: the name and the value of its entry point; no value: the module is imported.
"""

import importlib
import importlib.metadata
import sys
import warnings

import first_contact
from outback_probe import at, described, tell


def main(name: str, value: str) -> None:
    at("import torch")
    try:
        import torch
    except BaseException as error:
        tell("import_error", described(error))
        return
    at(f"loading {name}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _load(name, value)
        except BaseException as error:
            tell("load_error", described(error))
    tell("warnings", [str(each.message) for each in caught])
    first_contact.make(torch)


def _load(name: str, value: str) -> None:
    if value:
        importlib.metadata.EntryPoint(name, value, "torch.backends").load()()
    else:
        importlib.import_module(name)


main(*sys.argv[4:6])
