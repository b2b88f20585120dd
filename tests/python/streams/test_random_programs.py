"""Random programs of stream calls, where the device runs things as late and as mixed as it may."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.turns_on_memory

PROGRAMS = Path(__file__).with_name("stream_programs.py")


def run(seed: int, *arguments: str) -> subprocess.CompletedProcess:
    adversary = {
        "OUTBACK_HOST_ADVERSARIAL": str(seed),
        "FAKE_CUDA_ADVERSARIAL": str(seed),
        "OUTBACK_ZE_ADVERSARIAL": str(seed),
    }
    return subprocess.run(
        [sys.executable, PROGRAMS, *arguments],
        env=os.environ | adversary,
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_they_do_what_a_program_without_streams_does(seed):
    done = run(seed)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "ran\n"


def test_a_program_that_forgets_to_wait_is_found_out(real_streams):
    done = run(1, "--forget-to-wait")
    assert done.returncode != 0 and "AssertionError" in done.stderr
