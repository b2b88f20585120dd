"""A document, and what two differ in, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from ..variables import printable
from .comparing import Change
from .document import Calls, Document
from .gain import DeviceModel, gains, left_out


def lines(document: Document, model: DeviceModel, most: int) -> Iterator[str]:
    yield from _head(document)
    yield ""
    yield from _next(document, model, most)
    yield ""
    yield click.style("all operators", bold=True)
    rows = [row for row in document.operators if row.served != "elsewhere"]
    yield from _table(
        (
            *("own ms", "waited ms", "calls", "waits", "to host", "to device"),
            *("served", "dtype", "operator"),
        ),
        [
            (
                milliseconds(row.own_ns),
                milliseconds(row.waited_ns),
                f"{row.calls:,}",
                f"{row.waits:,}",
                size(row.bytes_to_host),
                size(row.bytes_to_device),
                row.served,
                row.dtype,
                _named(row),
            )
            for row in rows[:most]
        ],
        right=6,
    )
    if len(rows) > most:
        rest = sum(row.own_ns for row in rows[most:])
        yield f"{milliseconds(rest).rjust(10)}  {len(rows) - most} more; --most shows them"


def _head(document: Document) -> Iterator[str]:
    device = document.device or "no device was used"
    where = {"cpu": "the CPU's kernels run in place", None: "the CPU cannot address its memory"}
    how = where.get(document.kernels, f"the kernels of {document.kernels} run in place")
    whose = click.style(printable(f"{document.backend}: {device}"), bold=True)
    yield whose + printable(f", torch {document.torch}" + (f"; {how}" if document.device else ""))
    total = sum(row.spent_ns for row in document.operators)
    told = ", ".join(f"{printable(who)} {share}" for who, share in shares(document))
    processes = f", {document.processes} processes" if document.processes > 1 else ""
    yield (
        f"{document.seconds:.2f} s{processes}; {milliseconds(total)} ms in operators"
        + (f": {told}" if told else "")
    )
    yield (
        f"copied: {copied(document)}; the host waited {waits(document):,} times, "
        f"{milliseconds(waited_ns(document))} ms for work from before"
    )


def copied(document: Document) -> str:
    ways = (
        ("bytes_to_host", "to the host"),
        ("bytes_to_device", "to the device"),
        ("bytes_on_devices", "on devices"),
    )
    return ", ".join(f"{size(_total(document, field))} {way}" for field, way in ways)


def waits(document: Document) -> int:
    return _total(document, "waits")


def waited_ns(document: Document) -> int:
    return _total(document, "waited_ns")


def _total(document: Document, field: str) -> int:
    return sum(getattr(row, field) for row in document.operators) + document.outside[field]


def shares(document: Document) -> list[tuple[str, str]]:
    """Of the time in operators, without waits for work from before, by who served them."""
    own: dict[str, int] = {}
    for row in document.operators:
        if row.served != "elsewhere":
            own[row.served] = own.get(row.served, 0) + row.spent_ns
    total = sum(own.values()) or 1
    return [(who, f"{ns / total:.0%}") for who, ns in sorted(own.items(), key=lambda it: -it[1])]


def _next(document: Document, model: DeviceModel, most: int) -> Iterator[str]:
    yield click.style("write these next", bold=True) + (
        f" (the gain on a device of {model})"
        if model.is_known
        else " (the gain at most: --device-model knows what a device can do)"
    )
    if left := left_out(document):
        yield printable(f"  left out, since only the CPU has them: {', '.join(left)}")
    found = [it for it in gains(document, model) if it.gain_ns > 0]
    if not found:
        yield "  nothing: no kernel of another device's was called"
        return
    shown = found[:most]
    yield from _table(
        ("gain ms", "own ms", "waited ms", "calls", "served", "dtype", "signature"),
        [
            (
                milliseconds(it.gain_ns) + ("*" if model.is_known and it.by_bytes_alone else " "),
                milliseconds(it.calls.own_ns),
                milliseconds(it.calls.waited_ns),
                f"{it.calls.calls:,}",
                it.calls.served,
                it.calls.dtype,
                it.shown + (f"  {it.calls.place}" if it.calls.place else ""),
            )
            for it in shown
        ],
        right=4,
    )
    if model.is_known and any(it.by_bytes_alone for it in shown):
        yield "  * by its bytes alone: torch has no formula for its FLOPs"
    yield f"  a kernel to begin with: outback ops --skeleton {printable(shown[0].to_write)}"


def of_changes(changes: Sequence[Change], most: int) -> Iterator[str]:
    yield from _table(
        ("own ms", "was", "change", "calls", "was", "served", "was", "dtype", "operator"),
        [
            (
                milliseconds(it.own_ns),
                milliseconds(it.own_ns_before),
                f"{(it.own_ns - it.own_ns_before) / 1e6:+,.3f}",
                f"{it.calls:,}",
                f"{it.calls_before:,}",
                it.served,
                it.served_before if it.served_before != it.served else "",
                it.dtype,
                it.name,
            )
            for it in changes[:most]
        ],
        right=5,
    )
    if len(changes) > most:
        yield f"  {len(changes) - most} more; --most shows them"


def _named(row: Calls) -> str:
    return f"{row.name}  {row.place}" if row.place else row.name


def milliseconds(ns: float) -> str:
    return f"{ns / 1e6:,.3f}"


def size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: int) -> Iterator[str]:
    """The first `right` columns are numbers. A document may be anybody's, and a place has the name
    of a file: what a terminal would obey is shown as text."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    for row in (head, *rows):
        cells = [
            text.rjust(width) if at < right else text.ljust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  " + "  ".join(cells).rstrip()
        yield click.style(line, dim=True) if row is head else line
