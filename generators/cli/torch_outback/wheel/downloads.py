"""How much pip will download: the sizes of the files in its report."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 20  # for an answer
_AT_ONCE = 8


@dataclass(frozen=True)
class Download:
    name: str  # "torch 2.15.0"
    size: int | None  # bytes; None where nobody says


def of(report: Sequence[Mapping]) -> list[Download]:
    """The largest first."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(_download, report))
    return sorted(found, key=lambda it: (-(it.size or 0), it.name))


def sentence(downloads: Sequence[Download]) -> str:
    """With what pip has in its cache: "26 files, 3.1 GB, of which torch 2.15.0 is 0.5 GB"."""
    total = sum(it.size or 0 for it in downloads)
    unknown = sum(it.size is None for it in downloads)
    text = f"{len(downloads)} files, {shown(total)}"
    if unknown:
        text += f" and {unknown} of unknown size"
    torch = next((it for it in downloads if it.name.startswith("torch ")), None)
    if torch is not None and torch.size is not None:
        text += f", of which {torch.name} is {shown(torch.size)}"
    return text


def shown(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _download(entry: Mapping) -> Download:
    name = f"{entry['metadata']['name']} {entry['metadata']['version']}"
    return Download(name, _size(entry["download_info"]["url"]))


def _size(url: str) -> int | None:
    parts = urllib.parse.urlsplit(url)
    try:
        if parts.scheme == "file":
            return Path(urllib.request.url2pathname(parts.path)).stat().st_size
        if parts.scheme not in ("http", "https"):
            return None
        request = urllib.request.Request(url, method="HEAD")
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return int(answer.headers["Content-Length"])
    except (OSError, TypeError, ValueError):  # urllib's own errors are OSErrors
        return None
