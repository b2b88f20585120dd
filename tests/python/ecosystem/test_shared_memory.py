"""Memory of the device that two processes use: where the runtime has the group ipc,
torch.multiprocessing sends it, and no copy."""

import pytest
import torch

pytestmark = pytest.mark.skipif(
    not torch.acme._outback._native.shares_memory("acme:0"),
    reason="needs a runtime with the group ipc",
)

WORKER = """
import torch

def add(inbox, outbox):
    while (things := inbox.get()) is not None:
        storages = {thing.untyped_storage()._cdata for thing in things}
        for thing in things:
            thing.detach().add_(1)
            torch.acme.synchronize(thing.device)
        outbox.put((len(storages), [type(thing).__name__ for thing in things]))
        del things, thing
        torch.acme.empty_cache()

def hold(inbox, outbox):
    held = inbox.get()
    outbox.put(held.tolist())
    inbox.get()

def send_on(inbox, outbox):
    outbox.put(inbox.get() + 0)  # of its own
    received = inbox.get()
    outbox.put(received)
    inbox.get()
"""


@pytest.mark.turns_on_memory
@pytest.mark.turns_on_driver
def test_both_write_to_the_same_memory(run_with_worker):
    run_with_worker(
        WORKER,
        """
process = start(worker.add)
last = torch.acme.device_count() - 1
before = torch.acme.memory_allocated(last)

def send(*things):
    inbox.put(things)
    return outbox.get()

x = torch.zeros(6, device=f"acme:{last}")
views = x[1:3], x.view(2, 3).t()
assert send(*views) == (1, ["Tensor", "Tensor"])
assert x.tolist() == [1, 2, 2, 1, 1, 1], x
made = torch.ones(3, device=f"acme:{last}") * 2  # by a kernel, of the CPU's perhaps
layer = torch.nn.Linear(2, 1, bias=False).to(f"acme:{last}").share_memory()
with torch.no_grad():
    layer.weight.zero_()
assert send(made, layer.weight, torch.empty(0, device="acme")) == (
    3, ["Tensor", "Parameter", "Tensor"],
)
assert made.tolist() == [3, 3, 3] and layer.weight.tolist() == [[1, 1]]
assert layer.weight.requires_grad

inbox.put(None)
end(process)
del x, views, made, layer
torch.acme.ipc_collect()
assert torch.acme.memory_allocated(last) == before
""",
    )


@pytest.mark.any_runtime
def test_memory_lives_until_the_other_is_done(run_with_worker):
    run_with_worker(
        WORKER,
        """
inboxes = [context.SimpleQueue() for _ in range(2)]  # who is killed may hold its inbox's lock
killed, other = (start(worker.hold, each, outbox) for each in inboxes)
before = torch.acme.memory_allocated()
for value, its_inbox in enumerate(inboxes):
    its_inbox.put(torch.full((1000,), value, device="acme"))  # nobody here keeps it
    assert outbox.get() == [value] * 1000
torch.acme.ipc_collect()
held = torch.acme.memory_allocated() - before
assert held >= 16000, held
killed.kill()  # says nothing any more
killed.join()
torch.acme.ipc_collect()
assert torch.acme.memory_allocated() - before == held / 2
inboxes[1].put(None)
end(other)
torch.acme.ipc_collect()
assert torch.acme.memory_allocated() == before
""",
    )


@pytest.mark.any_runtime
def test_what_was_received_goes_on_as_a_copy(run_with_worker):
    run_with_worker(
        WORKER,
        """
process = start(worker.send_on)
x = torch.ones(3, device="acme")
inbox.put(x)
theirs = outbox.get()
assert theirs.tolist() == [1, 1, 1]
inbox.put(x)
copy = outbox.get()
copy.add_(1)
assert copy.tolist() == [2, 2, 2] and x.tolist() == [1, 1, 1]
del theirs
inbox.put(None)
end(process)
""",
    )


@pytest.mark.any_runtime
def test_a_message_is_received_once():
    from multiprocessing.reduction import ForkingPickler

    x = torch.zeros(3, device="acme")
    sent = bytes(ForkingPickler.dumps(x))
    received = ForkingPickler.loads(sent)
    received.add_(1)
    assert x.tolist() == [1, 1, 1]
    del received
    with pytest.raises(ValueError, match="received before"):
        ForkingPickler.loads(sent)


@pytest.mark.any_runtime
@pytest.mark.parametrize("wrong", [b"", b"123", bytes(1000)])
def test_other_bytes_are_refused(wrong):
    with pytest.raises(ValueError, match="expected what an export of memory returned"):
        torch.acme._outback._native.import_memory(wrong)


@pytest.mark.any_runtime
def test_a_capture_refuses_to_wait():
    x = torch.zeros(3, device="acme")
    with pytest.raises(RuntimeError, match="captur"), torch.acme.graph(torch.acme.CUDAGraph()):
        torch.acme._outback._native.export_memory(x)
    assert torch.acme._outback._native.export_memory(x)
