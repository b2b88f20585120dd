"""The tables: on the terminal, as Markdown, and as JSON."""

from __future__ import annotations

import dataclasses
import json
import platform
from pathlib import Path
from typing import Any

import torch
from backend import Backend
from rich.console import Console
from rich.table import Table
from rows import Row, Section

RESULTS = Path(__file__).with_name("results")
NOTE = (
    "Medians of interleaved rounds, one thread, one machine. "
    "The ratios carry over to others, the times do not."
)


def show(console: Console, section: Section) -> None:
    table = Table(title=section.title, title_justify="left", title_style="bold")
    for i, heading in enumerate(_headings(section)):
        table.add_column(heading, justify="left" if i == 0 else "right")
    for row in section.shown_rows():
        table.add_row(*_cells(section, row))
    mean = section.geometric_mean()
    if mean is not None:
        table.add_section()
        table.add_row(*_mean_cells(section, mean))
    console.print(table)


def save(name: str, backend: Backend, sections: list[Section]) -> list[Path]:
    """Writes results/<torch>-<name>.json and .md."""
    RESULTS.mkdir(exist_ok=True)
    stem = RESULTS / f"{torch.__version__.partition('+')[0]}-{name}"
    json_file, markdown_file = (
        stem.with_name(stem.name + ".json"),
        stem.with_name(stem.name + ".md"),
    )
    json_file.write_text(json.dumps(_document(backend, sections), indent=1) + "\n")
    markdown_file.write_text(_markdown(backend, sections))
    return [json_file, markdown_file]


def _document(backend: Backend, sections: list[Section]) -> dict[str, Any]:
    return {
        "note": NOTE,
        **_circumstances(backend),
        "sections": [
            dataclasses.asdict(dataclasses.replace(section, rows=section.shown_rows()))
            | {"geometric_mean": section.geometric_mean()}
            for section in sections
        ],
    }


def _circumstances(backend: Backend) -> dict[str, Any]:
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "package": backend.package,
        "device": backend.module.get_device_name(0),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "environment": backend.environment(),
    }


def _markdown(backend: Backend, sections: list[Section]) -> str:
    about = "; ".join(f"{key} {value}" for key, value in _circumstances(backend).items() if value)
    lines = [f"{NOTE}\n", f"{about}.\n"]
    for section in sections:
        lines += [f"## {section.title}\n", _line(_headings(section))]
        lines.append("|---|" + "---:|" * (len(_headings(section)) - 1))
        lines += [_line(_cells(section, row)) for row in section.shown_rows()]
        mean = section.geometric_mean()
        if mean is not None:
            lines.append(
                _line([f"**{cell}**" if cell else "" for cell in _mean_cells(section, mean)])
            )
        lines.append("")
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _paired(section: Section) -> bool:
    return any(row.measured.ratio is not None for row in section.rows)


def _limited(section: Section) -> bool:
    return section.mean_limit is not None or any(row.limit is not None for row in section.rows)


def _limit(section: Section, row: Row) -> list[str]:
    if not _limited(section):
        return []
    return ["" if row.limit is None else f"{row.limit:.2f}"]


def _mean_cells(section: Section, mean: float) -> list[str]:
    limit = [f"{section.mean_limit:.2f}" if section.mean_limit else ""]
    return ["geometric mean", "", "", f"{mean:.2f}", *(limit if _limited(section) else []), ""]


def _headings(section: Section) -> list[str]:
    if not _paired(section):
        return ["", "time"]
    against = {row.against for row in section.rows}
    reference = against.pop() if len(against) == 1 else "reference"
    limit = ["at most"] if _limited(section) else []
    return ["", "time", reference, "ratio", *limit, "quartiles"]


def _cells(section: Section, row: Row) -> list[str]:
    measured = row.measured
    rate = f" ({row.bytes / measured.ns:.1f} GB/s)" if row.bytes else ""
    cells = [row.name, _time(measured.ns) + rate]
    if not _paired(section):
        return cells
    same = len({other.against for other in section.rows}) == 1
    reference = _time(measured.reference_ns)
    return [
        *cells,
        reference if same else f"{reference} ({row.against})",
        f"{measured.ratio:.2f}",
        *_limit(section, row),
        f"{measured.ratio_low:.2f} to {measured.ratio_high:.2f}",
    ]


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.{3 - len(str(int(ns / size)))}f} {unit}"
    return f"{ns:.0f} ns"
