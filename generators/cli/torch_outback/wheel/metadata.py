"""What a merged wheel says of itself: which torches it needs, and which Pythons it is for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

from .layout import numbers

_REQUIRES = re.compile(r"^Requires-Dist: *(.*?)\r?$", re.MULTILINE)
_BUILD = re.compile(r"^Build: *(\S+)\r?$", re.MULTILINE)
_TAG = re.compile(r"^Tag: *(\S+)-(\S+)-(\S+)\r?$", re.MULTILINE)


def torch_specifier(torches: Sequence[str]) -> str:
    """Of minor releases: "!=2.12.*,<2.14,>=2.11" for 2.11 and 2.13, in `packaging`'s order.

    They have one major number: what Outback supports.
    """
    there = sorted(map(numbers, torches))
    (major, oldest), (_, newest) = there[0], there[-1]
    if oldest == newest:
        return f"=={major}.{oldest}.*"
    gaps = [minor for minor in range(oldest, newest) if (major, minor) not in there]
    parts = [f">={major}.{oldest}", f"<{major}.{newest + 1}"]
    return str(SpecifierSet(",".join(parts + [f"!={major}.{minor}.*" for minor in gaps])))


def with_torches(metadata: str, torches: Sequence[str]) -> str:
    """METADATA whose requirement of torch is these minor releases. Those of extras stay. None has
    the address of a file, as `outback new --toolkit` gives torch-outback: it is of this machine."""
    wanted = SpecifierSet(torch_specifier(torches))

    def changed(match: re.Match[str]) -> str:
        requirement = _requirement(match[1])
        if requirement is None:
            return match[0]
        if needs_torch(requirement):
            requirement.specifier, requirement.url = wanted, None  # an address is of one torch
        elif requirement.url and requirement.url.startswith("file:"):
            requirement.url = None
        else:
            return match[0]
        return f"Requires-Dist: {requirement}"

    headers, line, body = metadata.partition("\n\n")
    return _REQUIRES.sub(changed, headers) + line + body


def requirements(metadata: str) -> list[Requirement]:
    """What an installer installs beside the wheel, without extras."""
    headers = metadata.partition("\n\n")[0]
    found = [_requirement(text) for text in _REQUIRES.findall(headers)]
    return [it for it in found if it is not None and not _is_of_extra(it)]


def needs_torch(requirement: Requirement) -> bool:
    return requirement.name.lower() == "torch" and not _is_of_extra(requirement)


def _is_of_extra(requirement: Requirement) -> bool:
    return "extra" in str(requirement.marker or "")


def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:  # for the installer to say
        return None


# ---- Tags


def tags(wheel: str) -> list[tuple[str, str, str]]:
    """Of the file WHEEL: ("cp311", "cp311", "linux_x86_64")."""
    return _TAG.findall(wheel)


def build_tag(wheel: str) -> list[str]:
    """Of the file WHEEL: none, or one, which wheels of one version are ordered by."""
    return _BUILD.findall(wheel)[:1]


def with_tags(wheel: str, python: Iterable[str], abi: Iterable[str], platform: str) -> str:
    """The file WHEEL with these: each Python with each ABI, as the compressed name means it. Those
    that make no sense, cp311-cp312, fit no installer."""
    abis = list(abi)
    platforms = platform.split(".")
    lines = [f"Tag: {one}-{other}-{it}\n" for one in python for other in abis for it in platforms]
    kept = "".join(
        f"{line}\n" for line in wheel.splitlines() if line and not line.startswith("Tag:")
    )
    return kept + "".join(lines)


def parts(tags: Sequence[tuple[str, str, str]]) -> tuple[list[str], list[str], list[str]]:
    """The Pythons, the ABIs and the platforms, each once: what a compressed name has."""
    pythons, abis, platforms = (list(dict.fromkeys(part)) for part in zip(*tags, strict=True))
    return pythons, abis, platforms


def by_release(names: Iterable[str]) -> list[str]:
    """cp39 before cp311, each once."""
    return sorted(set(names), key=lambda it: (*map(int, re.findall("[0-9]+", it)), it))
