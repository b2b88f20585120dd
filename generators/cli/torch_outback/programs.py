"""Programs that end with this process: compilers, pip, and all that they start."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from .conformance.running import interpreter

_LIFELINE = Path(__file__).with_name("lifeline.py")


def run(
    command: Sequence[str | Path],
    output: IO[bytes],
    folder: Path,
    environment: Mapping[str, str],
    umask: int = 0o077,
) -> int:
    """Its exit code. Nothing of it is left when this returns or raises, or this process ends.

    It runs in `folder`, which is this user's: CMake starts Python in its current folder, which
    imports what lies there. What it makes is for this user alone, unless another `umask` is given.
    """
    theirs, ours = os.pipe()
    try:
        process = subprocess.Popen(
            interpreter.isolated(_LIFELINE, str(theirs), *[os.fspath(word) for word in command]),
            cwd=folder,
            pass_fds=[theirs],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            umask=umask,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    try:
        return process.wait()
    finally:
        os.close(ours)
        process.wait()
