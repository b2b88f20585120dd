"""Processes and threads: forks, spawned processes, many threads, and the end of the interpreter."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from ..backend import Backend
from ..busy import keep_busy
from ..check import Skipped, check, variants
from ..program import packages_of, run, run_well

BESIDE_THE_CPU = True

# ---- forks


def in_fork(body: Callable[[], None], seconds: float = 20) -> None:
    """Runs the body in a forked child; what it raises, and a child that does not end, fails the
    check."""
    if not hasattr(os, "fork"):
        raise Skipped("this system has no fork")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        said = "raised nothing"
        try:
            body()
            said = ""
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        finally:
            os.write(write, said[:2000].encode())
            os._exit(0)
    os.close(write)
    end = time.monotonic() + seconds
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            os.close(read)
            raise AssertionError(f"the forked child had not ended after {seconds:.0f} s")
        time.sleep(0.005)
    said = os.read(read, 4096).decode()
    os.close(read)
    status = os.waitstatus_to_exitcode(ended[1])
    assert status == 0, f"the forked child ended with {status}"
    assert not said, f"in the forked child: {said}"


def refused(what: str, call: Callable[[], object]) -> None:
    try:
        call()
    except RuntimeError as error:
        text = str(error)
        assert "fork" in text and "spawn" in text, f"{what}: {text.splitlines()[0]}"
    else:
        raise AssertionError(f"{what} was accepted in a forked child")


@check(
    called_by="torch/include/torch/csrc/utils/device_lazy_init.h: is_device_in_bad_fork",
    without="forked workers hang, crash or compute nonsense on a driver that is not theirs",
    alone=True,
)
def a_forked_child_is_told_to_spawn(backend: Backend) -> None:
    """After the parent has used the device, each use of it in a forked child is a RuntimeError that
    says fork and spawn, and the parent goes on."""
    x, cpu = torch.ones(3, device=backend.device), torch.ones(3)
    assert (x + 1).tolist() == [2, 2, 2]
    uses = {
        "a factory": lambda: torch.ones(1, device=backend.device),
        "a copy to the device": lambda: cpu.to(backend.device),
        "an operator": lambda: x + 1,
        "a copy to the CPU": lambda: x.cpu(),
        "torch.accelerator.synchronize": lambda: torch.accelerator.synchronize(),
    }

    def child() -> None:
        for name, use in uses.items():
            refused(name, use)

    for _ in range(2):
        in_fork(child)
    assert (x + 1).tolist() == [2, 2, 2], "the parent does not work on"
    torch.accelerator.synchronize(backend.device)


@check(
    called_by="torch/random.py: manual_seed",
    without="workers that only use the CPU die of the device",
    alone=True,
)
def a_forked_child_may_use_the_cpu(backend: Backend) -> None:
    """A forked child seeds, computes on the CPU, asks for the number of devices and lets go of the
    parent's tensors, without an error."""
    things: list[Any] = [torch.ones(3, device=backend.device), torch.Stream(backend.device)]
    things.append(things[1].record_event())
    kept = things[0]

    def child() -> None:
        torch.manual_seed(1)
        assert (torch.ones(3) + 1).tolist() == [2, 2, 2]
        assert backend.count > 0 and torch.accelerator.is_available()
        assert kept.device == backend.device and kept.shape == (3,)
        things.clear()

    in_fork(child)
    assert kept.tolist() == [1, 1, 1]


@check(
    called_by="torch/random.py: _seed_custom_device",
    without="torch.manual_seed fails in each forked worker",
    alone=True,
)
def the_module_knows_of_bad_forks(backend: Backend) -> None:
    """torch.<name>._is_in_bad_fork() is true in a forked child of a process that has used the
    device, and false in that process."""
    in_bad_fork = backend.need("_is_in_bad_fork")
    torch.ones(3, device=backend.device)
    assert in_bad_fork() is False

    def child() -> None:
        assert in_bad_fork() is True, "_is_in_bad_fork() is false"

    in_fork(child)
    assert in_bad_fork() is False


@check(
    called_by="torch/utils/data/dataloader.py: _MultiProcessingDataLoaderIter",
    without="training with DataLoader(num_workers=2) fails or hangs",
    alone=True,
)
def data_loader_workers_feed_the_device(backend: Backend) -> None:
    """Batches that forked workers of a DataLoader make reach the device, after the device was
    used."""
    torch.ones(1, device=backend.device)
    data = TensorDataset(torch.arange(32.0))
    total = 0.0
    for (batch,) in DataLoader(data, batch_size=8, num_workers=2, timeout=30):
        total += batch.to(backend.device).sum().item()
    assert total == sum(range(32))


