"""Calls that were requested before the backend was started and wait for its start: what
torch.cuda._lazy_call is to CUDA."""

import threading
import traceback
from collections.abc import Callable
from typing import Any

from . import device_module, name, publish

_Call = tuple[Callable[[], Any], str | None, str]  # None: sets no seed; the stack that queued it

waiting: list[_Call] = []  # those that run now included; the library looks whether there are any
_running = threading.Lock()
_thread = 0  # the one that runs them, while one does


class DeferredCallError(Exception):
    """A call that was queued until the backend's start has failed; the text shows where it was
    queued."""


def _lazy_call(callable: Callable[[], Any], **kwargs: Any) -> None:
    """Calls it now if the backend is started, else at its start."""
    if device_module.is_initialized():
        callable()
        return
    kind = next((each for each in ("seed_all", "seed") if kwargs.get(each)), None)
    waiting.append((callable, kind, "".join(traceback.format_stack())))


def _run_once() -> None:
    """All stay in the list if one raises; what a call queues comes behind them."""
    count = len(waiting)
    # Of each kind of seed only the last one runs, after all other calls, as in
    # torch.cuda._lazy_call. The later of the two kinds is last, so that its seed stays.
    seeds: dict[str, _Call] = {}
    for call in waiting:
        if call[1] is not None:
            seeds.pop(call[1], None)
            seeds[call[1]] = call
    others = [call for call in waiting if call[1] is None]
    for callable, _, stack in [*others, *seeds.values()]:
        try:
            callable()
        except Exception as error:
            raise DeferredCallError(
                f"{name} call failed lazily at initialization with error: {error}\n\n{name} call "
                f"was originally invoked at:\n\n{stack}"
            ) from error
    del waiting[:count]


def run() -> None:
    """Waits if another thread is running them. A call may use the device, and so come here again:
    that has nothing to do."""
    global _thread
    if _thread == threading.get_ident():
        return
    with _running:
        _thread = threading.get_ident()
        try:
            while waiting:
                _run_once()
        finally:
            _thread = 0


def define() -> None:
    publish(device_module, DeferredCallError, _lazy_call)
