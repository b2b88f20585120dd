"""The dialect in a vendor's own language, by a header of words: tests/backends/made_up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD

pytestmark = pytest.mark.any_runtime

HERE = Path(__file__).resolve().parent
WORDS = HERE.parents[1] / "backends/made_up/words.h"


def test_a_header_of_words_is_short():
    assert len(WORDS.read_text().splitlines()) <= 80


def test_all_kernels_run_in_a_language_of_ones_own():
    backend = BUILD / "python_made_up"
    assert backend.is_dir()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x"]
    done = subprocess.run(
        [*command, HERE / "test_library.py"],
        env=os.environ | {"PYTHONPATH": os.fspath(backend)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
