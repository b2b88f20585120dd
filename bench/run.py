"""Measures a backend against PyTorch's own CPU, in ratios: ``python bench/run.py --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import attributes
import clean_build
import compiled
import copies
import distributed
import fallback
import kernels
import memory
import models
import operators
import portable
import programs
import report
import runtime
import startup
import streams
import sweep
import timing
import torch
import twin
from backend import Backend
from rich.console import Console
from rows import Section


def main() -> int:
    options = _options()
    torch.set_num_threads(1)
    timing.set_min_rounds(options.rounds)
    backend = Backend.load(options.package, options.device)
    console = Console(width=None if sys.stdout.isatty() else 110)
    parts: dict[str, Callable[[], list[Section]]] = {
        "attributes": lambda: attributes.sections(backend, options.seconds),
        "operators": lambda: operators.sections(backend, options.sizes, options.seconds),
        "models": lambda: models.sections(backend, options.seconds),
        "programs": lambda: programs.sections(backend, options.batches, options.seconds),
        "sweep": lambda: sweep.sections(backend, options.seconds, options.operators),
        "fallback": lambda: fallback.sections(backend, options.seconds),
        "portable": lambda: portable.sections(backend, options.seconds),
        "compiled": lambda: compiled.sections(backend),
        "copies": lambda: copies.sections(
            backend, options.mebibytes, options.seconds, options.waited_mebibytes
        ),
        "streams": lambda: streams.sections(backend, options.seconds),
        "runtime": lambda: runtime.sections(),
        "kernels": lambda: kernels.sections(backend, options.seconds),
        "memory": lambda: memory.sections(),
        "startup": lambda: startup.sections(backend, options.processes),
        "distributed": lambda: distributed.sections(
            backend, options.reduced_mebibytes, options.seconds
        ),
        "twin": lambda: twin.host_sections(backend, options.seconds),
        "twin-device": lambda: twin.device_sections(backend, options.seconds),
    }
    chosen = options.only or list(parts)
    if options.build:
        parts["build"] = lambda: clean_build.sections()
        chosen = [*chosen, "build"]
    sections = []
    for name in chosen:
        with console.status(name):
            found = parts[name]()
        for section in found:
            report.show(console, section)
        sections += found
    if options.save:
        for path in report.save(options.save, backend, sections):
            console.print(f"written: {path}")
    return _judge(console, sections)


def _judge(console: Console, sections: list[Section]) -> int:
    """The exit code: 1 when a row or a mean is beyond its limit."""
    slow = [row for section in sections for row in section.rows if row.too_slow()]
    for row in slow:
        console.print(
            f"too slow: {row.name} takes {row.measured.ratio:.2f} of {row.against}, "
            f"at most {row.limit} was expected"
        )
    slow_sections = [section for section in sections if section.too_slow()]
    for section in slow_sections:
        console.print(
            f"too slow: {section.title} have a geometric mean of {section.geometric_mean():.2f}, "
            f"at most {section.mean_limit} was expected"
        )
    return 1 if slow or slow_sections else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Measures a backend against PyTorch's own CPU, in ratios.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--package", default="torch_acme", help="what to import")
    parser.add_argument("--device", default="acme", help="its device")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=(
            "attributes",
            "operators",
            "models",
            "programs",
            "sweep",
            "fallback",
            "portable",
            "compiled",
            "copies",
            "streams",
            "runtime",
            "kernels",
            "memory",
            "startup",
            "distributed",
            "twin",
            "twin-device",
        ),
        help="parts; none: all",
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row")
    parser.add_argument(
        "--rounds", type=int, default=timing.MIN_ROUNDS, help="of each row, at least; 2 or more"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[4, 1024], help="of the matrices")
    parser.add_argument("--operators", metavar="TEXT", help="of the sweep: names with this in them")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 64], help="of programs")
    parser.add_argument("--mebibytes", type=int, default=256, help="of a copy")
    parser.add_argument(
        "--waited-mebibytes",
        type=int,
        nargs="+",
        choices=list(copies.WAITED),
        default=list(copies.WAITED),
        help="of a copy that is waited for",
    )
    parser.add_argument(
        "--reduced-mebibytes", type=int, choices=(1, 4, 16, 64), default=64, help="of an all_reduce"
    )
    parser.add_argument("--processes", type=int, default=9, help="that measure imports")
    parser.add_argument("--build", action="store_true", help="build new projects too")
    parser.add_argument("--save", metavar="NAME", help="write results/<torch>-NAME.json and .md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
