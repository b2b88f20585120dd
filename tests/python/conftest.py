"""What the Python tests share. They need a backend called acme on PYTHONPATH, as in ./dev test."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
import torch
import torch_acme
from forked import ForkServer

# The build tree: PYTHONPATH is its folder python/ (or python_null/, ...).
BUILD = Path(torch_acme.__file__).parents[2]
FAULT_HANDLER = {"PYTHONFAULTHANDLER": "1"}
NOTHING: Mapping[str, str] = MappingProxyType({})
TIMEOUT = 300  # seconds, of a program


class Finished:
    """A Python program that has run to its end."""

    def __init__(self, process: subprocess.CompletedProcess) -> None:
        self.code = process.returncode
        self.output = process.stdout.strip()
        self.errors = process.stderr.strip()

    def __repr__(self) -> str:
        return f"exit code {self.code}\n--- stdout\n{self.output}\n--- stderr\n{self.errors}"


def completed(process: subprocess.CompletedProcess, check: bool) -> Finished:
    finished = Finished(process)
    if check and (finished.code or finished.errors):
        pytest.fail(repr(finished), pytrace=False)
    return finished


@pytest.fixture
def run_python():
    """Runs source text in a process of its own: for what can be done to a process only once.

    It must end with code 0 and say nothing on stderr, unless `check` is false.
    """

    def run(source: str, *, check: bool = True, **environment: str) -> Finished:
        process = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(source)],
            env=os.environ | FAULT_HANDLER | environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        return completed(process, check)

    return run


@pytest.fixture(scope="session")
def fork_servers():
    """By what they import and what they add to the environment for it."""
    servers = {}
    yield servers
    for server in servers.values():
        server.close()


@pytest.fixture
def run_forked(fork_servers):
    """As run_python, where the start is not what is tested: a fork of a process that has made the
    imports already, and no more, takes a tenth of the time.

    `imports` are made once for many programs, in the environment `imported_in`.
    """

    def run(
        source: str,
        *,
        check: bool = True,
        imports: str = "import torch, torch_acme",
        imported_in: Mapping[str, str] = NOTHING,
        **environment: str,
    ) -> Finished:
        key = imports, frozenset(imported_in.items())
        if key not in fork_servers:
            fork_servers[key] = ForkServer(imports, {**FAULT_HANDLER, **imported_in})
        try:
            process = fork_servers[key].run(textwrap.dedent(source), environment, TIMEOUT)
        except subprocess.TimeoutExpired:
            del fork_servers[key]
            raise
        return completed(process, check)

    return run


@pytest.fixture
def probe_path() -> str:
    """The folder of `outback_probe`, a backend without a name: `outback_probe.register(name)`."""
    folder = BUILD / "python_probe"
    if not folder.is_dir():
        pytest.skip("this build has no outback_probe")
    return os.pathsep.join([os.fspath(folder), os.environ.get("PYTHONPATH", "")])


@pytest.fixture(autouse=True)
def first_device():
    """Every test starts and leaves on device 0, on its default stream."""
    yield
    torch.acme.set_device(0)
    torch.acme.set_stream(torch.acme.default_stream(0))


@pytest.fixture
def two_devices() -> None:
    if torch.acme.device_count() < 2:
        pytest.skip("needs two devices")


@pytest.fixture
def real_streams() -> None:
    if torch.acme.Stream().stream_id == 0:
        pytest.skip("this runtime has no streams")


@pytest.fixture
def real_streams_absent() -> None:
    if torch.acme.Stream().stream_id != 0:
        pytest.skip("this runtime has streams, and more")


@pytest.fixture
def counts_without_driver() -> None:
    if Path(torch_acme.__file__).parents[1].name == "python_level_zero":
        pytest.skip("needs a driver that need not be initialised to count its devices")
