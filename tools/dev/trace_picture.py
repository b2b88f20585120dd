"""A picture of a trace that torch.profiler exported, for the documentation: an SVG, since the
viewers of traces are pages of the net.

    python tools/dev/trace_picture.py trace.json picture.svg
"""

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from html import escape
from pathlib import Path

WIDTH, LEFT, BAR, GAP, TOP = 960, 150, 20, 10, 30
COLOURS = {
    "user_annotation": "#d9c7ef",
    "gpu_user_annotation": "#d9c7ef",
    "cpu_op": "#bcd7f5",
    "privateuse1_runtime": "#f6d9a8",
    "kernel": "#b9e3c0",
    "gpu_memcpy": "#f5bfc0",
    "gpu_memset": "#cfe8ea",
}


@dataclass
class Slice:
    name: str
    kind: str
    row: tuple
    start: float  # in microseconds, as `length`
    length: float
    level: int = 0

    @property
    def end(self) -> float:
        return self.start + self.length


def read(path: Path) -> tuple[list[Slice], list[dict], dict[tuple, str]]:
    """The slices, the ends of the arrows, and the names of the rows."""
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    slices = [
        Slice(e["name"], e["cat"].lower(), (e["pid"], e["tid"]), float(e["ts"]), float(e["dur"]))
        for e in events
        if e.get("ph") == "X" and e.get("cat", "").lower() in COLOURS
    ]
    names = {
        (e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"
    }
    return slices, [e for e in events if e.get("cat") == "ac2g"], names


def stack(slices: list[Slice]) -> int:
    """Puts what is within another slice below it. Returns how many levels there are."""
    open_ones: list[Slice] = []
    for each in sorted(slices, key=lambda s: (s.start, -s.length)):
        while open_ones and open_ones[-1].end <= each.start:
            open_ones.pop()
        each.level = len(open_ones)
        open_ones.append(each)
    return 1 + max(each.level for each in slices)


def picture(path: Path) -> str:
    slices, arrows, names = read(path)
    by_row = defaultdict(list)
    for each in slices:
        by_row[each.row].append(each)
    first = min(each.start for each in slices)
    last = max(each.end for each in slices)
    scale = (WIDTH - LEFT - 10) / (last - first)

    def x(time: float) -> float:
        return LEFT + (time - first) * scale

    # The host first: its arrows go down.
    rows = sorted(by_row, key=lambda row: (isinstance(row[0], int) and row[0] < 256, str(row)))
    parts: list[str] = []
    tops = {}
    y = TOP
    for row in rows:
        levels = stack(by_row[row])
        tops[row] = y
        name = names.get(row, "thread")
        parts.append(f'<text x="8" y="{y + 14}">{escape(name.split(" (python")[0])}</text>')
        for each in by_row[row]:
            top, width = y + each.level * BAR, max(each.length * scale, 1)
            parts.append(
                f'<rect x="{x(each.start):.1f}" y="{top}" width="{width:.1f}" height="{BAR - 2}" '
                f'fill="{COLOURS[each.kind]}"><title>{escape(each.name)}, {each.length:.1f} us'
                "</title></rect>"
            )
            room = int((width - 6) / 6.2)
            if room >= 4:
                text = each.name if len(each.name) <= room else each.name[: room - 1] + "…"
                parts.append(
                    f'<text x="{x(each.start) + 4:.1f}" y="{top + 13}">{escape(text)}</text>'
                )
        y += levels * BAR + GAP
    parts += _arrows(arrows, slices, tops, x)
    step = _step(last - first)
    for i in range(int((last - first) / step) + 1):
        at = x(first + i * step)
        label = f"{i * step / 1000:g} ms"
        parts.insert(
            0, f'<line x1="{at:.1f}" y1="{TOP - 8}" x2="{at:.1f}" y2="{y}" stroke="#ddd"/>'
        )
        parts.append(f'<text x="{at + 3:.1f}" y="{TOP - 12}" fill="#666">{label}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" font-size="11" '
        f'font-family="sans-serif" fill="#222">\n<rect width="{WIDTH}" height="{y}" fill="#fff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _step(length: float) -> float:
    for step in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000):
        if length / step <= 10:
            return step
    return length / 10


def _arrows(arrows: list[dict], slices: list[Slice], tops: dict, x) -> list[str]:
    """From the call on the host to the work on the device."""
    ends: dict[str, dict[str, dict]] = defaultdict(dict)
    for each in arrows:
        ends[str(each["id"])][each["ph"]] = each

    def place(end: dict) -> float | None:
        row = (end["pid"], end["tid"])
        levels = [s.level for s in slices if s.row == row and s.start == float(end["ts"])]
        return tops[row] + max(levels) * BAR + BAR / 2 if levels and row in tops else None

    lines = []
    for both in ends.values():
        if both.keys() < {"s", "f"}:
            continue
        y1, y2 = place(both["s"]), place(both["f"])
        if y1 is not None and y2 is not None:
            x1, x2 = x(float(both["s"]["ts"])), x(float(both["f"]["ts"]))
            lines.append(
                f'<path d="M{x1:.1f},{y1:.0f} C{x1:.1f},{y2:.0f} {x1:.1f},{y2:.0f} '
                f'{x2:.1f},{y2:.0f}" '
                'fill="none" stroke="#888" stroke-width="0.8"/>'
            )
    return lines


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(picture(Path(sys.argv[1])), encoding="utf-8")
