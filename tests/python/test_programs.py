"""A fork of a process that has imported torch runs a program as an interpreter of its own does."""

import os
import signal

import pytest

pytestmark = pytest.mark.any_runtime

OF_THE_START = {"PYTHONWARNINGS": "ignore"}

STATE = """
import ctypes, os, sys, torch
import torch_acme
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
print(sorted(name for name in globals() if name not in ("__loader__", "__annotations__")))
print(__name__, __doc__, __spec__, __package__, sys.argv, sys.path)
print(sorted(set(sys.modules) - {"json.scanner"}), [type(f).__name__ for f in sys.meta_path])
print(sorted(item for item in os.environ.items() if item[0] != "PYTEST_CURRENT_TEST"))
print([getenv(name) for name in (b"OUTBACK_VALIDATE", b"PYTHONWARNINGS", b"PYTHONPATH")])
print(sys.warnoptions, torch.get_num_threads(), torch.acme.is_initialized())
print(os.read(0, 1))
"""

ENDS = {
    "with a code": "raise SystemExit(3)",
    "with an exception": "raise ValueError('wrong')",
    "by a signal": f"import os\nos.kill(os.getpid(), {int(signal.SIGTERM)})",
    "with text that C has not written yet": """
import ctypes
ctypes.CDLL(None).printf(b"kept")
""",
    "with handlers": """
import atexit, sys, threading, torch
class Last:
    def __del__(self):
        print("destroyed", torch.ones(1, device="acme").item() if torch else "without torch")
last = Last()
atexit.register(lambda: print("handler", torch.ones(1, device="acme").item()))
printed = threading.Event()
threading.Thread(target=lambda: (printed.wait(), print("thread"))).start()
print("no newline", end="")
printed.set()
""",
}

FAULTS = """
import torch, torch_acme
for size in (8, 16, 32):
    try:
        print(torch.ones(size, device="acme").cpu().sum().item())
    except RuntimeError as error:
        print(type(error).__name__, str(error).splitlines()[0])
"""


@pytest.fixture
def run_both(run_python, run_interpreter):
    """What a program prints and how it ends, if both ways are the same."""

    def run(source: str, **environment: str):
        forked = run_python(source, check=False, **environment)
        started = run_interpreter(source, check=False, **environment)
        assert forked.code == started.code, (forked, started)
        assert forked.output.splitlines() == started.output.splitlines()
        assert forked.errors.splitlines()[-1:] == started.errors.splitlines()[-1:]
        return forked

    return run


@pytest.mark.parametrize(
    "environment",
    [
        {"OUTBACK_VALIDATE": "1", "PYTHONPATH": f"/nowhere:{os.environ['PYTHONPATH']}"},
        OF_THE_START,
    ],
    ids=["ours", "the interpreter's"],
)
def test_it_starts_in_the_same_state(run_both, environment):
    done = run_both(STATE, **environment)
    assert done.code == 0, done
    for value in environment.values():
        assert f"b'{value}'" in done.output  # getenv's


@pytest.mark.parametrize("how", ENDS)
def test_it_ends_the_same_way(run_both, how):
    codes = {"with a code": 3, "with an exception": 1, "by a signal": -signal.SIGTERM}
    assert run_both(ENDS[how]).code == codes.get(how, 0)


def test_it_meets_the_same_faults(run_both, run_python):
    assert "injected fault" in run_both(FAULTS, OUTBACK_FAULTS="mem_alloc:1=internal").output
    assert run_python(FAULTS).output == "8.0\n16.0\n32.0"


def test_the_backend_is_loaded_where_torch_would_have_loaded_it(run_python):
    source = "import sys, torch; print('torch_acme' in sys.modules, hasattr(torch, 'acme'))"
    assert run_python(source).output == "True True"
    assert run_python(source, TORCH_DEVICE_BACKEND_AUTOLOAD="0").output == "False False"


def test_each_draws_a_seed_of_its_own(run_python):
    source = "import torch; print(torch.initial_seed())"
    assert run_python(source).output != run_python(source).output


def test_a_server_is_shared_where_only_our_variables_differ(run_python, fork_servers):
    source = "import os, sys; print(os.environ.get('OUTBACK_TRACE'), sys.warnoptions)"
    assert run_python(source).output == "None []"
    servers = len(fork_servers)
    assert run_python(source, OUTBACK_TRACE="/dev/null").output == "/dev/null []"
    assert len(fork_servers) == servers
    assert run_python(source, **OF_THE_START).output == "None ['ignore']"
    assert len(fork_servers) > 1
