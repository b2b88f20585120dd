"""What compiles a backend: a C++ compiler, CMake, a build tool; and GoogleTest, for its tests."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import toolkit, variables
from ..refused import Refused
from .finding import NOTE, OK, PROBLEM, Finding, one_line

_SECTION = "toolchain"
_COMPILERS = ("c++", "g++", "clang++")  # where CXX is not set, in CMake's order
_OLDEST_CMAKE = (3, 24)
_OLDEST_GCC = 12
_KERNEL_FORMATS = {2: "SPIR-V", 3: "PTX"}  # outback_format in outback/runtime.h
_LIMIT = 20.0  # seconds for any of these programs
# What the sources begin with, and what a runtime library ends with: a link.
_PROGRAM = """
#include <concepts>
#include <span>
{python}
template <class T> requires std::integral<T> T twice(T value) {{ return value + value; }}
extern "C" int outback_doctor() {{ int x[] = {{1}}; return twice(std::span<int>(x)[0]); }}
"""


def findings(has_backend: bool) -> Iterator[Finding]:
    """Where a backend is installed already, nothing has to be compiled for it; but torch.compile
    needs a compiler."""
    bad = NOTE if has_backend else PROBLEM
    yield from _compiler(bad)
    yield _cmake(bad)
    yield _build_tool(bad)
    yield _googletest()
    yield _kernel_compilers()


def _compiler(bad: str) -> Iterator[Finding]:
    try:
        named = variables.command("CXX")
        flags = variables.command("CXXFLAGS") + variables.command("LDFLAGS")
    except Refused as refused:
        yield Finding(_SECTION, "compiler", str(refused), PROBLEM, "mend the variable, or unset it")
        return
    if named:
        bad = PROBLEM  # it is not missing, but wrong
    command = named or [next(filter(shutil.which, _COMPILERS), "")]
    program = shutil.which(command[0]) if command[0] else None
    if program is None:
        yield _no_compiler(command[0])
        return
    said = _ran([program, *command[1:], "--version"], subprocess.DEVNULL).text
    version = one_line(said.splitlines()[0]) if said else "it does not tell its version"
    gcc = re.search(r"^(?!.*clang).*\s(\d+)\.\d+(\.\d+)?", version)
    if "Free Software Foundation" in said and gcc and int(gcc.group(1)) < _OLDEST_GCC:
        yield Finding(
            _SECTION,
            "compiler",
            f"{version}, {program}: Outback is C++20, and compiles with gcc 12 or newer",
            bad,
            "install a newer one, and set CXX to it",
            _apt("g++-12"),
        )
        return
    if why := _cannot_compile([program, *command[1:]]):
        text = f"{version}, {program}: it cannot make a C++20 library: {why}"
        yield Finding(_SECTION, "compiler", text, bad, *_of_a_failure(why))
        return
    if flags and (why := _cannot_compile([program, *command[1:], *flags])):
        text = f"{version}, {program}: with CXXFLAGS and LDFLAGS it makes no C++20 library: {why}"
        yield Finding(
            _SECTION, "compiler", text, PROBLEM, "mend these, or unset", "unset CXXFLAGS LDFLAGS"
        )
        return
    yield Finding(_SECTION, "compiler", f"{version}, {program}: makes a C++20 library")


def _no_compiler(named: str) -> Finding:
    """A problem also where a backend is installed: torch.compile makes C++ of a program."""
    if named:
        text = f"CXX names {named}, which is not on the PATH"
        advice = "name an installed compiler, or unset CXX"
        return Finding(_SECTION, "compiler", text, PROBLEM, advice, "unset CXX")
    text = "there is none: without a C++ compiler no backend can be built, and torch.compile fails"
    return Finding(_SECTION, "compiler", text, PROBLEM, "install gcc 12 or newer", _apt("g++"))


def _of_a_failure(why: str) -> tuple[str, str]:
    if "emporary file" in why or "No space left" in why:
        return "it has no room for temporary files: TMPDIR names a folder that has", "unset TMPDIR"
    if not variables.text("PATH"):
        return "PATH is not set, so that it does not find its parts", "export PATH=/usr/bin:/bin"
    return "its standard library or linker is missing: install the compiler as a whole", _apt("g++")


def _cannot_compile(command: list[str]) -> str:
    """The first error; "" where it makes a library, of Python's headers too where they are."""
    folder = Path(sysconfig.get_path("include"))
    python = "#include <Python.h>" if (folder / "Python.h").exists() else ""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "doctor.cpp")
        source.write_text(_PROGRAM.format(python=python), encoding="utf-8")
        made = ["-std=c++20", "-shared", "-fPIC", f"-I{folder}", "-o", f"{scratch}/doctor.so"]
        done = _ran([*command, *made, os.fspath(source)], subprocess.STDOUT, scratch)
    if done.why or done.code == 0:
        return done.why
    lines = done.text.splitlines()
    errors = [line for line in lines if re.search(r"error|cannot find|undefined", line)]
    return one_line((errors or lines or [f"exit status {done.code}"])[0])