# ---- other processes

SPAWN = """
import multiprocessing, os, sys, tempfile

WORKER = '''
import torch

def work(inbox, outbox):
    for x in iter(inbox.get, None):
        outbox.put((x.device.type, (x.cpu() * 2).tolist()) if hasattr(x, "device") else x)

def add_one(inbox, outbox):
    for x in iter(inbox.get, None):
        outbox.put(x + 1)
        del x
    inbox.get()  # who sends has to live until the other has received

def compute(device, outbox):
    outbox.put((torch.ones(3, device=device) + 1).tolist())
'''
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "conformance_worker.py"), "w") as file:
        file.write(BEGIN + WORKER)
    sys.path.insert(0, folder)
    import conformance_worker as worker
    context = torch.multiprocessing.get_context("spawn")
    inbox, outbox = context.SimpleQueue(), context.SimpleQueue()
    BODY
"""


def spawned(backend: Backend, body: str) -> str:
    """Runs source text that may start functions of `worker` in spawned processes."""
    begin = "".join(f"import {name}\n" for name in packages_of(backend))
    source = f"BEGIN = {begin!r}\n" + SPAWN.replace("BODY", "\n    ".join(body.splitlines()))
    return run_well(backend, source, seconds=90)


@check(
    called_by="torch/multiprocessing/spawn.py: spawn",
    without="training in several processes cannot begin",
    level="standard",
)
def a_spawned_process_uses_the_device(backend: Backend) -> None:
    """A process that is started with spawn computes on the device, also after its parent has."""
    printed = spawned(
        backend,
        """
torch.ones(1, device=device)
process = context.Process(target=worker.compute, args=(str(device), outbox), daemon=True)
process.start()
print(outbox.get())
process.join()
assert process.exitcode == 0, process.exitcode""",
    )
    assert printed == "[2.0, 2.0, 2.0]", printed


@check(
    called_by="torch/multiprocessing/reductions.py: reduce_tensor",
    without="tensors cannot be put into a queue of torch.multiprocessing",
    level="standard",
)
def tensors_go_to_other_processes(backend: Backend) -> None:
    """A tensor of the device that is put into a queue arrives on the device, with its numbers."""
    printed = spawned(
        backend,
        """
process = context.Process(target=worker.work, args=(inbox, outbox), daemon=True)
process.start()
for x in (torch.arange(4.0, device=device), torch.arange(6.0, device=device).reshape(2, 3).t()):
    inbox.put(x)
    there, numbers = outbox.get()
    assert there == device.type and numbers == (x.cpu() * 2).tolist(), (there, numbers)
inbox.put(None)
process.join()
assert process.exitcode == 0, process.exitcode
print("done")""",
    )
    assert printed == "done", printed


@check(
    called_by="torch/multiprocessing/reductions.py: reduce_tensor",
    without="some of the tensors that go through a queue arrive with other numbers",
    level="standard",
)
def queues_send_while_both_go_on(backend: Backend) -> None:
    """Tensors that are put into a queue of torch.multiprocessing, whose thread sends them while
    both processes make further ones, arrive with their numbers."""
    printed = spawned(
        backend,
        """
inbox, outbox = context.Queue(), context.Queue()
process = context.Process(target=worker.add_one, args=(inbox, outbox), daemon=True)
process.start()
sent = [torch.full((n,), float(n), device=device) for n in (1, 3, 1000, 5, 70000, 7)] * 3
for x in sent:
    inbox.put(x)
others = [torch.full((100,), float(n), device=device) for n in range(200)]
for x in sent:
    y = outbox.get(timeout=60)
    assert y.device == device and torch.equal(y.cpu(), x.cpu() + 1), (y, x)
assert all(torch.equal(o.cpu(), torch.full((100,), float(n))) for n, o in enumerate(others))
del y
inbox.put(None)
inbox.put(None)
process.join()
assert process.exitcode == 0, process.exitcode
print("done")""",
    )
    assert printed == "done", printed


