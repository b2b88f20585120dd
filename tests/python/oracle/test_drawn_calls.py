"""Calls drawn by hypothesis: the same happens as with PyTorch's generated methods."""

import pytest
from hypothesis import HealthCheck, given, settings

from oracle import strategies
from oracle.comparing import differing

pytestmark = pytest.mark.any_runtime


def drawn(count: int) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def check(call, theirs) -> None:
    found = differing(call, theirs)
    assert not found


@drawn(800)
@given(strategies.tensor_calls)
def test_tensors(theirs, call):
    check(call, theirs)


@drawn(400)
@given(strategies.module_calls)
def test_modules(theirs, call):
    check(call, theirs)


@drawn(300)
@given(strategies.sequence_calls)
def test_packed_sequences(theirs, call):
    check(call, theirs)


@drawn(300)
@given(strategies.storage_calls)
def test_storages(theirs, call):
    check(call, theirs)
