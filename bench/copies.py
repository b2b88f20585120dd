"""Copies of one large tensor, against the plain copy of as many bytes on the CPU."""

from __future__ import annotations

import torch
from backend import Backend
from rows import Row, Section
from timing import Code, paired


def sections(backend: Backend, mebibytes: int, seconds: float) -> list[Section]:
    size = mebibytes << 20
    host, host_result = (torch.ones(size, dtype=torch.uint8) for _ in range(2))
    pinned = torch.ones(size, dtype=torch.uint8).pin_memory()
    here, here_result = (torch.ones(size, dtype=torch.uint8, device=backend.device) for _ in "ab")
    values = {"host": host, "host_result": host_result, "pinned": pinned}
    values |= {"here": here, "here_result": here_result}
    copies = {
        "host to device, pageable": "here_result.copy_(host)",
        "host to device, pinned": "here_result.copy_(pinned, non_blocking=True)",
        "device to host, pageable": "host_result.copy_(here)",
        "device to host, pinned": "pinned.copy_(here, non_blocking=True)",
        "device to device": "here_result.copy_(here)",
    }
    if backend.module.device_count() > 1:
        values["there"] = torch.ones(size, dtype=torch.uint8, device=f"{backend.name}:1")
        copies["device to other device"] = "there.copy_(here)"
    # At least 0.95 of the host's bandwidth, where the CPU reaches the memory.
    limit = 1 / 0.95 if backend.is_in_place else None
    reference = Code("host_result.copy_(host)", values)
    rows = [
        Row(
            name,
            "host to host",
            paired(Code(statement, values, backend.settle), reference, seconds),
            bytes=size,
            limit=limit,
        )
        for name, statement in copies.items()
    ]
    return [Section(f"copies of {mebibytes} MiB", rows)]
