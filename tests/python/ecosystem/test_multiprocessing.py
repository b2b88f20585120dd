"""Tensors that go to other processes, through torch.multiprocessing: as the same memory where the
runtime has the group ipc, else as copies."""

import pytest

pytestmark = pytest.mark.any_runtime

# Started with spawn, so the worker's functions must be in a module that it can import.
WORKER = """
import torch

def double(inbox, outbox):
    while (thing := inbox.get()) is not None:
        assert thing.device.type == "acme", thing.device
        outbox.put((thing * 2).detach() if isinstance(thing, torch.Tensor) else thing)

def describe(inbox, outbox):
    while (thing := inbox.get()) is not None:
        outbox.put((type(thing).__name__, str(thing.device), getattr(thing, "requires_grad", None)))

def train(module, inputs, results, received):
    module(inputs).sum().backward()
    results.put([p.grad for p in module.parameters()])
    received.get()  # who sends has to live until then, as with tensors of the CPU

def describe_parts(nested, inbox, outbox):
    assert nested.layout == torch.jagged, nested.layout
    outbox.put((str(nested.device), [part.tolist() for part in nested.unbind()]))
    double(inbox, outbox)

def fill(storage, results):
    storage.fill_(1)
    results.put(storage.tolist())
"""


@pytest.fixture
def run_processes(run_with_worker):
    return lambda source: run_with_worker(WORKER, source)


def test_tensors_go_there_and_back(run_processes):
    run_processes(
        """
process = start(worker.double)
last = torch.acme.device_count() - 1
for x in (
    torch.arange(6.0, device="acme").reshape(2, 3),
    torch.arange(6.0, device="acme").reshape(2, 3).t(),
    torch.arange(6, device=f"acme:{last}")[::2],
    torch.ones((), dtype=torch.bfloat16, device="acme"),
    torch.ones(0, 3, device="acme"),
    torch.eye(3, device="acme").to_sparse(),
):
    inbox.put(x)
    y = outbox.get()
    assert y.device == x.device and y.dtype == x.dtype and y.layout == x.layout
    assert torch.equal(y.to_dense().cpu(), (x * 2).to_dense().cpu())
inbox.put(None)
end(process)
"""
    )


def test_what_is_kept(run_processes):
    run_processes(
        """
process = start(worker.describe)
for thing, expected in (
    (torch.ones(2, device="acme"), ("Tensor", "acme:0", False)),
    (torch.ones(2, device="acme", requires_grad=True), ("Tensor", "acme:0", True)),
    (torch.nn.Parameter(torch.ones(2, device="acme")), ("Parameter", "acme:0", True)),
    (torch.nn.Parameter(torch.ones(2, device="acme"), False), ("Parameter", "acme:0", False)),
    (torch.ones(2, device="acme").untyped_storage(), ("UntypedStorage", "acme:0", None)),
    (torch.ones(2), ("Tensor", "cpu", False)),
    (torch.empty(2, device="meta"), ("Tensor", "meta", False)),
):
    inbox.put(thing)
    assert outbox.get() == expected, expected
inbox.put(None)
end(process)
"""
    )


def test_jagged_tensors_go_there_and_back(run_processes):
    run_processes(
        """
last = torch.acme.device_count() - 1
parts = [torch.arange(2.0 * n).reshape(n, 2) for n in (2, 4, 0, 1)]
x = torch.nested.nested_tensor(parts, layout=torch.jagged, device=f"acme:{last}")
x = x.transpose(1, 2).transpose(1, 2)
process = start(worker.describe_parts, x, inbox, outbox)
assert outbox.get() == (f"acme:{last}", [part.tolist() for part in parts])
for device in {"acme:0", f"acme:{last}"}:
    for transposed in (False, True):
        x = torch.nested.nested_tensor(parts, layout=torch.jagged, device=device)
        if transposed:
            x = x.transpose(1, 2)
        inbox.put(x)
        y = outbox.get()
        assert type(y) is type(x) and y.layout == torch.jagged and str(y.device) == device
        assert y.shape[0] == 4 and y.is_contiguous() != transposed
        assert all(torch.equal(a, b * 2) for a, b in zip(y.unbind(), x.unbind(), strict=True))
inbox.put(None)
end(process)
"""
    )


def test_a_module_trains_in_another_process(run_processes):
    run_processes(
        """
torch.manual_seed(0)
module = torch.nn.Linear(3, 2).acme()
x = torch.ones(4, 3, device="acme")
process = start(worker.train, module, x, outbox, inbox)
gradients = outbox.get()
assert [g.device.type for g in gradients] == ["acme", "acme"]
assert gradients[1].tolist() == [4, 4] and module.weight.grad is None
inbox.put(None)
end(process)
"""
    )


def test_without_the_group_what_the_other_writes_stays_there(run_processes):
    """With it, both write to the same memory: test_shared_memory.py."""
    run_processes(
        """
torch.acme._outback._native.shares_memory = lambda device: False
storage = torch.zeros(1, device="acme").untyped_storage()
process = start(worker.fill, storage, outbox)
assert outbox.get() == [1] * 4 and storage.tolist() == [0] * 4
end(process)
"""
    )


def test_what_autograd_made_is_refused_and_hooks_are_warned_of(run_processes):
    run_processes(
        """
from multiprocessing.reduction import ForkingPickler
x = torch.ones(2, device="acme", requires_grad=True) * 2
try:
    ForkingPickler.dumps(x)
except RuntimeError as e:
    assert "detach" in str(e), e
else:
    raise AssertionError("sent")
x = torch.ones(2, device="acme", requires_grad=True)
x.register_hook(lambda gradient: gradient)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    ForkingPickler.dumps(x)
assert ["will not be serialized" in str(warning.message) for warning in caught] == [True], caught
"""
    )


def test_a_forked_child_cannot_receive(run_python):
    run_python(
        """
        import torch, torch_acme
        import torch.multiprocessing as mp

        def child(queue):
            try:
                queue.get()
            except RuntimeError as e:
                assert "you must use the 'spawn' start method" in str(e), e
            else:
                raise AssertionError("received")

        context = mp.get_context("fork")
        queue = context.SimpleQueue()
        queue.put(torch.ones(3, device="acme"))
        process = context.Process(target=child, args=(queue,))
        process.start()
        process.join()
        assert process.exitcode == 0
        """
    )
