"""Streams and events that have nothing to wait for: what the calls themselves cost."""

from __future__ import annotations

import torch
from backend import Backend
from rows import Row, Section
from timing import Code, alone


def sections(backend: Backend, seconds: float) -> list[Section]:
    stream = backend.module.current_stream()
    event = torch.Event(device=backend.device)
    timed = torch.Event(device=backend.device, enable_timing=True)
    values = {"module": backend.module, "stream": stream, "event": event, "timed": timed}
    for recorded in (event, timed):
        recorded.record(stream)
    backend.settle()
    statements = {
        "synchronize an idle stream": "stream.synchronize()",
        "synchronize an idle device": "module.synchronize()",
        "query an idle stream": "stream.query()",
        "query a finished event": "event.query()",
        "record an event": "event.record(stream)",
        "record a timed event": "timed.record(stream)",
        "the current stream": "module.current_stream()",
        "the current device": "module.current_device()",
    }
    rows = [
        Row(name, "", alone(Code(statement, values, backend.settle), seconds))
        for name, statement in statements.items()
    ]
    return [Section("streams and events", rows)]
