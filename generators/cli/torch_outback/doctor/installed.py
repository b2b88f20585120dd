"""What is installed for this Python, as its files say it: nothing is imported here."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

GROUP = "torch.backends"  # of entry points, which `import torch` calls


@dataclass(frozen=True)
class Backend:
    """`value` is that of the entry point; "" for a package of Outback's that has none."""

    name: str
    value: str
    distribution: str = ""  # its name and version
    torch_wanted: str = ""  # what its metadata requires: ==2.13.*
    folder: Path | None = None  # of its package, where that can be found
    # The extension modules for each minor release of torch, "2.13", of an Outback's backend.
    halves: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_there: bool = True  # whether the module of the entry point can be found

    @property
    def of_outback(self) -> bool:
        return bool(self.halves)

    @property
    def device(self) -> str:
        """As far as its name says."""
        return self.name.removeprefix("torch_")

    @property
    def stands_on_cuda(self) -> bool:
        return self.of_outback and self.value.endswith(":load")

    @property
    def package(self) -> str:
        """What a program imports."""
        return self.folder.name if self.folder else self.name


@dataclass(frozen=True)
class Installed:
    torch_folder: Path | None = None  # None: there is no torch, or only an empty folder
    torch_version: str = ""
    torch_distributions: tuple[str, ...] = ()  # the versions that pip knows, one as a rule
    backends: tuple[Backend, ...] = ()
    broken: tuple[str, ...] = field(default=())  # distributions whose metadata cannot be read


def look() -> Installed:
    folder = _torch_folder()
    seen: dict[str, str] = {}  # distributions, and the folder that has them
    torch_versions, found, broken = [], [], []
    for distribution in importlib.metadata.distributions():
        place = str(getattr(distribution, "_path", ""))
        concerns_torch = Path(place).name.startswith("torch")
        try:
            points = [it for it in distribution.entry_points if it.group == GROUP]
            concerns_torch = concerns_torch or bool(points)
            name = distribution.metadata["Name"]
            if name is None:
                if concerns_torch:
                    broken.append(f"{place} does not say which package it is of")
                continue
            name = re.sub(r"[-_.]+", "-", name).lower()
            first = seen.setdefault(name, str(Path(place).parent))
            # The first on the path hides those of other folders, and none of its own.
            if name == "torch" and first == str(Path(place).parent):
                torch_versions.append(distribution.version)
            if first == str(Path(place).parent):
                found += [_of_entry_point(distribution, point) for point in points]
        except Exception as error:  # of a package that is broken in any way
            if concerns_torch:
                broken.append(f"{place}: {type(error).__name__}: {error}")
    found += _without_entry_points({it.package for it in found})
    return Installed(
        folder,
        _torch_version(folder),
        tuple(torch_versions),
        tuple(found),
        tuple(broken),
    )


def _torch_folder() -> Path | None:
    spec = _spec("torch")
    return Path(spec.origin).parent if spec and spec.origin else None


def _torch_version(folder: Path | None) -> str:
    try:
        text = (folder / "version.py").read_text(encoding="utf-8") if folder else ""
    except OSError:
        return ""
    found = re.search(r"^__version__ = ['\"](.*)['\"]$", text, re.MULTILINE)
    return found.group(1) if found else ""


def _of_entry_point(
    distribution: importlib.metadata.Distribution, point: importlib.metadata.EntryPoint
) -> Backend:
    module = point.value.partition(":")[0].strip()
    folder = _folder_of(point.name) or _folder_of(module.partition(".")[0])
    wanted = [
        re.sub(r"^torch\b[\s(]*|[)\s]", "", text.partition(";")[0])
        for text in distribution.requires or ()
        if re.match(r"torch\b(?![-_.])", text) and "extra ==" not in text
    ]
    return Backend(
        point.name,
        point.value,
        f"{distribution.metadata['Name']} {distribution.version}",
        wanted[0] if wanted else "",
        folder,
        _halves(folder),
        _spec(module.partition(".")[0]) is not None,
    )


def _without_entry_points(known: set[str]) -> list[Backend]:
    """Packages that Outback's CMake has made, whose wheel was not installed as a whole."""
    found: dict[str, Backend] = {}
    for place in sys.path:
        for half in Path(place).glob("*/_half") if place else ():
            folder = half.parent
            if folder.name not in known | found.keys() and (halves := _halves(folder)):
                found[folder.name] = Backend(folder.name, "", folder=folder, halves=halves)
    return list(found.values())


def _spec(name: str) -> importlib.machinery.ModuleSpec | None:
    """Of a module that is no part of a package: those that are would import the package."""
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def _folder_of(name: str) -> Path | None:
    spec = _spec(name) if name.isidentifier() else None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def _halves(folder: Path | None) -> dict[str, tuple[str, ...]]:
    """Of a package of Outback's, in the order of torch's releases."""
    found = {}
    for half in folder.glob("_half/torch-*") if folder else ():
        if re.fullmatch(r"torch-\d+\.\d+", half.name):
            modules = sorted(file.name for file in half.glob("_C*.so"))
            found[half.name.removeprefix("torch-")] = tuple(modules)
    return dict(sorted(found.items(), key=lambda it: tuple(map(int, it[0].split(".")))))


def fits_this_python(extension: str) -> bool:
    """Whether this Python would import a file of that name."""
    stem = extension.partition(".")[0]
    return extension in {f"{stem}{suffix}" for suffix in importlib.machinery.EXTENSION_SUFFIXES}


def own_suffix() -> str:
    return str(sysconfig.get_config_var("EXT_SUFFIX"))
