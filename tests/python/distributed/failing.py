"""Pairs of processes, in which one rank does not come to an operation, and then is killed in it; a
part of a program (test_failures.py). The pairs of all operations are forks of one process.
"""

import os
import signal
import sys
import time
import warnings
from datetime import timedelta
from pathlib import Path
from threading import Timer

import operations
import ranks
import torch
import torch.distributed as dist

CODE = 17  # of a process that has seen all it was to see
_PAIRS = 4  # at a time: they wait more than they compute
_LATE = timedelta(milliseconds=200)
_SECONDS = 60  # after which a process that hangs is ended


def barrier(case):
    dist.barrier(device_ids=[0])


def all_reduce_sparse(case):
    with torch.sparse.check_sparse_tensor_invariants(enable=False):
        x = torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (4,)).to(case.device)
    dist.all_reduce(x)


_OPERATIONS = {
    **operations.REDUCING,
    **operations.MOVING,
    "barrier": barrier,
    "all_reduce_sparse": all_reduce_sparse,
}
# The reductions differ in arithmetic alone.
_MORE_REDUCTIONS = {
    name
    for name in _OPERATIONS
    if name.endswith(("AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "maximum"))
}
_NOT_THERE = {"all_to_all"} if torch.__version__ < "2.13" else set()  # in Gloo
KINDS = tuple(name for name in _OPERATIONS if name not in _MORE_REDUCTIONS | _NOT_THERE)

# The rank that sees the failure needs something of the other one: nobody knows whether what was
# sent was ever read. In most operations both ranks do.
_SEEN_BY_RANK_1 = {
    *("reduce_SUM", "broadcast_a_transposed_tensor", "gather", "scatter"),
    *("gather_single", "send_and_receive", "receive_from_anyone"),
}


def run_all(folder: str) -> None:
    """Prints a line for each operation, with tabs: its name, the exit code of the process that saw
    it fail, how many seconds its end took, and the two errors."""
    warnings.simplefilter("ignore", FutureWarning)  # newer torch has new names
    waiting, running = list(KINDS), {}
    while waiting or running:
        while waiting and len(running) < _PAIRS:
            name = waiting.pop(0)
            said = Path(folder, name)
            if (child := os.fork()) == 0:
                sys.exit(_fail(name, said))
            running[child] = name, said
        child, status = os.wait()
        now = time.monotonic()
        name, said = running.pop(child)
        *errors, done = said.read_text().splitlines() or [str(now)]
        seconds = now - float(done)
        print(name, os.waitstatus_to_exitcode(status), seconds, *errors, sep="\t", flush=True)


def _fail(name: str, said: Path) -> int:
    other = os.fork()
    signal.alarm(_SECONDS)
    survives = other != 0
    rank = int((name in _SEEN_BY_RANK_1) == survives)
    errors = [_late(name, said, rank, survives), _dead(name, said, rank, other)]
    # Nobody waits for this one, whose peer is dead too.
    pending = dist.all_reduce(torch.ones(3, device="acme"), async_op=True)  # noqa: F841
    said.write_text("\n".join([*errors, str(time.monotonic())]))
    return CODE


def _late(name: str, said: Path, rank: int, comes: bool) -> str:
    case = _begin(said, "late", rank)
    error = ""
    if comes:
        dist.group.WORLD.set_timeout(_LATE)
        error = _error(name, case)
        _store().set("noticed", "")
    else:
        _store().wait(["noticed"])
    dist.destroy_process_group()
    return error


def _dead(name: str, said: Path, rank: int, other: int) -> str:
    case = _begin(said, "dead", rank)
    if other == 0:
        _store().set("comes", "")
        _OPERATIONS[name](case)
        raise AssertionError("the other rank has not stopped this one")
    _store().wait(["comes"])
    time.sleep(0.02)
    # It stands still before this rank comes, so that they cannot end the operation.
    os.kill(other, signal.SIGSTOP)
    os.waitpid(other, os.WUNTRACED)
    killing = Timer(0.05, os.kill, [other, signal.SIGKILL])
    killing.start()
    error = _error(name, case)
    killing.join()
    os.waitpid(other, 0)
    return error


def _begin(said: Path, why: str, rank: int) -> operations.Case:
    ranks.start(rank, 2, f"{said}.{why}", backend="cpu:outback,acme:outback")
    dist.all_reduce(torch.ones(3, device="acme"))
    return operations.Case("acme", torch.float32, rank, dist.group.WORLD)


def _store() -> dist.Store:
    return dist.distributed_c10d._get_default_store()


def _error(name: str, case: operations.Case) -> str:
    try:
        _OPERATIONS[name](case)
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("\n", " ")
    return "no error"
