"""Programs on the device, and on the one whose kernels compute in its memory, compared bit for bit:
acme beside cuda on a GPU.

./dev gpu --only in-place runs them there. They have what no stand-in for CUDA can start or decide:
cuDNN, cuFFT, cuSOLVER, and what reads a kernel's result on the host. On the host runtime they show
that the programs themselves are right. There a few calls choose an algorithm by the device's name,
so that values are close and not equal, and random numbers are the device's own.

The other device has a process of its own, without the backend: autograd on torch.cuda's tensors is
refused in a process that has one (pytorch#161129). That process is this folder's tests once more,
with --record: each program runs on the other device alone, and what it returns is kept in a file.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

Program = Callable[[torch.device], Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record",
        nargs=2,
        metavar=("DEVICE", "FOLDER"),
        help="run the programs on DEVICE alone, and keep what they return in FOLDER",
    )


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> torch.device:
    if request.config.getoption("record"):
        pytest.skip("needs the backend, which this process is without")
    import torch_acme  # noqa: F401

    if torch.acme.device_count() == 0:
        pytest.skip("needs a device that the runtime finds")
    return torch.device("acme", 0)


@pytest.fixture(scope="session")
def other(request: pytest.FixtureRequest) -> torch.device:
    """The device whose kernels these are."""
    if record := request.config.getoption("record"):
        return torch.device(record[0])
    device = request.getfixturevalue("device")
    kernels = torch.acme.get_device_properties(device).kernels
    if kernels is None:
        pytest.skip("needs a device whose memory kernels of PyTorch's own reach")
    return torch.device(kernels)


@pytest.fixture(autouse=True)
def _draws(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("draws") and request.getfixturevalue("other").type == "cpu":
        pytest.skip("needs a device whose random numbers are the other's: one with CUDA's kernels")


@pytest.fixture(autouse=True)
def exact() -> Iterator[None]:
    """No choice that a clock or another thread makes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True):
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def recorded(
    request: pytest.FixtureRequest,
    device: torch.device,
    other: torch.device,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, str]:
    """What the other device's process has kept, and what it printed."""
    folder = tmp_path_factory.mktemp("recorded")
    tests = [item.nodeid for item in request.session.items if "same" in item.fixturenames]
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
    command += ["--record", f"{other}", folder, *tests]
    done = subprocess.run(
        command,
        env={**os.environ, "OUTBACK_AUTOLOAD": "0"},
        cwd=request.config.rootpath,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return folder, done.stdout


@pytest.fixture
def same(request: pytest.FixtureRequest, other: torch.device) -> Callable[[Program], None]:
    """Calls `program` with either device after the same seed, and compares the tensors that it
    returns: to the bit, unless two runs on the other device alone may differ (`repeats`)."""
    name = hashlib.sha256(request.node.nodeid.encode()).hexdigest()

    def results(program: Program, on: torch.device) -> list[torch.Tensor]:
        torch.manual_seed(0)
        leaves = tree_leaves(program(on))
        assert leaves
        assert all(leaf.device == on for leaf in leaves)
        return [leaf.detach().cpu() for leaf in leaves]

    def record(program: Program, *, repeats: bool = True) -> None:
        torch.save(results(program, other), Path(request.config.getoption("record")[1], name))

    def compare(program: Program, *, repeats: bool = True) -> None:
        here = results(program, request.getfixturevalue("device"))
        folder, output = request.getfixturevalue("recorded")
        assert (folder / name).exists(), f"The program did not end on {other}:\n{output}"
        there = torch.load(folder / name)
        exactly = {"rtol": 0, "atol": 0} if repeats and other.type != "cpu" else {}
        assert len(here) == len(there)
        for one, another in zip(here, there, strict=True):
            torch.testing.assert_close(one, another, equal_nan=True, **exactly)

    return record if request.config.getoption("record") else compare


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "draws: random numbers on the device")