@check(
    called_by="torch/multiprocessing/queue.py: ConnectionWrapper.send",
    without="training loses steps, silently, whenever a queue sends one of its tensors",
    alone=True,
)
def sending_a_tensor_loses_no_write_to_others(backend: Backend) -> None:
    """While one thread sends tensors of the device, all that another one writes to other tensors is
    there afterwards."""
    # Of a size at which an allocator puts several tensors into one piece of the device's memory.
    tensors = [torch.zeros(1 << 16, device=backend.device) for _ in range(16)]
    written, sent = tensors[::2], tensors[1::2]
    problems: list[BaseException] = []
    begun, stop = threading.Event(), threading.Event()
    times = 0

    def write() -> None:
        nonlocal times
        try:
            while not stop.is_set():
                for x in written:
                    x[:64].add_(1)
                times += 1
                begun.set()
        except BaseException as error:
            problems.append(error)
            begun.set()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    begun.wait(60)
    try:
        for x in sent:
            ForkingPickler.dumps(x)  # as the thread of a queue
    finally:
        stop.set()
        writer.join(60)
    if problems:
        raise problems[0]
    for x in written:
        there = x[:64].cpu()
        assert there.eq(times).all(), (
            f"{times} additions of 1 were made, and {int(there.min())} are there"
        )
    assert all(x.eq(0).all() for x in sent), "the tensors that were sent have other numbers"


# ---- threads


@check(
    called_by="torch/utils/data/_utils/pin_memory.py: _pin_memory_loop",
    without="programs with several threads crash or compute nonsense",
)
def threads_allocate_and_compute_at_once(backend: Backend) -> None:
    """Many threads that allocate, compute, copy and give memory back at once, on all devices, each
    get their own numbers."""
    problems: list[BaseException] = []
    begin = threading.Barrier(6, timeout=30)

    def work(number: int) -> None:
        try:
            device = torch.device(backend.name, number % backend.count)
            torch.accelerator.set_device_index(device.index)
            begin.wait()
            for step in range(60):
                value = float(100 * number + step)
                x = torch.full((step * 37 + 1,), value, device=backend.name)
                y = (x + 1).cpu()
                assert x.device == device, f"{x.device} in the thread of {device}"
                assert y.eq(value + 1).all(), f"{y[0].item()} instead of {value + 1}"
                z = y.to(device)
                del x
                assert z.sum().item() == (value + 1) * len(y)
        except BaseException as error:
            problems.append(error)
            begin.abort()

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread does not end"
    if problems:
        raise problems[0]
    assert torch.accelerator.current_device_index() == backend.device.index


@check(
    called_by="torch/include/c10/core/Allocator.h: DataPtr",
    without="tensors that a thread left behind crash the next one that frees them",
)
def tensors_outlive_their_thread(backend: Backend) -> None:
    """A tensor and an event of a thread that has ended are used and freed by another one."""
    kept: list = []

    def work() -> None:
        with torch.Stream(backend.device):
            keep_busy(backend, 5)
            kept.append(torch.ones(100, device=backend.device) + 1)
            kept.append(torch.accelerator.current_stream().record_event())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    kept[1].synchronize()
    assert kept[0].eq(2).all()
    kept.clear()


# ---- the end

ALIVE = {
    "nothing": "",
    "tensors": "x = torch.ones(1000, device=device); y = [x + 1, x.view(10, 100)]; x.me = [x]",
    "a graph of autograd": """
x = torch.ones(9, device=device, requires_grad=True)
(x * 2).sum().backward()
y = (x * 2).sum()""",
    "a module and its optimizer": """
m = torch.nn.Linear(3, 3).to(device)
o = torch.optim.Adam(m.parameters())
m(torch.ones(1, 3, device=device)).sum().backward()
o.step()""",
    "streams and events": """
s = [torch.Stream(device) for _ in range(10)]
s[3].__enter__()
e = [torch.Event(device) for _ in range(10)]
for event in e:
    event.record()""",
    "work in the queue": """
x = torch.ones(1 << 20, device=device)
with torch.Stream(device):
    for _ in range(30):
        y = x.clone(); x.copy_(y, non_blocking=True)""",
    "pinned copies in the queue": """
p = torch.ones(1 << 20).pin_memory()
for _ in range(10):
    q = p.to(device, non_blocking=True)
    r = q.to('cpu', non_blocking=True)""",
    "generators": "g = torch.Generator(device), torch.manual_seed(1), torch.rand(3, device=device)",
    "a thread that has ended": """
import threading
kept = []
t = threading.Thread(target=lambda: kept.append(torch.ones(9, device=device) + 1))
t.start(); t.join()""",
}


