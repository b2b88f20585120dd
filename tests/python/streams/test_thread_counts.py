"""In which thread a backward pass runs, and that torch.set_num_threads reaches it."""

import os
import sys

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory

COUNTED = """
import threading
import torch

def threads_of_a_backward_pass():
    seen = []
    x = torch.ones(3, device="acme", requires_grad=True)
    y = x * 2
    y.register_hook(lambda gradient: seen.append(torch.get_num_threads()))
    y.sum().backward()
    return seen
"""


def test_a_number_set_after_the_first_backward_pass_counts(run_python):
    finished = run_python(
        COUNTED
        + """
for count in (1, 3, 2, 4, 1):
    torch.set_num_threads(count)
    assert threads_of_a_backward_pass() == [count]
"""
    )
    assert finished.output == ""


def test_it_is_the_number_of_the_thread_that_asks(run_python):
    run_python(
        COUNTED
        + """
torch.set_num_threads(3)
assert threads_of_a_backward_pass() == [3]

def other():
    torch.set_num_threads(2)
    found.append(threads_of_a_backward_pass())

found = []
thread = threading.Thread(target=other)
thread.start()
thread.join()
assert found == [[2]]
assert torch.get_num_threads() == 3
assert threads_of_a_backward_pass() == [3]
"""
    )


def test_entering_a_stream_changes_no_other_threads_number(run_python):
    run_python(
        COUNTED
        + """
torch.set_num_threads(3)
threads_of_a_backward_pass()

def other():
    torch.set_num_threads(2)
    with torch.acme.stream(torch.acme.Stream()):
        found.append(torch.get_num_threads())

found = []
thread = threading.Thread(target=other)
thread.start()
thread.join()
assert found == [2]
"""
    )


def test_where_the_cpu_computes_it_is_the_thread_that_asks(run_python):
    run_python(
        """
import threading
import torch

def thread_of_a_backward_pass():
    seen = []
    x = torch.ones(3, device="acme", requires_grad=True)
    y = x * 2
    y.register_hook(lambda gradient: seen.append(threading.get_ident()))
    y.sum().backward()
    return seen

def check():
    is_here = thread_of_a_backward_pass() == [threading.get_ident()]
    assert is_here == torch.acme.get_device_properties(0).is_host_addressable
    checked.append(True)

checked = []
check()
with torch.inference_mode():  # changes what autograd's settings are, for a while
    torch.ones(3, device="acme") * 2
check()
thread = threading.Thread(target=check)
thread.start()
thread.join()
assert len(checked) == 3
"""
    )


def test_threads_with_different_numbers_differentiate_at_once(run_python):
    run_python(
        """
import threading
import torch

def work(count):
    torch.get_num_threads()  # the first question sets the number, to the one that was set last
    torch.set_num_threads(count)
    start.wait()
    for _ in range(20):
        seen = []
        x = torch.ones(3, device="acme", requires_grad=True)
        y = x
        for _ in range(10):
            y = y * 2
            y.register_hook(lambda gradient: seen.append(torch.get_num_threads()))
        y.sum().backward()
        if seen != [count] * 10:
            wrong.append((count, seen))

wrong = []
start = threading.Barrier(8)
threads = [threading.Thread(target=work, args=(count,)) for count in range(1, 9)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if torch.acme.get_device_properties(0).is_host_addressable:
    assert not wrong, wrong
"""
    )


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.skipif(
    "libtsan" in os.environ.get("LD_PRELOAD", ""),
    reason="needs a process without ThreadSanitizer, which does not know a forked child's threads",
)
@pytest.mark.parametrize("device", ["acme", "cpu"])
def test_a_forked_child_has_its_pool_before_it_has_autograds_threads(run_python, device):
    """Each thread of autograd's asks for torch's pool, which is made anew after a fork: by two of
    them at once it is made twice, and the process crashes now and then."""
    done = run_python(
        f"""
        import os, sys, time
        from pathlib import Path
        import torch, torch_acme

        torch.set_num_threads(2)
        torch.ones(100_000).sum()  # the parent's pool
        if os.fork() == 0:
            torch.ones(3, device="{device}", requires_grad=True).sum().backward()
            names, tasks = [], Path("/proc/self/task")
            # A thread of autograd's has begun before it has its name.
            while sum("pt_autograd_" in name for name in names) < torch.acme.device_count():
                time.sleep(0.001)
                threads = sorted(tasks.iterdir(), key=lambda task: int(task.name))
                names = [(each / "comm").read_text().strip() for each in threads]
            print(*names)
            sys.stdout.flush()
            os._exit(0)
        os.wait()
        """
    )
    # The main thread, the pool's, a driver's, and autograd's. One that autograd's makes has its
    # name.
    names = done.output.split()
    of_autograd = [name.startswith("pt_autograd_") for name in names]
    others, count = of_autograd.index(True), torch.acme.device_count()
    assert others >= 2, names
    assert of_autograd == [False] * others + [True] * count, names
