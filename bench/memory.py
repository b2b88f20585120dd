"""What the device allocator costs, by the C++ program beside the backend's package."""

from __future__ import annotations

import os

from rows import Row, Section
from runtime import programs, row_of, times_of

THREADS = 8


def sections() -> list[Section]:
    folder = programs()
    if folder is None or not (folder / "bench_allocator").exists():
        return []
    times = times_of(folder / "bench_allocator")
    rows = [
        row_of(f"allocate and free {words}", "300 ns", times[f"{name}/real_time"], 300.0, limit=1.0)
        for words, name in (
            ("64 bytes", "allocate_and_free/64"),
            ("1 MiB", f"allocate_and_free/{1 << 20}"),
            ("16 MiB", f"allocate_and_free/{16 << 20}"),
            ("another size each time", "allocate_and_free_in_turn"),
        )
    ]
    rows.append(_threads(times))
    return [Section("the device allocator, without Python", rows)]


def _threads(times: dict[str, list[float]]) -> Row:
    """The time that passes for an allocation when as many threads do it as may, above one's."""
    name = "allocate_and_free_on_own_streams/real_time/threads"
    enough = (os.cpu_count() or 1) >= THREADS
    return row_of(
        f"allocate and free, {THREADS} threads on {THREADS} streams",
        "one thread",
        times[f"{name}:{THREADS}"],
        times[f"{name}:1"],
        limit=1 / 3 if enough else None,
    )
