"""What the device allocator costs, by the C++ program beside the backend's package."""

from __future__ import annotations

from rows import Row, Section
from runtime import programs, row_of, times_of

# How many freed blocks a stream still uses, and the most that they may cost: an allocation asks for
# one of them.
PENDING = {1000: 1.5, 4000: 1.5}


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
    # Shown and not limited: the threads share the device's lock, which no program waits for.
    name = "allocate_and_free_on_own_streams/real_time/threads"
    rows.append(
        row_of(
            "allocate and free, 2 threads on 2 streams",
            "one thread",
            times[f"{name}:2"],
            times[f"{name}:1"],
        )
    )
    rows += [_pending(times, count) for count in PENDING]
    return [Section("the device allocator, without Python", rows)]


def _pending(times: dict[str, list[float]], count: int) -> Row:
    """The time of an allocation while a stream uses `count` freed blocks, above that with none."""
    name = "allocate_and_free_beside_pending"
    return row_of(
        f"allocate and free, {count:,} blocks pending",
        "none pending",
        times[f"{name}/{count}/real_time"],
        times[f"{name}/0/real_time"],
        limit=PENDING[count],
    )
