"""docs/tutorial.md to the letter: its commands run and its files are written, in its order, in an
empty folder whose path has a space in it."""

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import time
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT, clean_environment

TUTORIAL = ROOT / "docs/tutorial.md"
# A heading, or a fenced block: its language, the file that it is of, and its text.
PARTS = re.compile(
    r'^## (?P<heading>[^\n]*)$|^```(?P<kind>\w*)(?: title="(?P<file>[^"]+)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
TORCH = importlib.metadata.version("torch").partition("+")[0]


@pytest.fixture
def reader(tmp_path):
    """A new folder with Outback's sources beside it, and a pip that finds the torch of this Python.

    The virtual environments that the tutorial makes get a wheel of torch that has no more in it
    than the path to this one: what pip would download again is there already. The path leads
    through a link beside the folder, so that what is compiled is the same wherever this Python is.
    """
    folder = tmp_path / "thirty minutes"
    folder.mkdir()
    (folder / "outback").symlink_to(ROOT)
    borrowed = tmp_path / "borrowed"
    borrowed.symlink_to(Path(importlib.util.find_spec("torch").origin).parents[1])
    info = f"torch-{TORCH}.dist-info"
    with zipfile.ZipFile(tmp_path / f"torch-{TORCH}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("borrowed.pth", f"{borrowed}\n")
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH}\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        wheel.writestr(f"{info}/RECORD", "")
    variables = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": tmp_path.as_uri()}
    # What ccache has of an earlier run, in another folder, is the same.
    variables |= {"CCACHE_BASEDIR": os.fspath(tmp_path), "CCACHE_NOHASHDIR": "1"}
    return Reader(folder, **variables)


class Reader:
    """Somebody who types what the page says, in one terminal."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder = folder  # the terminal's
        self._variables = clean_environment(**variables)
        self._state = folder.parent / "terminal"  # folder and variables after a command

    def type(self, commands: str) -> str:
        """What they print, errors left out. One that fails, fails the test."""
        script = f'set -e\n{commands}\n{{ pwd; env -0; }} >"$TERMINAL"\n'
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self._variables | {"TERMINAL": os.fspath(self._state)},
            capture_output=True,
            text=True,
            timeout=1800,
        )
        if done.returncode:
            pytest.fail(f"{commands}\n{done.stdout}{done.stderr}", pytrace=False)
        folder, _, variables = self._state.read_text().partition("\n")
        self.folder = Path(folder)
        self._variables = dict(each.split("=", 1) for each in variables.split("\0") if each)
        return done.stdout

    def write(self, file: str, text: str) -> None:
        (self.folder / file).write_text(text)

    def edit(self, file: str, diff: str) -> None:
        """The lines that the diff shows are there once, and become what it says."""
        lines = [(line[:1] or " ", line[1:] + "\n") for line in diff.splitlines()]
        before = "".join(line for mark, line in lines if mark != "+")
        after = "".join(line for mark, line in lines if mark != "-")
        text = (self.folder / file).read_text()
        assert text.count(before) == 1, f"{file} has not got these lines, once:\n{before}"
        self.write(file, text.replace(before, after))


def matches(expected: str, printed: str) -> bool:
    """Whether it is what the page shows, in which ... stands for anything."""
    pattern = ".*".join(map(re.escape, expected.strip().split("...")))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def test_the_tutorial_brings_up_a_device(reader, record_property):
    page = TUTORIAL.read_text().replace("2.13.0", TORCH)
    page = page.replace("for torch 2.13.", f"for torch {TORCH.rpartition('.')[0]}.")
    step, printed, seconds = "", "", {}
    for part in PARTS.finditer(page):
        kind, file, text = part["kind"], part["file"], part["text"]
        began = time.monotonic()
        if part["heading"]:
            step = part["heading"]
        elif kind == "sh":
            printed = reader.type(text)
        elif kind == "text":
            assert matches(text, printed), f"expected:\n{text}\nprinted:\n{printed}"
        elif file and kind == "diff":
            reader.edit(file, text)
        elif file:
            reader.write(file, text)
        seconds[step] = seconds.get(step, 0) + time.monotonic() - began
    assert step == "Where to go on"  # the page's last heading
    for step, taken in seconds.items():
        record_property(step, f"{taken:.0f} s")
        print(f"{taken:6.1f} s  {step}")


@pytest.mark.parametrize(
    "expected, printed, same",
    [
        ("a\n", "a", True),
        ("a ... c", "a b\nb c\n", True),
        ("a", "a b", False),
        ("12 passed, 0 failed", "12 passed, 1 failed", False),
    ],
)
def test_what_is_printed_is_compared(expected, printed, same):
    assert matches(expected, printed) == same


def test_a_command_that_fails_fails_the_tutorial(reader):
    with pytest.raises(pytest.fail.Exception, match="No such file"):
        reader.type("ls nowhere\necho done")


def test_an_edit_is_of_lines_that_are_there(reader):
    reader.write("a.txt", "one\ntwo\n")
    with pytest.raises(AssertionError, match="has not got these lines"):
        reader.edit("a.txt", "-three\n+four\n")
    reader.edit("a.txt", " one\n-two\n+three\n")
    assert (reader.folder / "a.txt").read_text() == "one\nthree\n"


def test_the_terminal_stays_where_it_is_and_keeps_its_variables(reader):
    reader.type("mkdir a && cd a\nexport COLOR='dark blue'")
    assert reader.type("pwd; echo $COLOR") == f"{reader.folder}\ndark blue\n"
    assert reader.folder.name == "a"
