"""What is done with warnings for a while."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Literal


@contextlib.contextmanager
def warnings_are(action: Literal["default", "error", "ignore", "always"]) -> Iterator[None]:
    """Every warning inside is an "error", or is what else warnings.simplefilter() takes.

    warnings.catch_warnings() takes no action before Python 3.11.
    """
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        yield
