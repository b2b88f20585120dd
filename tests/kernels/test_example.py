"""The example prints what its README shows."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/native_kernels"


def test_the_readme_shows_what_is_printed():
    blocks = re.findall(
        r"^```(\w*)\n(.*?)^```", (EXAMPLE / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    (shown,) = (text for language, text in blocks if not language)
    command = [sys.executable, EXAMPLE / "show.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown
