"""A thread that waits for the device does not keep the GIL from work that the device waits for."""

import pytest

pytestmark = pytest.mark.any_runtime

# torch calls the device in these with the GIL held, and the device's answer has to wait for the
# replays before it: for `x`, or with a copy of pageable memory.
CALLS = """
x[0] = 5.0
x[mask] = 5.0
x.sum().item()
x.tolist()
x.numpy(force=True)
x.untyped_storage().cpu()
x.untyped_storage().fill_(1)
x.untyped_storage().tolist()
x.untyped_storage().copy_(torch.ones(4).untyped_storage())
torch.save(x, io.BytesIO())
pickle.dumps(x)
torch.arange(x[0] % 8)
torch.tensor([1.0, 2.0], device="acme")
repr(x)
event.synchronize()
torch.zeros(4 << 20, device="acme"); torch.acme.empty_cache()
""".strip().splitlines()

PROGRAM = """
import faulthandler, io, pickle, time
import torch
import torch_acme

@torch.library.custom_op("outback_gil::add_slowly", mutates_args=("x",), device_types="cpu")
def add_slowly(x: torch.Tensor) -> None:
    time.sleep(0.002)  # gives the GIL to the main thread, which waits for this then
    x.add_(1)

x = torch.zeros(4, device="acme")
mask = torch.tensor([True, False, True, False], device="acme")
graph, event = torch.acme.CUDAGraph(), torch.acme.Event()
with torch.acme.graph(graph):
    torch.ops.outback_gil.add_slowly(x)
torch.acme.synchronize()
for call in CALLS:
    faulthandler.dump_traceback_later(30, exit=True)
    graph.replay()
    event.record()
    exec(call)
    print(call)
"""


def test_a_call_that_waits_lets_python_run(run_python, records):
    done = run_python(f"CALLS = {CALLS}\n{PROGRAM}")
    assert done.output.splitlines() == CALLS


def test_a_process_ends_after_its_replays(run_to_the_end, records):
    """The operator has the GIL, gives it up and wants it back while the main thread ends."""
    done = run_to_the_end(
        """
        import time, torch, torch_acme

        @torch.library.custom_op("outback_gil::is_slow", mutates_args=("x",), device_types="cpu")
        def is_slow(x: torch.Tensor) -> None:
            time.sleep(0.1)
            x.add_(1)
            print("ran")

        x = torch.zeros(4, device="acme")
        graph = torch.acme.CUDAGraph()
        with torch.acme.graph(graph):
            torch.ops.outback_gil.is_slow(x)
        graph.replay()
        graph.replay()
        print("ends")
        """
    )
    assert done.output.splitlines() == ["ran", "ends", "ran", "ran"]
