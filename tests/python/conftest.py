"""What the Python tests share. They need a backend called acme on PYTHONPATH, as in ./dev test."""

import gc
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
import torch_acme
from forked import ForkServers

# The build tree: PYTHONPATH is its folder python/ (or python_null/, ...).
BUILD = Path(torch_acme.__file__).parents[2]
FAULT_HANDLER = {"PYTHONFAULTHANDLER": "1"}
TIMEOUT = 300  # seconds, of a program

# Which runs a test belongs to: tools/dev/python_runs.py, and pyproject.toml for their meaning.
ASKS = {
    *("any_runtime", "turns_on_memory", "turns_on_groups", "turns_on_driver"),
    "turns_on_kernels",
}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Saves the import of modules that have no test of the one mark that is asked for."""
    asked = config.option.markexpr.partition(" and ")[0]
    if asked in ASKS and collection_path.suffix == ".py":
        return asked not in collection_path.read_text(encoding="utf-8") or None
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuses tests that no run but the host's would take because nobody thought of it."""
    silent = {item.path.name for item in items if not any(map(item.get_closest_marker, ASKS))}
    if silent:
        names = ", ".join(sorted(ASKS))
        raise pytest.UsageError(f"{', '.join(sorted(silent))}: no mark of {names}")


def pytest_collection_finish() -> None:
    """What has been imported is never collected: gc.collect() looks at the tests' objects only, in
    microseconds instead of a third of a second."""
    gc.collect()
    gc.freeze()


# The Triton of a torch that was built for CUDA counts what it has not freed, at the end of each
# program that has imported the compiler.
_TRITONS = re.compile(
    r"^(nanobind: | - leaked | - \.\.\. skipped remainder|See https://nanobind).*\n?", re.MULTILINE
)


class Finished:
    """A Python program that has run to its end."""

    def __init__(self, process: subprocess.CompletedProcess) -> None:
        self.code = process.returncode
        self.output = process.stdout.strip()
        self.errors = _TRITONS.sub("", process.stderr).strip()

    def __repr__(self) -> str:
        return f"exit code {self.code}\n--- stdout\n{self.output}\n--- stderr\n{self.errors}"


def completed(process: subprocess.CompletedProcess, check: bool) -> Finished:
    finished = Finished(process)
    if check and (finished.code or finished.errors):
        pytest.fail(repr(finished), pytrace=False)
    return finished


@pytest.fixture(scope="session")
def fork_servers():
    servers = ForkServers()
    yield servers
    servers.close()


@pytest.fixture
def run_python(fork_servers):
    """Runs source text in a process of its own: for what can be done to a process only once.

    It must end with code 0 and say nothing on stderr, unless `check` is false.

    The process is a fork of one that has imported torch, and `imports` where a program asks for
    them; so torch has been imported already, and loads the backend before the first line. It ends
    with the interpreter and the backend, and not with torch's libraries: see run_to_the_end.
    """
    return in_forks(fork_servers)


@pytest.fixture
def run_to_the_end(fork_servers):
    """As run_python, in a process that runs the destructors of torch's libraries too, as any other
    process does: twice the time, for what is about the end."""
    return in_forks(fork_servers, ends_torch=True)


def in_forks(servers: ForkServers, **how: bool):
    def run(source: str, *, check: bool = True, imports: str = "", **environment: str) -> Finished:
        whole = os.environ | FAULT_HANDLER | environment
        process = servers.run(textwrap.dedent(source), whole, TIMEOUT, imports, **how)
        return completed(process, check)

    return run


# Counts the bytes that malloc has given out, to all threads. Python's small objects are elsewhere.
_GROWTH = """
import ctypes, gc, torch
acme = torch.acme

class Malloc(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd",
        "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]

mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Malloc

def in_use():
    gc.collect()
    acme.synchronize()
    malloc = mallinfo()
    return malloc.uordblks + malloc.hblkhd

def grows_by(work, times):
    # What each call keeps shows in every round, and so in both figures. What a thread or a table
    # takes once is in one round, and not in the median; what autograd's thread frees after the
    # round, in the next one, and not in the whole.
    marks = []
    for _ in range(4):
        for _ in range(times):
            work()
        marks.append(in_use())
    rounds = sorted(after - before for before, after in zip(marks, marks[1:]))
    return min(rounds[1], (marks[-1] - marks[0]) / 3) / times

"""


@pytest.fixture
def grows_by(run_python):
    """How many bytes of malloc's each call of `work()` adds, which source text defines."""

    def measure(source: str, times: int) -> float:
        program = f"{_GROWTH}\n{textwrap.dedent(source)}\nprint(grows_by(work, {times}))"
        return float(run_python(program).output)

    return measure


@pytest.fixture(scope="session")
def inductor(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of what compiles with Inductor: a folder for this run of the tests, in which
    the first puts the headers, and one compiler at a time. What the CPU can do is not tried out:
    six calls of the compiler, for answers that are not asked for here."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "TORCHINDUCTOR_VEC_ISA_OK": "1",
    }


@pytest.fixture
def run_interpreter():
    """As run_python, in an interpreter that is started for it, which costs seconds: for what
    happens before `import torch` and in it, and for programs without torch."""

    def run(source: str, *, check: bool = True, **environment: str) -> Finished:
        process = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(source)],
            env=os.environ | FAULT_HANDLER | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
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
    """Every test starts and leaves on device 0, on its default stream, with no work pending: what a
    test leaves on other streams uses memory that the next one gets."""
    yield
    if torch.acme.is_initialized() and not torch.acme._is_in_bad_fork():
        for device in range(torch.acme.device_count()):
            torch.acme.synchronize(device)
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
def callbacks(real_streams) -> None:
    """For tests whose streams are busy for a while."""
    try:
        torch.acme._sleep(0)
    except NotImplementedError:
        pytest.skip("this runtime has no group callbacks")


@pytest.fixture
def pinned_memory() -> None:
    if not torch.ones(1).pin_memory().is_pinned():
        pytest.skip("this runtime has no group host_memory")


@pytest.fixture
def captures(real_streams) -> None:
    """The runtime can capture, whatever runs its operators."""
    graph = torch.acme.CUDAGraph()
    try:
        with torch.acme.stream(torch.acme.Stream()):
            graph.capture_begin()
            graph.capture_end()
    except NotImplementedError:
        pytest.skip("this runtime has no group graphs")


@pytest.fixture
def real_streams_absent() -> None:
    if torch.acme.Stream().stream_id != 0:
        pytest.skip("this runtime has streams, and more")


@pytest.fixture
def counts_without_driver() -> None:
    if Path(torch_acme.__file__).parents[1].name in ("python_level_zero", "python_opencl"):
        pytest.skip("needs a driver that need not be initialised to count its devices")
