"""The files of one release of torch: of a wheel, or of the folder where it is installed."""

from __future__ import annotations

import abc
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from ..refused import Refused

_VERSION = re.compile(r"^__version__\s*(?::[^=]*)?=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)
_VERSION_FILE = "torch/version.py"
INCLUDE = "torch/include/"


class Release(abc.ABC):
    """Paths are as in a wheel: "torch/include/c10/core/Allocator.h", "torchgen/model.py"."""

    def __init__(self, place: str) -> None:
        self.place = place  # as it was given
        self.version = ""
        self._texts: dict[str, str] = {}

    @property
    @abc.abstractmethod
    def paths(self) -> set[str]:
        """Of all headers, Python files, stubs of types and YAML files."""

    @abc.abstractmethod
    def data(self, path: str) -> bytes:
        """Of one of the paths. Refused where the file cannot be read."""

    @abc.abstractmethod
    def checksum(self, path: str) -> int:
        """The CRC-32 of the data, so that files of a wheel and of a folder compare."""

    def text(self, path: str) -> str:
        """Headers stay in memory, since several sections read them."""
        if path in self._texts:
            return self._texts[path]
        text = self.data(path).decode(errors="replace").replace("\r\n", "\n")
        if path.startswith(INCLUDE):
            self._texts[path] = text
        return text

    def has(self, path: str) -> bool:
        return path in self.paths

    def headers(self) -> Iterator[str]:
        return (it for it in sorted(self.paths) if it.startswith(INCLUDE))

    def python_files(self) -> Iterator[str]:
        return (it for it in sorted(self.paths) if it.startswith("torch/") and it.endswith(".py"))


def _is_read(path: str) -> bool:
    if path.startswith(INCLUDE):
        return path.endswith((".h", ".hpp", ".cuh", ".inc"))
    return path.startswith(("torch/", "torchgen/")) and path.endswith((".py", ".pyi", ".yaml"))


class _Wheel(Release):
    def __init__(self, place: str, file: Path) -> None:
        super().__init__(place)
        try:
            self._zip = zipfile.ZipFile(file)
            infos = self._zip.infolist()
        except (zipfile.BadZipFile, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else "not a whole zip file"
            raise Refused(f"{place} is no wheel that can be read: {why}") from None
        self._infos = {it.filename: it for it in infos if _is_read(it.filename)}

    @property
    def paths(self) -> set[str]:
        return set(self._infos)

    def has(self, path: str) -> bool:
        return path in self._infos

    def data(self, path: str) -> bytes:
        try:
            return self._zip.read(self._infos[path])
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError) as error:
            raise Refused(f"{self.place}: {path} in it cannot be read: {error}") from None

    def checksum(self, path: str) -> int:
        return self._infos[path].CRC


class _Folder(Release):
    """Of the folder that has torch/ and torchgen/ in it, as site-packages has."""

    def __init__(self, place: str, folder: Path) -> None:
        super().__init__(place)
        self._folder = folder
        self._paths = {
            path
            for part in ("torch", "torchgen")
            for it in (folder / part).rglob("*")
            if _is_read(path := it.relative_to(folder).as_posix())
        }

    @property
    def paths(self) -> set[str]:
        return self._paths

    def data(self, path: str) -> bytes:
        try:
            return (self._folder / path).read_bytes()
        except OSError as error:
            raise Refused(f"{self._folder / path} cannot be read: {error.strerror}") from None

    def checksum(self, path: str) -> int:
        return zlib.crc32(self.data(path))


def read(place: str) -> Release:
    """PLACE is a wheel, a folder with torch/ in it, torch/ itself, a virtual environment, or an
    environment's Python. Refused where there is no torch."""
    path = Path(place)
    if path.is_file() and not (path.parent.name == "bin" and path.name.startswith("python")):
        release: Release = _Wheel(place, path)
    elif path.exists():
        release = _Folder(place, _folder_of_torch(place, path))
    else:
        raise Refused(f"{place} does not exist: expected a wheel of torch, or a folder with torch")
    if not release.has(_VERSION_FILE):
        raise Refused(f"{place} is no torch: it has no {_VERSION_FILE}")
    found = _VERSION.search(release.text(_VERSION_FILE))
    if found is None:
        raise Refused(f"{place} is no torch: its {_VERSION_FILE} has no __version__")
    release.version = found.group(1)
    if not any(release.headers()):
        raise Refused(f"{place}: torch {release.version} there has no headers in {INCLUDE}")
    return release


def _folder_of_torch(place: str, path: Path) -> Path:
    if (path / "version.py").is_file() and path.name == "torch":
        return path.parent
    if (path / _VERSION_FILE).is_file():
        return path
    environment = path.parent.parent if path.is_file() else path
    for site in _site_folders(environment):
        if (site / _VERSION_FILE).is_file():
            return site
    raise Refused(
        f"{place}: there is no torch: expected a wheel of torch, a folder with torch/ in it, or a "
        f"virtual environment that has torch"
    )


def _site_folders(environment: Path) -> Iterator[Path]:
    """With the folders that the environment's .pth files name."""
    for pattern in ("lib*/python3*/site-packages", "lib*/python3*/dist-packages"):
        for site in sorted(environment.glob(pattern)):
            yield site
            for file in sorted(site.glob("*.pth")):
                for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                    if line.startswith("/"):
                        yield Path(line.strip())


def is_older(first: Release, second: Release) -> bool | None:
    """Whether `first` is before `second`; None where a version is no version as PEP 440 has it.
    What follows a + is left out: it names a build, not a release."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(first.version.split("+")[0]) < Version(second.version.split("+")[0])
    except InvalidVersion:
        return None
