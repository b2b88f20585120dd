"""What fails below the graphs arrives by name, and the process goes on."""

import pytest

pytestmark = pytest.mark.any_runtime

PROGRAM = """
import torch
import torch_acme
x = torch.ones(8, device="acme")
graph = torch.acme.CUDAGraph()

def run():
    global y
    with torch.acme.graph(graph):
        y = x * 2
    graph.replay()
    return y.sum().item()

for turn in range(2):
    try:
        print(run())
    except Exception as e:
        print(type(e).__name__, str(e).splitlines()[0], sep=" | ")
    assert not torch.acme.is_current_stream_capturing()
    assert torch.acme.current_stream() == torch.acme.default_stream()
    assert (x + x).sum().item() == 16
    if turn == 0:
        graph.reset()
"""

SLOTS = ["graphs.begin:1", "graphs.end:1", "graphs.instantiate:1", "graphs.launch:1"]
# The first marks the begin, then the operator, then the end.
CALLBACKS = ["callbacks.enqueue:1", "callbacks.enqueue:2", "callbacks.enqueue:3"]


@pytest.mark.parametrize("call", SLOTS + CALLBACKS)
@pytest.mark.parametrize("status", ["internal", "invalid_argument"])
def test_a_failed_slot_is_named_and_the_next_capture_works(run_python, records, call, status):
    done = run_python(PROGRAM, OUTBACK_FAULTS=f"{call}={status}")
    first, second = done.output.splitlines()
    kind = "AcceleratorError" if status == "internal" else "RuntimeError"
    assert first.startswith(f"{kind} | acme: {call.partition(':')[0]}(device 0): "), first
    assert second == "16.0"


def test_a_graph_that_cannot_be_destroyed_is_no_end(run_python, records):
    done = run_python(PROGRAM, OUTBACK_FAULTS="graphs.destroy:1=internal")
    assert done.output.splitlines() == ["16.0", "16.0"]


RANDOM = """
import torch
import torch_acme
x = torch.zeros(8, device="acme")
graph = torch.acme.CUDAGraph()
with torch.acme.graph(graph):
    x.uniform_()
torch.acme.manual_seed(1)
try:
    graph.replay()
except torch.AcceleratorError as e:
    print("refused")
torch.acme.manual_seed(2)
graph.replay()
torch.acme.manual_seed(2)
print(torch.equal(x, torch.zeros(8, device="acme").uniform_()))
"""


def test_a_launch_that_was_refused_takes_no_later_launchs_numbers(run_python, records):
    done = run_python(RANDOM, OUTBACK_FAULTS="graphs.launch:1=internal")
    assert done.output.splitlines() == ["refused", "True"]


EXIT = {
    "a graph": "",
    "a graph with replays in the queue": "[graph.replay() for _ in range(50)]",
    "an open capture": """
s = torch.acme.stream(torch.acme.Stream())
s.__enter__()
open_one = torch.acme.CUDAGraph()
open_one.capture_begin()
z = x + 1""",
    "an open context": "c = torch.acme.graph(torch.acme.CUDAGraph()); c.__enter__(); z = x + 1",
    "a graphed callable": "f = torch.acme.make_graphed_callables(lambda a: a * 2, (x,)); f(x)",
}


@pytest.mark.parametrize("what", EXIT)
def test_the_interpreter_ends_without_a_word(run_python, records, what):
    source = """
import torch
import torch_acme
x = torch.ones(1000, device="acme")
graph = torch.acme.CUDAGraph()
with torch.acme.graph(graph):
    y = x @ x
"""
    run_python(source + EXIT[what])


FORK = """
import os
import torch
import torch_acme
x = torch.ones(10, device="acme")
graph = torch.acme.CUDAGraph()
with torch.acme.graph(graph):
    y = x * 2
child = os.fork()
if child == 0:
    try:
        graph.replay()
        os._exit(3)
    except RuntimeError:
        pass
    del graph
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
graph.replay()
print(y.sum().item())
"""


def test_a_forked_child_neither_replays_nor_destroys(run_python, records):
    assert run_python(FORK).output == "20.0"


FORK_IN_A_CAPTURE = """
import os
import torch
import torch_acme
x = torch.ones(10, device="acme")
graph = torch.acme.CUDAGraph()
with torch.acme.graph(graph):
    y = x * 2
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (graph.capture_end, graph.replay, lambda: x * 3):
            try:
                call()
            except RuntimeError:
                refused += 1
        del graph
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
graph.replay()
print(y.sum().item())
"""


def test_a_forked_child_of_a_capture_leaves_it_alone(run_python, records):
    assert run_python(FORK_IN_A_CAPTURE).output == "20.0"
