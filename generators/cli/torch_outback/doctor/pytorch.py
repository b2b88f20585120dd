"""The torch of this Python: whether it can be imported, which one it is, how it was built."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from .. import toolkit
from . import explaining
from .child import AT_THE_END, Report
from .finding import NOTE, PROBLEM, Finding, one_line
from .installed import Installed

_SECTION = "torch"
_OLDEST = tuple(map(int, toolkit.OLDEST_TORCH.split(".")))
_OWN = ("reading torch", "torch.cuda.", "torch.xpu.")  # what its probe does before any backend


def minor(version: str) -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found.group(1)), int(found.group(2))) if found else ()


def findings(installed: Installed, report: Report | None) -> Iterator[Finding]:
    if installed.torch_folder is None:
        yield Finding(
            _SECTION,
            "import",
            f"{sys.executable} has no torch",
            PROBLEM,
            f"install one of {_supported()}",
            f"{sys.executable} -m pip install torch",
        )
        return
    yield from _distributions(installed)
    if not (installed.torch_folder / "include/ATen/ATen.h").exists():
        yield Finding(
            _SECTION,
            "headers",
            f"there is no {installed.torch_folder}/include/ATen/ATen.h, without which no backend "
            f"can be built",
            NOTE if installed.backends else PROBLEM,
            "distributions have them in a package of their own; PyTorch's wheels have them",
        )
    assert report is not None
    yield _import(installed, report)
    version = report.told.get("version") or installed.torch_version
    if version:
        yield _version(version)
    if "version" in report.told:
        yield _build(report)
    if report.death and report.at.startswith(_OWN if installed.backends else (*_OWN, AT_THE_END)):
        advice = "install torch again, or the driver that it asks"
        yield Finding(_SECTION, "process", report.how_it_ended(), PROBLEM, advice)


def _supported() -> str:
    return f"torch {'.'.join(map(str, _OLDEST))} to {toolkit.NEWEST_TORCH}"


def _distributions(installed: Installed) -> Iterator[Finding]:
    known = installed.torch_distributions
    if len(known) > 1:
        yield Finding(
            _SECTION,
            "installed",
            f"pip's lists have torch {' and torch '.join(known)}: files of both may be mixed",
            PROBLEM,
            "uninstall it as often as there is one, then install it again",
            "pip uninstall -y torch; pip uninstall -y torch; pip install torch",
        )
    # Builds name themselves 2.13.0+cpu in one place, and 2.13.0 in another.
    elif known and installed.torch_version.partition("+")[0] != known[0].partition("+")[0]:
        yield Finding(
            _SECTION,
            "installed",
            f"pip's list has torch {known[0]}, and Python imports {installed.torch_version} of "
            f"{installed.torch_folder}",
            NOTE,
            "a folder of PYTHONPATH or a half-done installation comes first: pip installs backends "
            "for the other one",
        )


def _import(installed: Installed, report: Report) -> Finding:
    if "import_error" in report.told:
        error = report.told["import_error"]
        text = explaining.told(error)
        advice, command = explaining.of(text)
        if not advice:
            package = explaining.package_of(error) or "torch"
            advice = f"install {package} again"
            command = f"pip install --force-reinstall {package}"
        found = one_line(f"import torch fails: {text}")
        return Finding(_SECTION, "import", found, PROBLEM, advice, command)
    if report.death and "file" not in report.told:
        return Finding(
            _SECTION,
            "import",
            report.how_it_ended(),
            PROBLEM,
            *_of_a_death(report.death),
        )
    seconds = report.told.get("import_seconds", 0.0)
    return Finding(_SECTION, "import", f"{seconds:.1f} s, from {installed.torch_folder}")


def _of_a_death(death: str) -> tuple[str, str]:
    if "SIGILL" in death:
        return "this processor lacks an instruction that this build uses: take another build", ""
    if "SIGKILL" in death:
        return "the system ended it, as it does when memory is full: see `dmesg`", ""
    if death.startswith("no end"):
        return "if the disk is slow, as on the first import, give it more time", (
            "outback doctor --timeout 120"
        )
    return "install torch again", "pip install --force-reinstall torch"


def _version(version: str) -> Finding:
    numbers = minor(version)
    newest = minor(toolkit.NEWEST_TORCH)
    if numbers and numbers < _OLDEST:
        return Finding(
            _SECTION,
            "version",
            f"{version} is older than Outback supports: CMake will refuse it",
            PROBLEM,
            f"install one of {_supported()}",
            f"pip install 'torch=={toolkit.NEWEST_TORCH}.*'",
        )
    if numbers > newest:
        return Finding(
            _SECTION,
            "version",
            f"{version} is newer than Outback was tested with, which is {_supported()}",
            NOTE,
            "nothing refuses it: `outback conformance` says what works",
        )
    return Finding(_SECTION, "version", version)


def _build(report: Report) -> Finding:
    told = report.told
    kinds = [
        f"{name} {told[key]}"
        for key, name in (("cuda", "CUDA"), ("hip", "ROCm"), ("xpu", "XPU"))
        if told.get(key)
    ]
    parts = [" and ".join(kinds) or "CPU"]
    parts.append("C++11 ABI" if told.get("cxx11_abi", True) else "the C++ ABI from before C++11")
    if told.get("debug"):
        parts.append("debug")
    if told.get("cxx11_abi", True):
        return Finding(_SECTION, "build", ", ".join(parts))
    return Finding(
        _SECTION,
        "build",
        ", ".join(parts),
        NOTE,
        "every library that is linked with it has to be compiled so: the build does it, and "
        "libraries of others may not be",
    )
