"""Examples print what their READMEs show: `$ command` and below it the output, in blocks without a
language. Each is run in a process of its own, on a backend of the build tree."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 300  # seconds, of a command
BLOCK = re.compile(r"^```\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)
# What is computed is rounded in another way by another CPU's kernels.
DECIMAL = r"\d+\.\d+(?:e-?\d+)?"

# A new test of the runtime suite is no reason to write READMEs anew.
NUMBERS_OF_A_SUITE = (r"\d+ (?=tests|ms)", r"\d+ (?=passed)")


@pytest.fixture(scope="session")
def build_tree() -> Path:
    """The build tree under test; ./dev names it."""
    folder = Path(os.environ.get("OUTBACK_BUILD_DIR", ROOT / "build/dev"))
    if not (folder / "examples").is_dir():
        pytest.skip(f"{folder} is no build tree with the examples in it")
    return folder


@pytest.fixture
def on(build_tree, monkeypatch) -> Callable[[str], None]:
    """`on("python")`: what runs from here on finds the backend in that folder of the build tree."""

    def choose(package: str) -> None:
        if not (build_tree / package / "torch_acme").is_dir():
            pytest.skip(f"{build_tree} has no {package}")
        monkeypatch.setenv("PYTHONPATH", os.fspath(build_tree / package))

    return choose


@pytest.fixture
def printed(tmp_path) -> Callable[..., str]:
    """Runs all commands of an example's README in an empty folder, compares what they print with
    what is shown, and returns it.

    Decimal fractions are not compared, and what the patterns of `masks` match is not.
    """

    def run(example: str, *masks: str) -> str:
        folder = ROOT / "examples" / example
        blocks = "".join(BLOCK.findall((folder / "README.md").read_text()))
        outputs = []
        for shown in re.split(r"^\$ ", blocks, flags=re.MULTILINE)[1:]:
            command, _, expected = shown.partition("\n")
            done = subprocess.run(
                _arguments(command, folder),
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            assert _masked(done.stdout, masks) == _masked(expected, masks), command
            outputs.append(done.stdout)
        assert outputs, f"{folder} shows no output"
        return "".join(outputs)

    return run


def _arguments(command: str, folder: Path) -> list[str]:
    """With this Python, and with the example's own files."""
    words = [sys.executable if word == "python" else word for word in shlex.split(command)]
    return [os.fspath(folder / word) if word.endswith(".py") else word for word in words]


def _masked(text: str, masks: tuple[str, ...]) -> list[str]:
    """The lines; columns may be wider where a number has more digits."""
    text = re.sub("|".join([*masks, DECIMAL]), "#", text)
    return [re.sub(r"[ \u2500-\u257f]+", " ", line).strip() for line in text.splitlines()]
