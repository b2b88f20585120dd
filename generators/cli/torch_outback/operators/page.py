"""A document as a page: one file that holds everything and asks nothing of a network."""

from __future__ import annotations

from pathlib import Path

import jinja2
import markupsafe

from .. import conformance
from . import rendering
from .document import Document
from .gain import DeviceModel, gains

_TEMPLATE = Path(__file__).with_name("page.html.jinja")
_MOST = 50  # kernels to write next


def text(document: Document, model: DeviceModel) -> str:
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["milliseconds"] = rendering.milliseconds
    environment.filters["size"] = rendering.size
    rows = [row for row in document.operators if row.served != "elsewhere"]
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        document=document,
        model=model,
        gains=[it for it in gains(document, model) if it.gain_ns > 0][:_MOST],
        rows=rows,
        longest=max((row.own_ns for row in rows), default=0) or 1,
        shares=rendering.shares(document),
        copied=rendering.copied(document),
        waits=f"{rendering.waits(document):,}",
        waited=rendering.milliseconds(rendering.waited_ns(document)),
        style=_style(),
    )


def _style() -> markupsafe.Markup:
    """That of the conformance report."""
    folder = Path(conformance.__file__).parent / "report/page"
    return markupsafe.Markup((folder / "page.css").read_text(encoding="utf-8"))
