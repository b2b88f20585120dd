"""Imports: what a worker has imported before its first check."""

import sys

import torch

from conformance.backend import Backend
from conformance.check import check


@check()
def comparing_imports_nothing(_: Backend) -> None:
    """What torch imports to compare is there already: a worker would take longer for it than for
    most checks."""
    before = set(sys.modules)
    torch.testing.assert_close(torch.ones(1), torch.ones(1))
    assert set(sys.modules) == before
