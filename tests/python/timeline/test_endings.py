"""Profiles that do not end as they should: each leaves the program as it is without one."""

import os
from pathlib import Path

import pytest
import torch_acme

pytestmark = [pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]

# And what a profile imports as it is made: most of the time of these programs.
IMPORTS = "import torch, torch._dynamo, torch._inductor"

PROGRAM = """
import os, sys, threading, time, warnings
import torch, torch_acme
from torch.profiler import ProfilerActivity, profile

sys.path.insert(0, FOLDER)
from recorded import everything, from_where, on_device

warnings.filterwarnings("ignore", message=".*Profiler clears events")  # torch 2.11 always says so
BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
def copy():
    pinned = torch.ones(1 << 18).pin_memory()
    x = pinned.to("acme", non_blocking=True)
    torch.acme.synchronize()
    made.append(x)

made = []

def check():
    assert all(torch.equal(x.cpu(), torch.ones(1 << 18)) for x in made)

def pieces(profiled):
    return [each.name for each in on_device(profiled)]

def copies(profiled):
    return pieces(profiled).count("Memcpy HtoD")
"""


@pytest.fixture
def run_profiled(real_streams, run_python):
    """Kineto says on stderr when it starts and stops, unless it is told not to."""

    program = PROGRAM.replace("FOLDER", repr(str(Path(__file__).parent)))

    def run(source: str, *, check: bool = True, **environment: str):
        return run_python(
            program + source, check=check, imports=IMPORTS, KINETO_LOG_LEVEL="9", **environment
        )

    return run


@pytest.fixture
def protected_path() -> str:
    folder = Path(torch_acme.__file__).parents[2] / "python_protected"
    if not folder.is_dir():
        pytest.skip("this build has no python_protected")
    return os.fspath(folder)


def test_one_after_another(run_profiled):
    """One whose program raises, one whose device fails, one whose process forks, one that is never
    stopped. Of the last torch warns, and crashes when its own libraries end, as they do not here.
    """
    done = run_profiled(
        """
try:
    with profile(activities=BOTH):
        copy()
        raise KeyError
except KeyError:
    pass

with profile(activities=BOTH) as failing:
    copy()
    try:
        copy()
    except RuntimeError as error:
        assert "mem_copy(device 0, 1048576 bytes)" in str(error), error
    else:
        raise AssertionError("the copy was to fail")
    copy()
assert copies(failing) == 2, pieces(failing)

with profile(activities=BOTH) as forking:
    copy()
    child = os.fork()
    if child == 0:
        torch.ones(2) + 1
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    copy()
assert copies(forking) == 2, pieces(forking)

profile(activities=BOTH).start()
copy()
check()
print("done")
""",
        check=False,
        OUTBACK_FAULTS="mem_copy:3=internal",
    )
    assert (done.code, done.output) == (0, "done"), done


def test_a_child_may_use_the_device_first(run_profiled, counts_without_driver):
    run_profiled(
        """
with profile(activities=BOTH) as profiled:
    child = os.fork()
    if child == 0:
        copy()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
assert copies(profiled) == 0
copy()
check()
"""
    )


# A driver that hands over no record; a device that records no event, or does not tell the time
# between two.
@pytest.mark.parametrize(
    "faults",
    [
        pytest.param("activity.read:*=internal;events.record:*=internal", id="activity.read"),
        "activity.start:*=unsupported;events.record:*=internal",
        "activity.clock:*=internal;events.elapsed:*=internal",
    ],
)
def test_a_device_that_tells_no_time(run_profiled, faults):
    done = run_profiled(
        """
with profile(activities=BOTH) as profiled:
    copy()
assert copies(profiled) == 0, pieces(profiled)
names = [each.name for each in everything(profiled)]
assert "acme::mem_copy" in names and "acme::device_sync" in names
copy()
check()
""",
        check=False,
        OUTBACK_FAULTS=faults,
    )
    assert done.code == 0, done
    assert "of 1 pieces of work the profile has no time on the device" in done.errors


def test_a_thread_enqueues_while_the_profile_ends(run_profiled):
    run_profiled(
        """
over = False

def work():
    stream = torch.acme.Stream()
    with torch.acme.stream(stream):
        x = torch.empty(1 << 10, device="acme")
        source = torch.ones(1 << 10).pin_memory()
        while not over:
            x.copy_(source, non_blocking=True)
            time.sleep(0.0005)
    stream.synchronize()

threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(3):
    with profile(activities=BOTH[1:]) as profiled:
        copy()
    assert copies(profiled) >= 1
over = True
for thread in threads:
    thread.join()
"""
    )


def test_fallbacks_are_named(run_profiled, protected_path):
    """On memory apart, where each operator without a kernel goes over copies."""
    run_profiled(
        """
x = torch.ones(64, 64, device="acme")
torch.acme.synchronize()
with profile(activities=BOTH) as profiled:
    x @ x
(named,) = [each for each in everything(profiled) if each.name.startswith("fallback")]
assert named.name == "fallback: aten::mm" and not named.is_on_device
assert from_where(profiled, named).name == "aten::mm"
assert pieces(profiled) == ["Memcpy DtoH", "Memcpy HtoD"], pieces(profiled)
""",
        PYTHONPATH=protected_path,
        OUTBACK_HOST_PROTECTED="1",
        OUTBACK_PORTABLE="never",
    )
