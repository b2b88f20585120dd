"""One set of processes that runs one form of training after the other."""

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from . import (  # noqa: F401, for the forms that they define
    checkpoints,
    compiled,
    context,
    data_parallel,
    meshes,
    overlap,
    pipelines,
    sharded,
    split_layers,
    symmetric,
)
from .form import FORMS, World


def run(names: Iterable[str], folder: Path, size: int) -> None:
    """Forks `size` ranks, each of which writes the file `folder`/<its rank>.json: what it found of
    each form, and of each form's reference that was its to compute.

    A form has a process group of its own, so that one that fails does not spoil the next.
    """
    torch.set_num_threads(1)
    children, rank = _ranks(size)
    watchers = [threading.Thread(target=_watch, args=(child, children)) for child in children]
    for watcher in watchers:
        watcher.start()
    device = torch.device("acme", rank % torch.acme.device_count())
    torch.acme.set_device(device)
    os.environ["LOCAL_RANK"] = str(device.index)  # by which meshes select the device
    world = World(rank, size, device, folder)
    forms = [FORMS[name] for name in names]
    meeting = dist.FileStore(str(folder / "meeting.store"), size)
    found = {"forms": {}, "references": {}}
    references = dict.fromkeys(form.reference for form in forms if form.reference)
    for reference in list(references)[rank::size]:
        outcome = _outcome(reference, device)
        of_these = [form.name for form in forms if form.reference is reference]
        found["references"] |= dict.fromkeys(of_these, outcome)
    for form in forms:
        found["forms"][form.name] = _outcome(_in_a_group, world, form)
        (folder / f"{rank}.json").write_text(json.dumps(found))  # also if the next one is the end
        # One rank may fail at once, and another only when it has waited long enough for that one.
        meeting.set(f"{form.name}/{rank}", "done")
        meeting.wait([f"{form.name}/{other}" for other in range(size)], timedelta(minutes=5))
    for watcher in watchers:
        watcher.join()


def _ranks(size: int) -> tuple[list[int], int]:
    """The children, in rank 0; and the rank. torch's threads and the device have not begun yet."""
    children = []
    for rank in range(1, size):
        child = os.fork()
        if child == 0:
            return [], rank
        children.append(child)
    return children, 0


def _watch(child: int, children: list[int]) -> None:
    """In rank 0. A rank that crashes is the end of all, which would wait for it."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        sys.stderr.write(f"rank {children.index(child) + 1} ended with exit code {code}\n")
        sys.stderr.flush()
        for other in children:
            if other != child:
                os.kill(other, signal.SIGKILL)
        os._exit(1)


def _outcome(attempt: Callable, *arguments: object) -> dict[str, object]:
    try:
        return {"losses": attempt(*arguments)}
    except Exception:
        return {"error": traceback.format_exc()}


def _in_a_group(world: World, form):
    world.begin(form.name)
    try:
        return form.run(world)
    finally:
        dist.destroy_process_group()
        torch.compiler.reset()
