"""What a device may be called: the rules of registration/name.cpp, and its list of taken names.

A test holds both to the same words.
"""

import functools
import re
from pathlib import Path

from . import toolkit

TAKEN = toolkit.tree() / "registration/taken_names.txt"
_LONGEST = 32


def problem(name: str) -> str:
    """Why `name` cannot be a device's name; "" when it can."""
    if not name:
        return 'it is empty; expected lower-case letters and underscores, such as "acme"'
    for character in name:
        if re.match("[a-z_]", character):
            continue
        if re.match("[A-Z]", character):
            return "upper-case letters are not allowed, torch lowers them in C++ only"
        if re.match("[0-9]", character):
            return "digits are not allowed, torch.device cannot parse them"
        return (
            "only lower-case letters and underscores are allowed, torch.device cannot parse "
            "anything else"
        )
    if len(name) > _LONGEST:
        return f"it has {len(name)} characters, at most {_LONGEST} are allowed"
    if name.startswith("_") or name.endswith("_"):
        return "it must begin and end with a letter"
    if why := _why_taken().get(name):
        return f"{why.replace('*', name)}; choose another"
    if name.startswith("mps"):
        return 'torch.load takes every device that begins with "mps" for Apple\'s'
    if name == "outback" or name.startswith("outback_"):
        return "it is the toolkit's own, whose package is torch_outback; choose another"
    return ""


def package_problem(name: str) -> str:
    """Why a project for the device `name` cannot be made; "" when it can. Whoever publishes the
    package may call its device so: only `outback new` asks."""
    if name not in _published():
        return ""
    return f"there is a package torch_{name} of others', which a project of that name would hide"


@functools.cache
def _published() -> set[str]:
    lines = Path(__file__).with_name("published_packages.txt").read_text(encoding="utf-8")
    return {name for line in lines.splitlines() if line[:1] != "#" for name in line.split()}


def refusal(name: str) -> str:
    """As the registration refuses `name`, which is no device's name."""
    return f'"{name}" cannot be a device\'s name: {problem(name)}'


def respelled(name: str) -> str:
    """`name` in the letters that are allowed, where that can be a device's name; else ""."""
    letters = _letters(name)
    return "" if problem(letters) else letters


def suggestion(name: str) -> str:
    """A name like `name` that can be a device's."""
    letters = _letters(name)
    for candidate in (letters, f"my_{letters}"):
        if not problem(candidate) and not package_problem(candidate):
            return candidate
    return "acme"


def _letters(name: str) -> str:
    return re.sub("[^a-z_]+", "_", name.lower()).strip("_")[: _LONGEST - 4].strip("_")


def taken() -> dict[str, list[str]]:
    """The list: names by why they are taken, where * stands for the name."""
    groups = re.findall(r"^(\S.*)\n((?: .*\n)+)", TAKEN.read_text(encoding="utf-8"), re.MULTILINE)
    return {why: group.split() for why, group in groups}


@functools.cache
def _why_taken() -> dict[str, str]:
    return {name: why for why, group in taken().items() for name in reversed(group)}
