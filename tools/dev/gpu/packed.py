"""What ./dev gpu --pack has put into .pack, which git ignores, and how it is used from there."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..paths import ROOT

# CMake's names for the libraries of Debian, and what proves that a system has them.
LIBRARIES = {
    "fmt": ("fmt/core.h", ("libfmt-dev",)),
    "GTest": ("gmock/gmock.h", ("libgtest-dev", "libgmock-dev")),
    "benchmark": ("benchmark/benchmark.h", ("libbenchmark-dev",)),
}


@dataclass(frozen=True)
class Pack:
    folder: Path = ROOT / ".pack"

    @property
    def prefix(self) -> Path:
        """As /usr on the machine that it comes from."""
        return self.folder / "usr"

    @property
    def cuda(self) -> Path:
        return self.folder / "cuda"

    @property
    def python(self) -> Path:
        """A folder for each distribution, so that one is used only where there is no other."""
        return self.folder / "python"

    @property
    def digits(self) -> Path:
        return self.folder / "digits.csv.gz"

    @property
    def contents(self) -> Path:
        return self.folder / "contents.json"

    def config(self, library: str) -> Path | None:
        """The folder of the file that CMake's find_package(library) reads."""
        for name in (f"{library}Config.cmake", f"{library.lower()}-config.cmake"):
            for file in self.prefix.glob(f"lib/**/{name}"):
                return file.parent
        return None

    def definitions(self) -> list[str]:
        """For CMake. Named one by one, since not every system looks in lib/<architecture>."""
        found = {library: self.config(library) for library in LIBRARIES}
        return [f"{library}_DIR={folder}" for library, folder in found.items() if folder]

    def distributions(self) -> dict[str, dict[str, str]]:
        """By name: version, module, and for what is compiled the Python that it is for."""
        if not self.contents.exists():
            return {}
        return json.loads(self.contents.read_text())["python"]

    def lacking(self, has: Callable[[str], bool]) -> dict[str, Path]:
        """By module, the folders of what Python lacks otherwise and can take from here."""
        return {
            about["module"]: self.python / name
            for name, about in self.distributions().items()
            if about["for"] in ("any", sys.implementation.cache_tag) and not has(about["module"])
        }


def joined(*paths: str | os.PathLike | None) -> str:
    return os.pathsep.join(os.fspath(path) for path in paths if path)
