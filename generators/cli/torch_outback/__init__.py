"""Outback for builds: where its sources, headers and CMake files are installed."""

from pathlib import Path

__all__ = ["prefix"]


def prefix() -> Path:
    """The folder for CMAKE_PREFIX_PATH: there find_package(Outback) succeeds.

    Where torch-outback is in build-system.requires, scikit-build-core needs no such help: it is
    told by the entry point group cmake.prefix.
    """
    return Path(__file__).resolve().parent
