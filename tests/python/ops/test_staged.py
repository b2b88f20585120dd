"""The same tests on a device whose memory the CPU cannot address: kernels then run on copies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.host_runtime
@pytest.mark.skipif("OUTBACK_HOST_ADDRESSABLE" in os.environ, reason="one of both is running")
def test_copies_serve_as_well_as_aliases():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", Path(__file__).parent],
        env=os.environ | {"OUTBACK_HOST_ADDRESSABLE": "0"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
