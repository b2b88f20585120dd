"""What a project was made from: the answers to `outback new`, kept in its .outback/project.json."""

import dataclasses
import datetime
import importlib.util
import json
import re
import subprocess
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from . import names, toolkit, variables
from .refused import Refused

RUNTIMES = ("custom", "host", "cuda", "level_zero", "opencl")
LANGUAGES = ("c++", "c")
LICENSES = ("BSD-3-Clause", "Apache-2.0", "MIT", "none")
_FILE = Path(".outback/project.json")
# As it stands in files of TOML and YAML, and in a shell's double quotes.
_URL = r"(git\+)?(https?|ssh|file)://[^\s\"'`$\\{}]+"


@dataclass(frozen=True)
class Answers:
    name: str
    runtime: str = "custom"
    language: str = "c++"
    license: str = "BSD-3-Clause"
    author: str = ""
    year: int = 0
    torch: str = ""  # the minor release that the project begins with: 2.13
    outback: str = ""  # the minor release that made the project, or brought it up to date: 0.1
    toolkit: str = ""  # the URL that torch-outback comes from; "": the package index

    def check(self) -> None:
        """Raises Refused."""
        if names.problem(self.name):
            instead = names.suggestion(self.name)
            raise Refused(f"{names.refusal(self.name)}. Try: outback new {instead}")
        for what, value, allowed in (
            ("runtime", self.runtime, RUNTIMES),
            ("language", self.language, LANGUAGES),
            ("license", self.license, LICENSES),
        ):
            if value not in allowed:
                raise Refused(f'there is no {what} "{value}": expected {", ".join(allowed)}')
        if self.language == "c" and self.runtime != "custom":
            raise Refused(
                f"--language c is for a runtime of your own, and --runtime {self.runtime} is "
                f"Outback's: leave one of them out"
            )
        if self.toolkit and not re.fullmatch(_URL, self.toolkit):
            raise Refused(
                f"--toolkit {variables.printable(self.toolkit)}: expected a folder with Outback's "
                "sources, a wheel of torch-outback, or a URL that pip takes, such as "
                "git+https://example.org/outback.git"
            )
        if not _is_line(self.author):
            raise Refused(f"the author is one line of text in UTF-8, and not {self.author!a}")

    def completed(self) -> "Answers":
        """With what nobody is asked: the author, the year, and the releases that are there."""
        return dataclasses.replace(
            self,
            author=self.author.strip() or _author() or f"the {self.name} authors",
            year=self.year or datetime.date.today().year,
            torch=self.torch or _installed_torch() or toolkit.NEWEST_TORCH,
            outback=toolkit.minor_version(),
        )

    def requirement(self, extra: str) -> str:
        """What pip is told: torch-outback with this extra, "[conformance]" or ""."""
        if self.toolkit:
            return f"torch-outback{extra} @ {self.toolkit}"
        return f"torch-outback{extra}~={self.outback}.0"

    def save(self) -> str:
        """As text for the project's file."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


def load(project: Path, torch: str = "") -> Answers:
    """Of a project that `outback new` made; with another `torch` where one is given. Raises Refused
    where there is none, and for a torch that no backend can be built against."""
    file = project / _FILE
    try:
        given = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise Refused(f"{project} was not made by outback new: there is no {_FILE} in it") from None
    except (ValueError, RecursionError) as error:
        raise _unreadable(file, f"it is no JSON, {error}") from None
    if not isinstance(given, dict):
        raise _unreadable(file, 'it is no object, {"name": ...}')
    given.setdefault("toolkit", "")  # which the first projects do not have
    known = {field.name: field.type for field in dataclasses.fields(Answers)}
    for key, kind in known.items():
        if key in given and type(given[key]) is not kind:
            what = "a number" if kind is int else "text"
            raise _unreadable(file, f'"{key}" has to be {what}, not {json.dumps(given[key])}')
    for key in ("outback", "torch"):
        if not re.fullmatch(r"[0-9]{1,4}\.[0-9]{1,4}", given.get(key, "0.0")):
            raise _unreadable(file, f'"{key}" has to be a release as 2.13, not "{given[key]}"')
    if torch:
        given["torch"] = _supported(torch, "--torch")
    elif "torch" in given and not _is_there(given["torch"]):
        raise Refused(
            f"{file}: {_unsupported(given['torch'])}: outback update --torch "
            f"{toolkit.NEWEST_TORCH} chooses another"
        )
    version = toolkit.minor_version()
    if _numbers(given.get("outback", "0.0")) > _numbers(version):
        raise Refused(
            f"{project} was made by Outback {given['outback']}, and this is {version}: "
            f"pip install --upgrade torch-outback"
        )
    if unknown := given.keys() - known.keys():
        raise _unreadable(file, f"outback new writes no {_quoted(unknown)}")
    if "name" in given:
        Answers(**given).check()
    if missing := known.keys() - given.keys():  # a default would make it another project
        raise _unreadable(file, f"it has no {_quoted(missing)}")
    return Answers(**given)


def toolkit_url(given: str) -> str:
    """Of what `--toolkit` names: a folder, a wheel, or a URL as it stands. Raises Refused."""
    if "://" in given:
        return given
    path = Path(given)
    is_wheel = path.is_file() and path.name.startswith("torch_outback-") and path.suffix == ".whl"
    if is_wheel or (path / "generators/cli/torch_outback").is_dir():
        return path.resolve().as_uri()
    raise Refused(
        f"--toolkit {variables.printable(given)}: there is no folder with Outback's sources, and "
        "no wheel of torch-outback"
    )


def _supported(torch: str, option: str) -> str:
    if not _is_there(torch):
        raise Refused(f"{option} {variables.printable(torch)}: {_unsupported(torch)}")
    return torch


def _is_there(torch: str) -> bool:
    """A newer one than is supported is not refused where it is installed."""
    return toolkit.supports(torch) or (torch != "" and torch == _installed_torch())


def _unsupported(torch: str) -> str:
    return (
        f"no backend can be built against torch {variables.printable(torch)!r}, expected a release "
        f"from {toolkit.OLDEST_TORCH} to {toolkit.NEWEST_TORCH}, or the one that is installed"
    )


def _unreadable(file: Path, why: str) -> Refused:
    return Refused(f"{file} cannot be read: {why}; take it from the project's history")


def _quoted(keys: set[str]) -> str:
    return ", ".join(f'"{variables.printable(key)}"' for key in sorted(keys))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def file_in(project: Path) -> Path:
    return project / _FILE


def _author() -> str:
    try:
        done = subprocess.run(
            ["git", "config", "user.name"],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
    except OSError:
        return ""
    name = done.stdout.strip()
    return name if _is_line(name) else ""


def _is_line(text: str) -> bool:
    """Without what ends a line, controls a terminal, or is no character in UTF-8."""
    return not any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in text)


def _installed_torch() -> str:
    """The minor release of this Python's torch, which is not imported; "" if it is too old."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return ""
    version = Path(spec.origin).with_name("version.py")
    found = version.exists() and re.search(r"__version__ = '(\d+\.\d+)", version.read_text())
    minor = found.group(1) if found else ""
    return "" if minor and _numbers(minor) < _numbers(toolkit.OLDEST_TORCH) else minor
