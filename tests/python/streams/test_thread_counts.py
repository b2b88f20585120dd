"""torch.set_num_threads reaches the threads in which autograd runs."""

import pytest

pytestmark = pytest.mark.any_runtime

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
