"""Outback: makes projects of PyTorch backends, and tells their builds where it is."""

from pathlib import Path

__all__ = ["cmake_dir"]


def cmake_dir() -> Path:
    """The folder of OutbackConfig.cmake: with -D Outback_DIR=<it>, find_package(Outback) succeeds.

    Where torch-outback is in build-system.requires, scikit-build-core needs no such help: it is
    told by the entry point group cmake.prefix.
    """
    from .toolkit import cmake_dir

    return cmake_dir()
