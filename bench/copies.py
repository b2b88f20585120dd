"""Copies of one large tensor, against the plain copy of as many bytes on the CPU."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from backend import Backend
from rows import Row, Section
from timing import Code, paired

# Copies with a wait behind each one: of so many MiB, the least part of the host's bandwidth where
# the CPU reaches the memory.
WAITED = {1: 0.90, 8: 0.90, 64: 0.95, 256: 0.95}


def waited_sections(
    backend: Backend, seconds: float, chosen: Iterable[int] = WAITED
) -> list[Section]:
    return [
        Section(
            f"copies of {mebibytes} MiB, each waited for",
            _rows(backend, mebibytes << 20, seconds, 1 / WAITED[mebibytes], "; wait()"),
        )
        for mebibytes in chosen
    ]


def sections(
    backend: Backend, mebibytes: int, seconds: float, waited: Iterable[int] = WAITED
) -> list[Section]:
    # At least 0.95 of the host's bandwidth, where the CPU reaches the memory.
    rows = _rows(backend, mebibytes << 20, seconds, 1 / 0.95)
    return [Section(f"copies of {mebibytes} MiB", rows), *waited_sections(backend, seconds, waited)]


def _rows(backend: Backend, size: int, seconds: float, limit: float, behind: str = "") -> list[Row]:
    host, host_result = (torch.ones(size, dtype=torch.uint8) for _ in range(2))
    pinned = torch.ones(size, dtype=torch.uint8).pin_memory()
    here, here_result = (torch.ones(size, dtype=torch.uint8, device=backend.device) for _ in "ab")
    values = {"host": host, "host_result": host_result, "pinned": pinned}
    values |= {"here": here, "here_result": here_result, "wait": backend.settle}
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
    reference = Code("host_result.copy_(host)", values)
    return [
        Row(
            name,
            "host to host",
            paired(Code(statement + behind, values, backend.settle), reference, seconds),
            bytes=size,
            limit=limit if backend.is_in_place else None,
        )
        for name, statement in copies.items()
    ]
