"""The steps as lines, and in a terminal the present one with a sign that it goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import click


@contextlib.contextmanager
def shown() -> Iterator[Callable[[str], None]]:
    """What says a step. Without rich, which an extra of torch-outback brings, the lines alone."""
    try:
        from rich.console import Console
        from rich.markup import escape
    except ImportError:
        yield click.echo
        return
    console = Console()
    if not console.is_terminal:
        yield click.echo
        return
    with console.status("") as status:

        def say(step: str) -> None:
            console.print(step, markup=False, highlight=False)
            status.update(f"[dim]{escape(step)} ...")

        yield say
