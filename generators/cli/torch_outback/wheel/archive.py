"""A wheel as its files: read, and written so that the same files always make the same bytes."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from ..refused import Refused

_OLDEST = (1980, 1, 1, 0, 0, 0)  # that a zip file can say
_REGULAR = 0o100000


@dataclass(frozen=True)
class Wheel:
    """`files` has the contents by their paths in site-packages."""

    files: Mapping[str, bytes]
    programs: frozenset[str] = frozenset()  # those of the paths that may be executed

    @property
    def dist_info(self) -> str:
        """The folder of the metadata: "torch_acme-0.1.0.dist-info". Raises Refused."""
        # Not those of packages that a package brings along, further down.
        paths = [PurePosixPath(path).parts for path in self.files]
        found = {it[0] for it in paths if it[0].endswith(".dist-info") and it[1:] == ("WHEEL",)}
        if len(found) != 1:
            raise Refused(f"expected one folder .dist-info in the wheel, not {len(found)}")
        return found.pop()

    def text(self, name: str) -> str:
        """Of a file of the metadata: "METADATA"."""
        return self.files[f"{self.dist_info}/{name}"].decode("utf-8")


def read(path: Path) -> Wheel:
    """Raises Refused for a file that is no wheel."""
    try:
        parse_wheel_filename(path.name)
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            files = {entry.filename: archive.read(entry) for entry in entries}
    except InvalidWheelFilename as error:
        raise Refused(f"{path} is no wheel: {error}") from None
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise Refused(f"{path} cannot be read as a wheel: {error}") from None
    for name in files:
        if name.startswith("/") or ".." in PurePosixPath(name).parts:
            raise Refused(f"{path} is no wheel: it has a file {name!r}, outside of its folder")
    wheel = Wheel(files, frozenset(it.filename for it in entries if it.external_attr >> 16 & 0o111))
    missing = [it for it in ("METADATA", "WHEEL") if f"{wheel.dist_info}/{it}" not in files]
    if missing:
        raise Refused(f"{path} is no wheel: it has no {wheel.dist_info}/{missing[0]}")
    return wheel


def write(wheel: Wheel, path: Path) -> None:
    """With a new RECORD. The file is there as a whole, or not at all."""
    record = f"{wheel.dist_info}/RECORD"
    files = {name: content for name, content in wheel.files.items() if name != record}
    # The installer reads the metadata last, and pip's advice is to put it at the end.
    names = sorted(files, key=lambda name: (name.startswith(f"{wheel.dist_info}/"), name))
    new = path.with_name(f"{path.name}.new")
    try:
        with zipfile.ZipFile(new, "w") as archive:
            for name in [*names, record]:
                content = files[name] if name in files else _record(names, files, record)
                _add(archive, name, content, name in wheel.programs)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def unpack(wheel: Wheel, folder: Path) -> None:
    """As an installer would, into a folder that is to be on sys.path."""
    for name, content in wheel.files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _add(archive: zipfile.ZipFile, name: str, content: bytes, is_program: bool) -> None:
    """Without what differs from one build to the next: times, the umask, the system."""
    entry = zipfile.ZipInfo(name, date_time=_OLDEST)
    entry.create_system = 3  # Unix
    entry.external_attr = (_REGULAR | (0o755 if is_program else 0o644)) << 16
    archive.writestr(entry, content, zipfile.ZIP_DEFLATED, compresslevel=9)


def _record(names: list[str], files: Mapping[str, bytes], record: str) -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for name in names:
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=")
        rows.writerow([name, f"sha256={digest.decode()}", len(files[name])])
    rows.writerow([record, "", ""])
    return text.getvalue().encode("utf-8")


def check_folder(folder: Path) -> None:
    """Raises Refused where no file can be put into `folder`, which is made where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".outback-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise Refused(f"{folder} cannot be written to: {error.strerror}") from None
