"""OpenCL: the loader, the drivers, and what their devices lack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import variables
from .child import Report
from .finding import NOTE, OK, PROBLEM, Finding, one_line

_SECTION = "opencl"
_LOADER = "libOpenCL.so.1"
_PACKAGES = "apt-get install ocl-icd-libopencl1"


def loader() -> str:
    return variables.text("OUTBACK_OPENCL_LOADER") or _LOADER


def findings(report: Report) -> Iterator[Finding]:
    yield _loader(report)
    if report.death or "platforms" not in report.told:
        return
    platforms = report.told["platforms"]
    if not platforms:
        found = "none, which only devices of OpenCL need"
        advice = "for those, install the vendor's, or PoCL for the CPU (Debian: pocl-opencl-icd)"
        yield Finding(_SECTION, "drivers", found, OK, advice)
    for platform in platforms:
        yield _driver(platform)


def _loader(report: Report) -> Finding:
    if report.death:
        advice = (
            "the loader or a driver that it opens is broken: OCL_ICD_VENDORS=<folder> leaves out"
        )
        advice += " all drivers but those that the folder's files name"
        return Finding(_SECTION, "loader", report.how_it_ended(), PROBLEM, advice)
    if "missing" not in report.told:
        return Finding(_SECTION, "loader", report.told.get("loader", loader()))
    why = one_line(report.told["missing"])
    if variables.text("OUTBACK_OPENCL_LOADER"):
        advice = "set OUTBACK_OPENCL_LOADER to a loader, or unset it"
        return Finding(_SECTION, "loader", why, PROBLEM, advice, "unset OUTBACK_OPENCL_LOADER")
    if "No such file" not in why:
        return Finding(_SECTION, "loader", why, PROBLEM, "install the loader again", _PACKAGES)
    found = "none, which only devices of OpenCL need"
    advice = "for those, install it (Debian: ocl-icd-libopencl1, and opencl-c-headers to build the"
    return Finding(_SECTION, "loader", found, OK, advice + " runtime)")


def _driver(platform: dict[str, Any]) -> Finding:
    devices = platform["devices"]
    found = f"{platform['version']}; " + (", ".join(map(_device, devices)) or "no devices")
    lacking = [device["name"] for device in devices if not (device["usm"] or device["svm"])]
    if not lacking:
        return Finding(_SECTION, platform["name"], found)
    advice = f"{', '.join(lacking)}: Outback needs pointers to memory, so a backend cannot use it"
    return Finding(_SECTION, platform["name"], found, NOTE, advice)


def _device(device: dict[str, Any]) -> str:
    has = [word for word, key in (("USM", "usm"), ("fine-grained SVM", "svm")) if device[key]]
    memory = " and ".join(has) or "neither USM nor fine-grained SVM"
    languages = "SPIR-V and OpenCL C" if device["spirv"] else "OpenCL C"
    return f"{device['name']} ({device['type']}, {memory}, {languages})"
