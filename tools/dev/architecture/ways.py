"""Which files calls go through: the frames of a call that is held in a slot of the runtime."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .. import build, console
from ..environment import Environment
from ..paths import ROOT
from .includes import part_of

_HERE = Path(__file__).parent
_MILLISECONDS = 400
# The faults layer holds the call for long enough, also on a machine that has much to do.
_HELD = f"delay({3 * _MILLISECONDS}ms)"
# A frame's file, in the debug information of a build in another folder too.
_OURS = re.compile(r"(?:^|/)((?:backend_template|registration|generators)/[^:]+):\d+")


@dataclass(frozen=True)
class Way:
    title: str
    call: str
    held_in: str  # the slot that the faults layer slows
    before: str
    package: str = "python"
    variables: Mapping[str, str] | None = None
    shows_layers: bool = False  # else they are left out: a program without their variables has none


_APART = {"OUTBACK_HOST_PROTECTED": "1", "OUTBACK_PORTABLE": "never"}
_TWO = "a = torch.ones(64, device='acme'); b = a.clone(); torch.acme.synchronize()"

WAYS = (
    Way(
        "A method",
        "tensor.acme()",
        "mem_copy",
        "tensor = torch.ones(64); tensor.acme(); torch.acme.synchronize()",
        "python_protected",
        _APART,
    ),
    Way(
        "An allocation",
        "torch.empty(2**22, device='acme')",
        "mem_alloc",
        "torch.ones(1, device='acme')",
    ),
    Way(
        "An operator in place",
        "a + b",
        "streams.sync",
        f"{_TWO}; torch.acme._sleep(10**7)",
    ),
    Way("An operator over copies", "a + b", "mem_copy", _TWO, "python_protected", _APART),
    Way(
        "A slot through the layers",
        "torch.acme.get_device_properties(1)",
        "device_info",
        "torch.ones(1, device='acme')",
        variables={"OUTBACK_VALIDATE": "1", "OUTBACK_TRACE": os.devnull},
        shows_layers=True,
    ),
)


def helper(folder: Path) -> Path:
    """backtrace.c, compiled; `folder` is made where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "backtrace.so"
    source = _HERE / "backtrace.c"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library


def files_of(way: Way, library: Path, tree: Path, python: str = sys.executable) -> list[str]:
    """The files of the tree that `way` goes through, in the order of the call, each once as often
    as the call comes back to it. `tree` is the build with the backends; it needs line numbers.

    Throws console.Failure where the call ends before it is held, or fails."""
    variables = {
        **build.python_path(tree, way.package),
        "OUTBACK_FAULTS": f"{way.held_in}:*={_HELD}",
        **(way.variables or {}),
    }
    command = [python, _HERE / "ways_probe.py", library, str(_MILLISECONDS), way.before, way.call]
    done = subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        raise console.Failure(f"{way.title}: {way.call}: {done.stderr.strip()}")
    frames = [line.rsplit(" ", 1) for line in done.stdout.splitlines()]
    places = _places(
        [(library, at) for library, at in frames if Path(library).is_relative_to(tree)]
    )
    files = [file for frame in reversed(places) for file in reversed(frame)]
    if not way.shows_layers:
        files = [file for file in files if part_of(file) != "layers"]
    return [file for i, file in enumerate(files) if i == 0 or file != files[i - 1]]


def _places(frames: list[tuple[str, str]]) -> list[list[str]]:
    """The files of each frame, innermost first: a function that the compiler put into another one
    has a file too."""
    # The byte before the address is the call's; the address is what it returns to.
    before = [(library, hex(int(address, 16) - 1)) for library, address in frames]
    files: dict[tuple[str, str], list[str]] = {frame: [] for frame in before}
    for library in {library for library, _ in before}:
        addresses = [address for each, address in before if each == library]
        command = ["addr2line", "-a", "-i", "-e", library, *addresses]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            if line.startswith("0x"):
                address = hex(int(line, 16))
            elif (found := _OURS.search(line)) and (ROOT / found[1]).is_file():
                files[library, address].append(found[1])
    return [files[frame] for frame in before]


def all_files(environment: Environment, tree: Path) -> dict[str, list[str]]:
    """Of each way, by its title."""
    library = helper(tree / "architecture")
    python = str(environment.python)
    with ThreadPoolExecutor(2) as two:  # a call is held most of its time
        found = two.map(lambda way: files_of(way, library, tree, python), WAYS)
        return {way.title: files for way, files in zip(WAYS, found, strict=True)}
