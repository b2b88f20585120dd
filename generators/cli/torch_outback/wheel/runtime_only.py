"""--runtime-only: a merged wheel with another runtime and other Python sources, and its halves."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from .. import toolkit
from ..conformance.running import interpreter
from ..refused import Refused
from . import archive, compiling, environment, layout, making, manifest, metadata, trying
from .archive import Wheel
from .environment import Environment
from .making import Request, Say
from .wanted import Half, own_python


def replace(request: Request, say: Say) -> Path:
    """The path of the new wheel. Raises Refused."""
    file, there = _newest(request)
    document = manifest.read(there, file.name)
    work = request.work / "runtime.part"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    say(f"compiling the runtime, to replace that of {file}")
    try:
        here = Environment(interpreter.path())
        built = compiling.wheel(
            request.project, here, work, request.work / "runtime.log", without_torch=True
        )
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if (which := _of_another_outback(there, built.wheel, document)) is not None:
        raise Refused(
            f"the halves of {file} were made with {which}, and this is torch-outback "
            f"{toolkit.version()}: make the whole wheel again"
        )
    made = _with_halves(there, built.wheel)
    say(_tested(made))
    torches = manifest.compiled_against(document)
    return making.put(request, made, torches)


def _of_another_outback(there: Wheel, built: Wheel, document: Mapping[str, Any]) -> str | None:
    """Its name: the Python file that loads a half, and calls it, is this Outback's then."""
    if document["outback"] != toolkit.version():
        return f"torch-outback {document['outback']}"
    loading = f"{layout.package(there.files)}/_loading.py"
    same = there.files.get(loading) == built.files.get(loading)
    return None if same else "other sources of torch-outback"


def _newest(request: Request) -> tuple[Path, Wheel]:
    """The wheel of the project that outback wheel made last. Raises Refused where there is none."""
    name = canonicalize_name(request.project.name)
    found = [it for it in request.out.glob("*.whl") if _project_of(it) == name]
    for file in sorted(found, key=lambda it: it.stat().st_mtime, reverse=True):
        wheel = archive.read(file)
        if manifest.is_in(wheel):
            return file, wheel
    others = f"; {', '.join(sorted(it.name for it in found))} was made otherwise" if found else ""
    raise Refused(
        f"--runtime-only replaces the runtime in a wheel that outback wheel made, and "
        f"{request.out} has none of {name}{others}: make one first, or name its folder by --out"
    )


def _project_of(file: Path) -> str:
    """ "" for what is no wheel's name."""
    try:
        return parse_wheel_filename(file.name)[0]
    except InvalidWheelFilename:
        return ""


def _with_halves(there: Wheel, built: Wheel) -> Wheel:
    """What `built` has, the halves of `there`, and its Pythons and torches. The platform is found
    again, as another runtime may need a newer system."""
    halves = {path: content for path, content in there.files.items() if layout.torch_of(path)}
    # What auditwheel has copied for the halves' sake.
    copied = {path: content for path, content in there.files.items() if layout.is_copied(path)}
    if extra := [path for path in built.files if layout.torch_of(path)]:
        raise Refused(f"the project's build made {extra[0]} without a torch")
    pythons, abis, _ = metadata.parts(metadata.tags(there.text("WHEEL")))
    platform = metadata.tags(built.text("WHEEL"))[0][2]
    texts = {
        "METADATA": metadata.with_torches(built.text("METADATA"), layout.torches(halves)),
        "WHEEL": metadata.with_tags(built.text("WHEEL"), pythons, abis, platform),
    }
    info = built.dist_info
    own = {f"{info}/{name}": text.encode("utf-8") for name, text in texts.items()}
    files = {**copied, **built.files, **halves, **own}
    return dataclasses.replace(built, files=files, programs=built.programs | there.programs)


def _tested(made: Wheel) -> str:
    """By the torch of this Python, if the wheel has its half."""
    here = Environment(interpreter.path())
    torch = manifest.minor(here.torch())
    half = Half(torch, own_python())
    modules = [path for path in made.files if layout.is_module(path)]
    if any(layout.torch_of(path) == torch and environment.imports(path) for path in modules):
        return f"{half}: {trying.half(made, torch, here, str(half))}"
    return f"not tested: this Python has no torch of {', '.join(layout.torches(made.files))}"