def ends_quietly(backend: Backend, source: str) -> None:
    """The interpreter ends with status 0 and without a word, whatever is still alive."""
    run_well(backend, source)


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: destroyEvent",
    without="each program ends with a crash or a message, and CI takes it for a failure",
)
def the_interpreter_ends_quietly(backend: Backend) -> None:
    """The interpreter ends with status 0 and without a word, with all kinds of things alive."""
    # An optimizer imports torch's compiler, which takes seconds.
    run_well(backend, "\n".join(s for name, s in ALIVE.items() if "optimizer" not in name))


ends = variants(
    check(
        called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: destroyEvent",
        without="each program ends with a crash or a message, and CI takes it for a failure",
        level="standard",
    )(ends_quietly),
    ends_quietly,
    {name: (source,) for name, source in ALIVE.items()},
)


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: destroyEvent",
    without="a program's own status is lost",
    level="standard",
)
def the_programs_own_status_is_kept(backend: Backend) -> None:
    """A program that uses the device and ends with status 3, by sys.exit or os._exit, ends with
    status 3 and without a word."""
    use = "x = torch.ones(9, device=device); y = x + 1\n"
    for end in ("sys.exit(3)", "import os; os._exit(3)"):
        finished = run(backend, use + end)
        assert finished.status == 3 and not finished.errors, f"{end}: {finished}"


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: destroyEvent",
    without="servers that keep a thread crash when they end",
    level="standard",
)
def a_daemon_thread_may_be_left(backend: Backend) -> None:
    """The interpreter ends quietly while a daemon thread holds tensors and a stream and sleeps, and
    with an exit handler that uses the device."""
    run_well(
        backend,
        """
        import atexit, threading, time
        ready = threading.Event()
        def work():
            with torch.Stream(device):
                x = torch.ones(1 << 12, device=device) + 1
                ready.set()
                time.sleep(1000)
        def last():
            assert (torch.ones(9, device=device) + 1).sum().item() == 18
        threading.Thread(target=work, daemon=True).start()
        ready.wait()
        atexit.register(last)
        """,
    )


@check(
    called_by="torch/__init__.py: _import_device_backends",
    without="programs that only import torch touch the device, or cannot fork",
    level="standard",
)
def importing_starts_nothing(backend: Backend) -> None:
    """After the import alone, a child may be forked that uses the device, and the parent may use it
    too."""
    run_well(
        backend,
        """
        import os
        torch.manual_seed(1)
        child = os.fork()
        if child == 0:
            ok = torch.ones(3, device=device).add(1).tolist() == [2, 2, 2]
            os._exit(0 if ok else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert torch.ones(3, device=device).add(1).tolist() == [2, 2, 2]
        """,
    )


@check(
    called_by="torch/__init__.py: _import_device_backends",
    without="programs that only import torch compute, end or print otherwise than before",
    level="standard",
)
def importing_changes_no_setting(backend: Backend) -> None:
    """After the import alone, torch's settings, the program's folder and its handlers of signals
    are those of a new process, a warning is none of its errors, and nothing has been printed."""
    printed = run_well(
        backend,
        """
        found = {
            "torch.get_default_dtype()": (torch.get_default_dtype(), torch.float32),
            "torch.get_default_device()": (torch.get_default_device(), torch.device("cpu")),
            "torch.is_grad_enabled()": (torch.is_grad_enabled(), True),
            "torch.get_float32_matmul_precision()": (
                torch.get_float32_matmul_precision(), "highest"),
            "torch.are_deterministic_algorithms_enabled()": (
                torch.are_deterministic_algorithms_enabled(), False),
            "os.getcwd()": (os.getcwd(), folder),
        }
        found |= {f"the handler of {n.name}": (signal.getsignal(n), h) for n, h in handlers.items()}
        wrong = [f"{name} is {now}, not {new}" for name, (now, new) in found.items() if now != new]
        assert not wrong, "; ".join(wrong)
        with warnings.catch_warnings(record=True):
            warnings.warn("of a program")
        """,
        before="""
        import os, signal, tempfile
        os.chdir(tempfile.gettempdir())
        folder = os.getcwd()
        handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)}
        """,
    )
    assert not printed, f"the import printed {printed[:200]!r}"
