"""Memory of the device that two processes use: where the runtime has the group ipc,
torch.multiprocessing sends it, and no copy."""

import os
import struct
import subprocess
import threading
from multiprocessing.reduction import ForkingPickler

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


# Where a message of export_memory has its last numbers: 8 bytes of an offset, 8 of a size.
RANGES = {
    "a size beyond the memory": (0, 1 << 40),
    "an offset beyond the memory": (1 << 40, 64),
    "an offset that wraps around": ((1 << 64) - (1 << 18), 1 << 19),
    "no bytes": (0, 0),
    "both as large as can be": ((1 << 64) - 1, (1 << 64) - 1),
}

OPEN_RANGES = """
import struct, torch

def open_all(inbox, outbox):
    while (given := inbox.get()) is not None:
        sent, offset, size = given
        try:
            torch.acme._outback._native.import_memory(sent[:-16] + struct.pack("<QQ", offset, size))
            outbox.put("imported")
        except (ValueError, RuntimeError) as error:
            outbox.put(f"{type(error).__name__}: {error}")
"""


@pytest.mark.turns_on_memory
@pytest.mark.turns_on_driver
def test_bytes_beyond_the_memory_are_refused(run_with_worker):
    run_with_worker(
        OPEN_RANGES,
        f"import struct\nRANGES = {RANGES!r}\n"
        """
process = start(worker.open_all)
export = torch.acme._outback._native.export_memory
for what, (offset, size) in RANGES.items():
    inbox.put((export(torch.ones(16, device="acme")), offset, size))
    answer = outbox.get()
    assert answer.startswith("ValueError: expected what an export"), (what, answer)
sent = export(torch.ones(16, device="acme"))
inbox.put((sent, *struct.unpack("<QQ", sent[-16:])))
assert outbox.get() == "imported"
inbox.put(None)
end(process)
""",
    )


@pytest.mark.any_runtime
def test_a_message_to_oneself_with_another_size_is_refused():
    native = torch.acme._outback._native
    sent = native.export_memory(torch.ones(16, device="acme"))
    with pytest.raises(ValueError, match="exported no such memory"):
        native.import_memory(sent[:-8] + (1 << 30).to_bytes(8, "little"))


@pytest.mark.any_runtime
def test_a_device_that_is_not_there_is_refused():
    native = torch.acme._outback._native
    sent = native.export_memory(torch.ones(16, device="acme"))
    for device in (torch.acme.device_count(), 256, -1):
        with pytest.raises(RuntimeError, match="device"):
            native.import_memory(sent[:8] + device.to_bytes(4, "little", signed=True) + sent[12:])


@pytest.mark.any_runtime
@pytest.mark.parametrize("size", [0, 16, 1 << 18])
def test_receipts_in_a_file_of_another_kind_are_refused(size):
    """A file that is too short would end the receiver by SIGBUS, and one that is not sealed could
    become so at any time."""
    native = torch.acme._outback._native
    sent = native.export_memory(torch.ones(16, device="acme"))
    file = os.memfd_create("receipts")
    os.ftruncate(file, size)
    found = os.fstat(file)
    with subprocess.Popen(["sleep", "60"], pass_fds=[file]) as other:
        try:
            # Where the receipts are: a process, its descriptor, and the system's names of the file.
            place = struct.pack("<iiQQ", other.pid, file, found.st_dev, found.st_ino)
            for receive in (native.import_memory, native.decline_memory):
                with pytest.raises(ValueError, match="whose receipts are another file"):
                    receive(sent[:-40] + place + sent[-16:])
        finally:
            other.kill()
            os.close(file)


@pytest.mark.any_runtime
def test_received_memory_keeps_its_size(run_with_worker):
    """It would leave the memory that both use; the CPU's shared memory refuses it too."""
    run_with_worker(
        """
import torch

def grow(inbox, outbox):
    x = inbox.get()
    try:
        x.resize_(1 << 20)
    except RuntimeError as error:
        outbox.put(str(error))
    inbox.get()
""",
        """
process = start(worker.grow)
inbox.put(torch.ones(4, device="acme"))
assert "not resizable" in outbox.get()
inbox.put(None)
end(process)
""",
    )


@pytest.mark.turns_on_memory
def test_no_write_of_another_thread_is_lost_while_a_tensor_is_sent():
    """torch.multiprocessing sends in a thread of its own. The tensors have one allocation of the
    runtime's."""
    torch.acme.empty_cache()
    tensors = [torch.zeros(1 << 17, device="acme") for _ in range(64)]
    stop, counts = threading.Event(), []
    started = threading.Event()

    def add() -> None:
        times = 0
        while not stop.is_set():
            for each in tensors[::2]:
                each[:64].add_(1)
            times += 1
            started.set()
        counts.append(times)

    thread = threading.Thread(target=add)
    thread.start()
    started.wait()
    for each in tensors[1::8]:
        ForkingPickler.dumps(each)
    stop.set()
    thread.join()
    assert {int(each[:64].min()) for each in tensors[::2]} == {counts[0]}
    assert all(each.eq(0).all() for each in tensors[1::2])
