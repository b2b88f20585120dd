"""torch.acme._sanitizer finds the races of small programs, and none in right ones."""

import os
import warnings

import pytest
import torch

from .racy_programs import PROGRAMS, kept, ones

pytestmark = pytest.mark.any_runtime
sanitizer = torch.acme._sanitizer


@pytest.fixture
def watch():
    """Begins, and ends after the test. The variable may have begun before."""
    sanitizer.disable()
    yield sanitizer.enable
    sanitizer.disable()
    kept.clear()
    if os.environ.get("OUTBACK_SANITIZER"):
        sanitizer.enable()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_race_is_found(name, watch, two_devices):
    program, kind = PROGRAMS[name]
    watch()
    with pytest.raises(sanitizer.RaceError) as caught:
        program(right=False)
    assert caught.value.kind == kind
    assert str(caught.value).count("racy_programs.py") >= 2  # both operators' places


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_race_is_found_in_a_right_program(name, watch, two_devices):
    program, _ = PROGRAMS[name]
    watch()
    for _ in range(3):  # the memory of the rounds before is handed out again
        program(right=True)
        torch.acme.synchronize()
        torch.acme.synchronize(1)
        kept.clear()
