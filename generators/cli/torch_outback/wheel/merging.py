"""One wheel of several: the union of their files, with the torches and Pythons that are in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from packaging.utils import parse_wheel_filename

from ..refused import Refused
from . import layout, metadata
from .archive import Wheel

NO_TORCH = 'the project does not require torch: put it into "dependencies"'
_OWN = ("METADATA", "RECORD", "WHEEL")  # of each wheel


@dataclass(frozen=True)
class Single:
    """A wheel with one half; its name is that of its file."""

    name: str
    wheel: Wheel


def merge(singles: Sequence[Single]) -> Wheel:
    """Of one project, for one platform. A library of the runtime is the first one's, as it has no
    torch in it. Raises Refused where any other file differs.
    """
    first = singles[0]
    files: dict[str, bytes] = {}
    owner: dict[str, str] = {}
    for single in singles:
        if single.wheel.dist_info != first.wheel.dist_info:
            raise Refused(
                f"{single.name} and {first.name} are of different releases of the project: "
                f"{single.wheel.dist_info} and {first.wheel.dist_info}; remove the folder "
                f"of --work, build/outback-wheel, and run it again"
            )
        own = {f"{single.wheel.dist_info}/{name}" for name in _OWN}
        for path, content in single.wheel.files.items():
            if path in own:
                continue
            there = files.setdefault(path, content)
            owner.setdefault(path, single.name)
            # What has no Python in it is in the wheels of all Pythons.
            if there != content and not layout.is_library(path):
                raise Refused(
                    f"{path} differs in {owner[path]} and in {single.name}: what is written in "
                    f"Python has to be the same for each torch"
                )
            if there != content and layout.needs_torch(path, content):
                raise Refused(
                    f"{path} needs torch, and differs in {owner[path]} and in {single.name}: only "
                    f"SOURCES of outback_add_backend() have a place for each torch"
                )
            if there != content and layout.is_module(path):
                raise Refused(f"{owner[path]} and {single.name} are for the same torch and Python")
    info = first.wheel.dist_info
    files[f"{info}/METADATA"] = _metadata(singles, layout.torches(files))
    files[f"{info}/WHEEL"] = _with_all_tags(singles).encode("utf-8")
    programs = frozenset().union(*(single.wheel.programs for single in singles))
    return Wheel(files, programs & files.keys())


def _metadata(singles: Sequence[Single], torches: Sequence[str]) -> bytes:
    """The same of all, but for the torch."""
    texts = {metadata.with_torches(it.wheel.text("METADATA"), torches) for it in singles}
    if len(texts) != 1:
        raise Refused(
            "the metadata of the wheels differs in more than the release of torch: what "
            "pyproject.toml says may depend on nothing else"
        )
    text = texts.pop()
    if not any(map(metadata.needs_torch, metadata.requirements(text))):
        raise Refused(NO_TORCH)
    return text.encode("utf-8")


def _with_all_tags(singles: Sequence[Single]) -> str:
    found = [tag for it in singles for tag in metadata.tags(it.wheel.text("WHEEL"))]
    platforms = {platform for _, _, platform in found}
    if len(platforms) != 1:
        raise Refused(f"the wheels are for different platforms: {', '.join(sorted(platforms))}")
    return metadata.with_tags(
        singles[0].wheel.text("WHEEL"),
        metadata.by_release(python for python, _, _ in found),
        metadata.by_release(abi for _, abi, _ in found),
        platforms.pop(),
    )


def file_name(wheel: Wheel) -> str:
    """By its metadata: torch_acme-0.1.0-cp311.cp312-cp311.cp312-manylinux_2_34_x86_64.whl."""
    text = wheel.text("WHEEL")
    tags = [".".join(part) for part in metadata.parts(metadata.tags(text))]
    first = wheel.dist_info.removesuffix(".dist-info")
    name = "-".join([first, *metadata.build_tag(text), *tags]) + ".whl"
    parse_wheel_filename(name)
    return name
