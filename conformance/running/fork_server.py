"""Forks for each worker, so that what all of them import is imported once.

``python -m conformance.running.fork_server SOCKET MODULES [AUTOLOAD]`` imports MODULES, with commas
between them, and takes a message for each worker, with four files: its plan, where its events go,
where it prints, and a socket for who waits for it. It has no backend loaded: what a driver has
started does not survive a fork. Each worker loads it by itself, as ``import torch`` does in an
environment where TORCH_DEVICE_BACKEND_AUTOLOAD is AUTOLOAD, or not set.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import socket
import sys
import threading
import warnings

from . import worker

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
FILES = 4  # that come with a request


def main() -> None:
    requests = socket.socket(fileno=int(sys.argv[1]))
    make_imports(sys.argv[2])

    import torch

    if torch.accelerator.is_available():
        return  # torch has a device of its own here, whose driver an import may have started
    gc.collect()
    gc.freeze()  # a collection in a worker would copy most of this process's memory into it
    while True:
        request, files, _, _ = socket.recv_fds(requests, 1, FILES)
        if not request:  # nobody is left who could ask
            reap(0)
            return
        if os.fork() == 0:
            requests.close()
            break
        for file in files:
            os.close(file)
        reap(os.WNOHANG)
    become_worker(*files)
    load_backend(*sys.argv[3:])
    worker.main(files[1])


def reap(options: int) -> None:
    """The children that have ended, or all of them with the options 0."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


def make_imports(modules: str) -> None:
    """Of names with commas between them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in filter(None, modules.split(",")):
            importlib.import_module(module)


def become_worker(plan: int, events: int, printed: int, waiting: int) -> None:
    """Returns in a child of this process, which tells how that ended, and ends."""
    child = os.fork()
    if child:
        for file in (plan, events, printed):
            os.close(file)
        tell(child, socket.socket(fileno=waiting))
        os._exit(0)
    os.setsid()  # what it starts can be ended with it
    for number, file in enumerate((plan, printed, printed)):
        os.dup2(file, number)
    for file in (plan, printed, waiting):
        os.close(file)


def tell(child: int, waiting: socket.socket) -> None:
    """The child's process id, and in a second line, once it has one, its exit code. Until the other
    end is closed the id is nobody else's: a signal that is meant for it cannot meet another one."""
    waiting.sendall(b"%d\n" % child)
    guard = threading.Thread(target=end_with, args=(child, waiting))
    guard.start()
    ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert ended is not None  # it waits, without WNOHANG
    code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    with contextlib.suppress(ConnectionError):  # nobody is left who waits
        waiting.sendall(b"%d\n" % code)
    guard.join()
    os.waitpid(child, 0)


def end_with(child: int, waiting: socket.socket) -> None:
    """Ends the child, and what it has started, once nobody waits for it: a supervisor that was
    killed would leave one that hangs for ever."""
    waiting.recv(1)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def load_backend(*autoload: str) -> None:
    """What the end of ``import torch`` does."""
    import torch

    os.environ.pop(AUTOLOAD, None)
    for value in autoload:
        os.environ[AUTOLOAD] = value
    if torch._is_device_backend_autoload_enabled():
        torch._import_device_backends()


if __name__ == "__main__":
    main()
