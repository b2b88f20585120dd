"""What a compiled torch half depends on, as the name of its folder in the cache."""

import hashlib
import os
import platform
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from . import toolkit, variables

_SOURCES = ("CMakeLists.txt", "backend_template", "cmake", "generators", "registration")
_SUFFIXES = {".h", ".hpp", ".cpp", ".py", ".txt", ".cmake", ".in"}
_COMPILERS = ("c++", "g++", "clang++")  # where CXX is not set, in CMake's order
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


def of_this_process() -> Key:
    """For this Outback, torch, Python and C library, and the compiler that CMake will take.

    Raises Refused for a CXX that is no command.
    """
    import torch

    facts = (
        hash_of_sources(),
        torch.__version__,
        torch.version.git_version,
        torch.version.cuda,
        torch.version.hip,
        torch.version.debug,
        torch.compiled_with_cxx11_abi(),
        platform.machine(),
        _c_library(),
    )
    python = sysconfig.get_config_var("SOABI")
    compiler = _compiler()
    if compiler is not None:
        compiler = _hash((compiler, *map(variables.text, _FLAGS), _toolchain(), _machine()))
    fixed = f"{toolkit.version()}-torch-{torch.__version__}-{python}-{_hash(facts)}"
    return Key(fixed, compiler)


def hash_of_sources() -> str:
    digest = hashlib.sha256()
    tree = toolkit.tree()
    for folder in _SOURCES:
        for file in sorted([tree / folder, *(tree / folder).rglob("*")]):
            if file.suffix in _SUFFIXES and file.is_file():
                digest.update(f"{file.relative_to(tree)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _compiler() -> str | None:
    """What it says of itself: its release and its target."""
    command = variables.command("CXX") or [next(filter(shutil.which, _COMPILERS), "")]
    program = shutil.which(command[0]) if command[0] else None
    if program is None:
        return None
    said = [*command[1:]]
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
        said.append(done.stdout.decode(errors="replace"))
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
