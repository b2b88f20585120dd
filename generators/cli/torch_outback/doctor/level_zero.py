"""Level Zero: the loader, Intel's drivers and the devices."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from .. import variables
from .child import Report
from .finding import NOTE, OK, PROBLEM, Finding, one_line

_SECTION = "level zero"
_LOADER = "libze_loader.so.1"
_NODES = Path("/dev/dri")
_CARDS = Path("/sys/class/drm")
_INTEL = "0x8086"
_PACKAGES = "apt-get install libze1 libze-intel-gpu1"
# Of ze_api.h; for the others the number alone is printed.
_ERRORS = {
    0x70000001: "ZE_RESULT_ERROR_DEVICE_LOST",
    0x70000003: "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
    0x70010000: "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS",
    0x70020000: "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE",
    0x78000001: "ZE_RESULT_ERROR_UNINITIALIZED",
    0x78000002: "ZE_RESULT_ERROR_UNSUPPORTED_VERSION",
    0x78000003: "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE",
}


def loader() -> str:
    return variables.text("OUTBACK_ZE_LOADER") or _LOADER


def findings(report: Report) -> Iterator[Finding]:
    cards = _intel_nodes()
    yield _loader(report, bool(cards))
    if blocked := [str(it) for it in cards if not os.access(it, os.R_OK | os.W_OK)]:
        yield Finding(
            _SECTION,
            "rights",
            f"this user may not open {', '.join(blocked)}",
            PROBLEM,
            "become a member of the group that has it, and log in again",
            "sudo usermod -a -G render $USER",
        )
    if "loader" in report.told and not report.death:
        yield _drivers(report, bool(cards))


def _loader(report: Report, has_card: bool) -> Finding:
    if report.death:
        return Finding(
            _SECTION,
            "loader",
            report.how_it_ended(),
            PROBLEM,
            "the loader or a driver that it opens is broken: update both",
            _PACKAGES,
        )
    if "missing" not in report.told:
        return Finding(_SECTION, "loader", report.told.get("loader", loader()))
    why = one_line(report.told["missing"])
    if variables.text("OUTBACK_ZE_LOADER"):
        return Finding(
            _SECTION,
            "loader",
            why,
            PROBLEM,
            "set OUTBACK_ZE_LOADER to a loader, or unset it",
            "unset OUTBACK_ZE_LOADER",
        )
    if "No such file" not in why:
        return Finding(_SECTION, "loader", why, PROBLEM, "install the loader again", _PACKAGES)
    if has_card:
        return Finding(
            _SECTION,
            "loader",
            "none, beside a GPU of Intel's",
            NOTE,
            "to use that GPU, install the loader and the driver",
            _PACKAGES,
        )
    return Finding(
        _SECTION,
        "loader",
        "none, which only devices of Level Zero need",
        OK,
        "for those, install it (Debian: libze1, and libze-dev to build the runtime)",
    )


def _drivers(report: Report, has_card: bool) -> Finding:
    if status := report.told.get("init_error"):
        named = _ERRORS.get(status, "")
        found = f"zeInit answers {status:#x} {named}".rstrip()
        if not has_card:
            return Finding(_SECTION, "drivers", f"none for this machine: {found}")
        advice = "no driver started: install Intel's, and see whether the user may open /dev/dri"
        return Finding(_SECTION, "drivers", found, PROBLEM, advice, _PACKAGES)
    drivers = report.told.get("drivers", [])
    devices = [name for driver in drivers for name in driver["devices"]]
    versions = ", ".join(driver["api"] for driver in drivers)
    found = f"{len(drivers)}, for version {versions} of the API" if drivers else "none"
    found += f"; {len(devices)} devices visible"
    found += f": {', '.join(devices)}" if devices else ""
    if devices or not has_card:
        return Finding(_SECTION, "drivers", found)
    if variables.text("ZE_AFFINITY_MASK"):
        advice = "ZE_AFFINITY_MASK is set and may hide them"
        return Finding(_SECTION, "drivers", found, NOTE, advice, "unset ZE_AFFINITY_MASK")
    advice = "there is a GPU of Intel's: install its driver"
    return Finding(_SECTION, "drivers", found, PROBLEM, advice, _PACKAGES)


def _intel_nodes() -> list[Path]:
    """The files by which programs reach Intel's GPUs."""
    found = []
    for card in sorted(_CARDS.glob("renderD*")):
        try:
            vendor = (card / "device/vendor").read_text().strip()
        except OSError:
            continue
        node = _NODES / card.name
        if vendor == _INTEL and node.exists():
            found.append(node)
    return found
