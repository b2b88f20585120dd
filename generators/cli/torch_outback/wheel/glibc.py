"""The oldest C library that a compiled file runs on: the newest version of a symbol it asks for."""

from __future__ import annotations

import re

from .layout import numbers


def floor(library: bytes) -> str:
    """ "2.34"; "" where it asks for none.

    The names of the versions are in the table of strings, which has nothing else of this form:
    GLIBC_2.34, with a null before it and behind it.
    """
    found = re.findall(rb"\0GLIBC_([0-9]+(?:\.[0-9]+)+)(?=\0)", library)
    return max((version.decode() for version in found), key=numbers, default="")
