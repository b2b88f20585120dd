"""Outback for builds: where its sources, headers and CMake files are installed."""

from pathlib import Path

__all__ = ["prefix"]


def prefix() -> Path:
    """The folder for CMAKE_PREFIX_PATH: there find_package(Outback) succeeds.

    Builds with scikit-build-core that name torch-outback in build-system.requires need no such help: the entry point
    group cmake.prefix tells them.
    """
    return Path(__file__).resolve().parent
