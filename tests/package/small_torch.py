"""Made-up releases of torch, of the few files that `outback upgrade-report` reads: as folders and
as wheels."""

import json
import zipfile
from pathlib import Path

from click.testing import CliRunner, Result
from conftest import ROOT  # puts torch_outback on the path  # noqa: F401
from torch_outback.cli import main

GUARD = "torch/include/c10/core/impl/DeviceGuardImplInterface.h"
BACKEND = "torch/include/torch/csrc/distributed/c10d/Backend.hpp"
STUBS = "torch/include/ATen/native/Activation.h"
YAML = "torchgen/packaged/ATen/native/native_functions.yaml"
OPINFO = "torch/testing/_internal/common_methods_invocations.py"
INTERFACE = "torch/_dynamo/device_interface.py"

_ADD = """\
# What adds.
- func: add.Tensor(Tensor self, Tensor other) -> Tensor
  structured_delegate: add.out
  variants: function, method
- func: add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA: add_out
"""
_SMALLEST = {
    "torch/__init__.py": "",
    "torch/include/c10/core/Device.h": "namespace c10 { struct Device {}; }\n",
    YAML: _ADD,
}


def files(version: str, **texts: str) -> dict[str, str]:
    """Of the smallest torch, with these besides: keys are names of this module, as GUARD."""
    own = {globals()[name]: text for name, text in texts.items()}
    return {**_SMALLEST, "torch/version.py": f"__version__ = '{version}'\n", **own}


def operators(text: str) -> str:
    """For YAML: those of the smallest torch, and these."""
    return _ADD + text


def folder(place: Path, texts: dict[str, str]) -> Path:
    """Also for the files of a project."""
    for name, text in texts.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return place


def wheel(place: Path, texts: dict[str, str]) -> Path:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in texts.items():
            made.writestr(name, text)
    return place


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["upgrade-report", *map(str, arguments)])


def changes(
    tmp_path: Path, old: dict[str, str], new: dict[str, str], project: dict[str, str]
) -> dict[tuple[str, str], dict]:
    """What the document has, by the kind of each change and its name."""
    places = [
        folder(tmp_path / name, texts)
        for name, texts in (("old", old), ("new", new), ("project", project))
    ]
    done = run(*places[:2], "--project", places[2], "--format", "json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)["changes"]
    by_name = {(it["kind"], it["name"]): it for it in found}
    assert len(by_name) == len(found)
    return by_name


def lines(change: dict) -> list[str]:
    """The project's: "guard.cpp:3 overrides it"."""
    return [f"{it['file']}:{it['line']} {it['how']}" for it in change["touches"]]
