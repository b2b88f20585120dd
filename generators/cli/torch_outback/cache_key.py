"""What a compiled torch half depends on, as the name of its folder in the cache."""

import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import toolkit, variables
from .refused import Refused

# What is compiled, and how: the loader's project takes all of these, and nothing else.
_SOURCES = (
    "CMakeLists.txt",
    "backend_template",
    "cmake",
    "generators/loader",
    "generators/methods",
    "registration",
)
_SUFFIXES = {".h", ".hpp", ".cpp", ".py", ".txt", ".cmake", ".in"}
COMPILERS = ("c++", "g++", "clang++")  # where CXX is not set, in CMake's order
_PROCESSORS = Path("/proc/cpuinfo")
_FLAGS = ("CXXFLAGS", "LDFLAGS", "CMAKE_TOOLCHAIN_FILE")


@dataclass(frozen=True)
class Key:
    """`compiler` is None where there is none: what another one has made serves as well then."""

    fixed: str
    compiler: str | None

    @property
    def name(self) -> str:
        return f"{self.fixed}-{self.compiler}"


def of_this_process(flags: str = "", portable: bool = False) -> Key:
    """For this Outback, torch, Python and C library, and the compiler that CMake will take.

    `flags` are OUTBACK_TORCH_HALF_FLAGS; "" for Outback's own. `portable`: with the portable
    operators. Made of contents and never of paths,
    since pip's build isolation puts the same torch into another folder each time. Torch is read and
    not imported. Raises Refused where there is none, and for a CXX that is no command.
    """
    torch = torch_folder()
    version = (torch / "version.py").read_text(encoding="utf-8")
    # Which C++ ABI it has is a line of this file, where it is not the usual one.
    config = torch / "share/cmake/Torch/TorchConfig.cmake"
    facts: tuple[str, ...] = (
        hash_of_sources(),
        version,
        config.read_text(encoding="utf-8") if config.exists() else "",
        _hash_of_files(torch / "include", _files(torch / "include")),
        platform.machine(),
        _c_library(),
    )
    facts += ("portable operators",) if portable else ()
    python = sysconfig.get_config_var("SOABI")
    compiler = _compiler()
    if compiler is not None:
        compiler = _hash((compiler, flags, *map(variables.text, _FLAGS), _toolchain(), _machine()))
    release = re.search(r"^__version__ = ['\"](.*)['\"]$", version, re.MULTILINE)
    name = release.group(1) if release else "unknown"
    return Key(f"{toolkit.version()}-torch-{name}-{python}-{_hash(facts)}", compiler)


def hash_of_sources() -> str:
    tree = toolkit.tree()
    return _hash_of_files(
        tree,
        (
            file
            for name in _SOURCES
            for file in ([tree / name] if (tree / name).is_file() else _files(tree / name))
            if file.suffix in _SUFFIXES
        ),
    )


def torch_folder() -> Path:
    """Of this Python's torch, which is not imported. Raises Refused where there is none."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise Refused(f"{sys.executable} has no torch, for which this compiles")
    return Path(spec.origin).parent


def _files(folder: Path) -> Iterable[Path]:
    """All below it, in an order that is the same everywhere."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(place, name) for name in sorted(names))


def _hash_of_files(root: Path, files: Iterable[Path]) -> str:
    """Of their names below `root` and of what is in them. Torch has 10,000 headers: a fifth of a
    second.
    """
    digest = hashlib.sha256()
    for file in files:
        if not file.is_file():  # a link to nowhere, which Emacs makes beside what it edits
            continue
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _compiler() -> str | None:
    """What it says of itself: its release and its target, whatever its name is."""
    command = variables.command("CXX") or [next(filter(shutil.which, COMPILERS), "")]
    program = shutil.which(command[0]) if command[0] else None
    if program is None:
        return None
    said = [*command[1:]]
    called = os.path.basename(command[0])
    for question in ("--version", "-dumpmachine"):
        try:
            done = subprocess.run(
                [program, *command[1:], question],
                env={**os.environ, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            why = f"{program} cannot be started: {error.strerror}; expected a C++ compiler"
            raise variables.refusal("CXX", variables.text("CXX"), why) from None
        # GCC begins with the name that it was started by: c++ and g++ are one compiler.
        said.append(done.stdout.decode(errors="replace").removeprefix(called))
    return "\n".join(said)


def _toolchain() -> str:
    """What is in the file, which may change under its name."""
    try:
        return Path(variables.text("CMAKE_TOOLCHAIN_FILE")).read_text(errors="replace")
    except OSError:  # none, and for CMake to look for
        return ""


def _machine() -> str:
    """What this machine's processor can do, where the compiler is to use all of that: a cache may
    be shared by machines.
    """
    if "=native" not in variables.text("CXX") + variables.text("CXXFLAGS") + _toolchain():
        return ""
    try:
        lines = _PROCESSORS.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(sorted({it for it in lines if it.startswith(("flags", "Features"))}))


def _c_library() -> str:
    """The one of this process: "glibc 2.36"."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (OSError, ValueError):  # another C library than GNU's
        return "-".join(platform.libc_ver())


def _hash(facts: tuple) -> str:
    return hashlib.sha256(repr(facts).encode("utf-8", "backslashreplace")).hexdigest()[:16]