def _cmake(bad: str) -> Finding:
    program = shutil.which("cmake")
    if program is None:
        return Finding(
            _SECTION,
            "cmake",
            "there is none on the PATH: a build needs 3.24 or newer",
            bad,
            "install it; where it is in a virtual environment, activate that",
            "pip install cmake ninja",
        )
    found = re.search(
        r"version (\d+)\.(\d+)\S*", _ran([program, "--version"], subprocess.DEVNULL).text
    )
    if found is None:
        return Finding(
            _SECTION,
            "cmake",
            f"{program} does not tell its version",
            bad,
            "install it again",
            "pip install --force-reinstall cmake",
        )
    version = found.group().removeprefix("version ")
    if (int(found.group(1)), int(found.group(2))) < _OLDEST_CMAKE:
        return Finding(
            _SECTION,
            "cmake",
            f"{version}, {program}: a build needs 3.24 or newer",
            bad,
            "install a newer one, which has to come first on the PATH",
            "pip install 'cmake>=3.24'",
        )
    return Finding(_SECTION, "cmake", f"{version}, {program}")


def _build_tool(bad: str) -> Finding:
    for name in ("ninja", "make"):
        if program := shutil.which(name):
            return Finding(_SECTION, "build tool", program)
    return Finding(
        _SECTION,
        "build tool",
        "there is neither ninja nor make on the PATH",
        bad,
        "install one of them",
        "pip install ninja",
    )


def _googletest() -> Finding:
    """Headers, and CMake's file where find_package looks; only the runtime suite needs it."""
    prefixes = [Path("/usr"), Path("/usr/local")]
    prefixes += [Path(it) for it in variables.text("CMAKE_PREFIX_PATH").split(os.pathsep) if it]
    prefixes += [Path(it).parent for it in variables.text("PATH").split(os.pathsep) if it]
    for prefix in dict.fromkeys(prefixes):
        header = prefix / "include/gmock/gmock.h"
        if header.exists() and any(prefix.glob("lib*/**/cmake/GTest/GTestConfig.cmake")):
            return Finding(_SECTION, "googletest", f"{prefix}/include/gmock")
    return Finding(
        _SECTION,
        "googletest",
        "none with gmock: a build with BUILD_TESTING=ON downloads it, and needs a network",
        OK,
        "to build the runtime suite without a network, install it",
        _apt("libgtest-dev libgmock-dev"),
    )


def _kernel_compilers() -> Finding:
    """Of kernels in the dialect, besides the host's: those that compile_kernel uses."""
    file = toolkit.tree() / "backend_template/module/_outback/kernels/compilers.py"
    spec = importlib.util.spec_from_file_location("compilers", file)
    assert spec is not None and spec.loader is not None
    compilers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compilers)
    words = []
    for number, name in _KERNEL_FORMATS.items():
        missing = compilers.of(number).why_not("")
        words.append(f"no {name} ({one_line(missing)})" if missing else name)
    is_whole = all(name in words for name in _KERNEL_FORMATS.values())
    needed = "" if is_whole else "; only devices that take this format need it"
    return Finding(_SECTION, "kernel compilers", "; ".join(words) + needed)


@dataclass
class _Run:
    code: int
    text: str
    why: str = ""  # it came to no end of its own


def _ran(command: list[str], errors: int, folder: str | None = None) -> _Run:
    """What it starts ends with it where it takes too long. It writes to a file and no pipe, which
    those could hold open."""
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command,
                env={**os.environ, "LC_ALL": "C"},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            return _Run(-1, "", f"it cannot be started: {error.strerror}")
        why = ""
        try:
            process.wait(_LIMIT)
        except subprocess.TimeoutExpired:
            why = f"no end after {_LIMIT:g} s"
        finally:
            if process.returncode is None:  # its number is its own until it is waited for
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        return _Run(process.returncode, output.read().decode(errors="replace"), why)


def _apt(packages: str) -> str:
    return f"apt-get install {packages}" if shutil.which("apt-get") else ""
