"""Where this Outback is, installed or as a source tree, and which one it is."""

import re
from pathlib import Path

OLDEST_TORCH = "2.11"  # that a backend can be built against
NEWEST_TORCH = "2.15"
_PACKAGE = Path(__file__).resolve().parent


def tree() -> Path:
    """The folder with Outback's CMakeLists.txt: share/outback of the wheel, or the repository."""
    installed = _PACKAGE / "share/outback"
    return installed if installed.exists() else _PACKAGE.parents[2]


def cmake_dir() -> Path:
    """The folder of OutbackConfig.cmake: with -D Outback_DIR=<it>, find_package(Outback) succeeds.

    Where torch-outback is in build-system.requires, scikit-build-core needs no such help: it is
    told by the entry point group cmake.prefix.
    """
    return tree() / "cmake"


def include_dir() -> Path:
    """The folder of outback/runtime.h, which needs no torch."""
    return tree() / "backend_template/include"


def template() -> Path:
    """The scaffold, which is the backend acme."""
    return tree() / "generators/project"


def version() -> str:
    text = (tree() / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.findall(r"project\(Outback VERSION ([0-9.]+)", text)[0]


def supports(torch: str) -> bool:
    """Whether a backend can be built against this minor release, "2.13"."""
    if re.fullmatch(r"[1-9][0-9]{0,3}\.(0|[1-9][0-9]{0,3})", torch) is None:
        return False
    oldest, asked, newest = (
        tuple(map(int, release.split("."))) for release in (OLDEST_TORCH, torch, NEWEST_TORCH)
    )
    return oldest <= asked <= newest


def minor_version() -> str:
    return ".".join(version().split(".")[:2])
