"""Runs entries of a source in this process and reports each step on a pipe, line by line.

``python -m conformance.running.worker FD`` reads its Plan as JSON from standard input. What an
entry prints goes to standard error, so nothing but events reaches the pipe.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import sys
import warnings
from collections.abc import Callable

from .plan import Plan
from .refused import Refused
from .source import Say

_CHILD = 70  # the exit status of a process that an entry forked and did not end


def main(pipe: int) -> None:
    faulthandler.enable(sys.stderr)  # says where a crash happened; also on the abort of a time-out
    warnings.simplefilter("ignore")
    events = os.fdopen(pipe, "w", buffering=1, encoding="utf-8")
    plan = Plan.from_json(sys.stdin.read())
    own = os.getpid()

    def emit(event: str, **fields: object) -> None:
        if os.getpid() != own:  # a fork that came back out of its entry: it must not go on here
            os._exit(_CHILD)
        events.write(json.dumps({"event": event, **fields}) + "\n")

    run(plan, emit)


def run(plan: Plan, emit: Callable[..., None]) -> None:
    import torch

    torch.set_num_threads(1)
    try:
        opened = importlib.import_module(plan.source).open(plan.settings, plan.without, Say(emit))
    except Refused as refused:
        emit("refused", error=str(refused))
        return
    if plan.todo is None:
        emit("hello", described=opened.describe())
    for key, phase in plan.todo or ():
        emit("start", key=key, phase=phase)
        entry = opened.check(key, phase)
        emit("result", key=key, phase=phase, entry=entry)
        if opened.renews and entry["status"] == "failed":
            break  # it may not have put back what it had changed
    emit("bye")


if __name__ == "__main__":
    main(int(sys.argv[1]))
