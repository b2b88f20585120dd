"""What `outback wheel` does: a wheel for each half, one after the other, and one of all of them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import cache_key, cache_lock, variables
from ..refused import Refused
from . import (
    archive,
    compiling,
    downloads,
    environment,
    manifest,
    merging,
    repairing,
    sources,
    trying,
)
from .archive import Wheel
from .environment import Environment
from .merging import Single
from .project import Project
from .sources import Sources
from .wanted import Half

Say = Callable[[str], None]
_RECORD = "finished.json"  # of a half
_MOST = 3  # files that an error names


@dataclass(frozen=True)
class Request:
    """`sources` are the project's when the command began: the wheel is made of these."""

    project: Project
    sources: Sources
    halves: Sequence[Half]
    pythons: Mapping[str, Path]
    out: Path
    work: Path
    repair: bool


def check(request: Request) -> None:
    """All that can be known before minutes have passed. Raises Refused."""
    environment.check_pip()
    if not request.project.may_require_torch:
        raise Refused(merging.NO_TORCH)
    compiling.check_tools()
    if request.repair:
        repairing.check()
    archive.check_folder(request.out)
    archive.check_folder(request.work)


@contextlib.contextmanager
def alone(work: Path) -> Iterator[None]:
    """Raises Refused where another command works there."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(cache_lock.hold(work, "wheel", wait=False))
        except BlockingIOError:
            raise Refused(
                f"another outback wheel works in {work}: wait for it, or --work"
            ) from None
        yield


def sources_of(project: Project, out: Path, work: Path) -> Sources:
    return sources.read(project.folder, (out, work), project.has_dynamic_version)


def needed(request: Request, say: Say) -> list[Half]:
    """The halves that are not finished."""
    missing = []
    for half in request.halves:
        if _finished(_folder(request, half), _key(request, half)) is None:
            missing.append(half)
        else:
            say(f"{half}: made already")
    return missing


def planned(request: Request, halves: Sequence[Half], say: Say) -> list[Half]:
    """Says what will be downloaded for these; those for which anything will be."""
    fetched = []
    for half in halves:
        wanted = _packages(request, half)
        if own := environment.own(half, wanted):
            say(f"{half}: compiled against torch {own.torch()} of {own.python}")
            continue
        work = _scratch(request, half)
        try:
            made = environment.make(request.pythons[half.python], work / "env", work / "pip.log")
            report = environment.plan(made, half, wanted, work / "pip.log")
        finally:
            shutil.rmtree(work, ignore_errors=True)
        say(f"{half}: up to {downloads.sentence(downloads.of(report))}")
        fetched.append(half)
    return fetched


def make_half(request: Request, half: Half, say: Say) -> None:
    """Compiles it, tests it, and keeps its wheel."""
    _check_sources(request)
    start = time.monotonic()
    key, work = _key(request, half), _scratch(request, half)
    try:
        where = environment.own(half, _packages(request, half))
        where = where or _environment(request, half, work, say)
        say(f"{half}: compiling")
        kept = request.work / f"{half.folder}.log"
        made = compiling.wheel(request.project, where, work, kept)
        tested = trying.half(made.wheel, half.torch, where, str(half))
        _keep(_folder(request, half), key, made.name, made.wheel, where.torch())
        kept.unlink(missing_ok=True)  # of an attempt that failed
    finally:
        shutil.rmtree(work, ignore_errors=True)
    say(f"{half}: {tested} ({time.monotonic() - start:.0f} s)")


def merge(request: Request) -> Path:
    """The wheel of all halves, which are finished."""
    singles, torches = [], {}
    for half in request.halves:
        found = _finished(_folder(request, half), _key(request, half))
        if found is None:
            raise Refused(f"{half} is no longer in {request.work}: run it again")
        singles.append(found[0])
        torches[half.torch] = found[1]
    return put(request, merging.merge(singles), torches)


def put(request: Request, merged: Wheel, torches: Mapping[str, str]) -> Path:
    """Repairs it, and writes it to the request's folder."""
    _check_sources(request)
    if request.repair:
        merged = repairing.repaired(merged)
    made = manifest.with_manifest(merged, request.sources.hash, torches)
    path = request.out / merging.file_name(made)
    archive.write(made, path)
    return path


def _check_sources(request: Request) -> None:
    """Raises Refused where they are others than those that the wheel is made of."""
    now = sources_of(request.project, request.out, request.work)
    if names := request.sources.differences(now):
        more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
        raise Refused(
            f"{variables.printable(', '.join(names[:_MOST]))}{more} in {request.project.folder} "
            f"changed since the command began: run it again. A file that is no source has to be "
            f"elsewhere, or ignored by git"
        )


def _environment(request: Request, half: Half, work: Path, say: Say) -> Environment:
    say(f"{half}: installing torch")
    python = request.pythons[half.python]
    made = environment.make(python, work / "env", work / "pip.log")
    environment.fill(made, half, _packages(request, half), work / "pip.log")
    return made


def _packages(request: Request, half: Half) -> list[str]:
    project = request.project
    return environment.packages(half, [*project.build_requirements(), *project.dependencies()])


def _folder(request: Request, half: Half) -> Path:
    return request.work / half.folder


def _scratch(request: Request, half: Half) -> Path:
    """An empty folder; what a killed command has left there is removed."""
    folder = request.work / f"{half.folder}.part"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _key(request: Request, half: Half) -> str:
    """Of all that a half is made of but the release of torch that pip finds."""
    python = request.pythons[half.python]
    parts = (
        request.sources.hash,
        request.sources.release,
        cache_key.hash_of_sources(),
        str(half),
        str(python.resolve()),
        repr(compiling.flags()),
    )
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


# ---- The wheels with one half, kept so that what was interrupted goes on, and a second run makes
# only what has changed


def _finished(folder: Path, key: str) -> tuple[Single, str] | None:
    """The wheel in `folder` and the release of torch that it was compiled against, if it was made
    with this `key` and is whole."""
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        content = (folder / record["wheel"]).read_bytes()
    except (OSError, ValueError, KeyError, TypeError):  # none, or another Outback's
        return None
    if record.get("key") != key or record.get("sha256") != hashlib.sha256(content).hexdigest():
        return None
    return Single(record["wheel"], archive.read(folder / record["wheel"])), record["torch"]


def _keep(folder: Path, key: str, name: str, wheel: Wheel, torch: str) -> None:
    """The record comes last: without it, the folder is not finished."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive.write(wheel, folder / name)
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    record = {"key": key, "wheel": name, "sha256": digest, "torch": torch}
    (folder / _RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
