"""One set of processes that runs one form of training after the other."""

import contextlib
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Collection
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
from .form import FORMS, Form, World


def run(names: Collection[str], folder: Path, size: int) -> None:
    """Forks `size` ranks, each of which writes the file `folder`/<its rank>.json: the losses that
    it found in each form, and in each form's reference that was its to compute.

    A form has a process group of its own. A rank that fails ends all of them with its traceback:
    the others might wait for it.
    """
    torch.set_num_threads(1)
    if any(name.startswith("compiled") for name in names):
        compiled.import_compilers()
    children, rank = _ranks(size)
    watchers = [threading.Thread(target=_watch, args=(child, children)) for child in children]
    for watcher in watchers:
        watcher.start()
    try:
        _run_all([FORMS[name] for name in names], folder, rank, size)
    except Exception:
        sys.stderr.write(f"rank {rank}: {traceback.format_exc()}")
        _end(children, 1)
    for watcher in watchers:
        watcher.join()


def _run_all(forms: list[Form], folder: Path, rank: int, size: int) -> None:
    device = torch.device("acme", rank % torch.acme.device_count())
    torch.acme.set_device(device)
    os.environ["LOCAL_RANK"] = str(device.index)  # by which meshes select the device
    world = World(rank, size, device, folder)
    meeting = dist.FileStore(str(folder / "meeting.store"), size)
    found = {"forms": {}, "references": {}}
    references = dict.fromkeys(form.reference for form in forms if form.reference)
    for reference in list(references)[rank::size]:
        losses = reference(device)
        of_these = [form.name for form in forms if form.reference is reference]
        found["references"] |= dict.fromkeys(of_these, losses)
    for form in forms:
        world.begin(form.name)
        found["forms"][form.name] = form.run(world)
        # A rank whose group ends early would look dead to those that are still connecting.
        meeting.set(f"{form.name}/{rank}", "done")
        meeting.wait([f"{form.name}/{other}" for other in range(size)], timedelta(minutes=5))
        dist.destroy_process_group()
        torch.compiler.reset()
    (folder / f"{rank}.json").write_text(json.dumps(found))


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
    """In rank 0."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        sys.stderr.write(f"rank {children.index(child) + 1} ended with exit code {code}\n")
        _end([other for other in children if other != child], 1)


def _end(children: list[int], code: int) -> None:
    for child in children:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.kill(child, signal.SIGKILL)
    sys.stderr.flush()
    os._exit(code)
