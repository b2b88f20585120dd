"""The compilers of the dialect, by the outback_format that they make (outback/runtime.h)."""

import abc
import contextlib
import ctypes
import ctypes.util
import functools
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

# Reads a variable of the environment; None if it is not set. Whoever loads this file sets it.
_none: dict[str, str] = {}
read_variable: Callable[[str], str | None] = _none.get


class Compiler(abc.ABC):
    is_quick = False  # so that its results are not kept
    words = ""  # the dialect's words in a language that the dialect does not know

    @abc.abstractmethod
    def why_not(self, target: str) -> str | None:
        """What is missing here; None: it can compile for `target`."""

    @abc.abstractmethod
    def version(self) -> str:
        """Names the compiler and its options: results of another one are other results."""

    @abc.abstractmethod
    def compile(self, text: str, target: str) -> bytes:
        """Raises RuntimeError with the compiler's words."""


class OpenClText(Compiler):
    """The driver compiles the text itself."""

    is_quick = True

    def why_not(self, target: str) -> None:
        return None

    def version(self) -> str:
        return ""

    def compile(self, text: str, target: str) -> bytes:
        return text.encode()


class Program(Compiler):
    """A compiler that is a program: reads one file, and writes another."""

    wanted: str  # for a user
    suffix: str  # of the source

    @abc.abstractmethod
    def find(self) -> list[str] | None:
        """The program's path, and what stands before the options."""

    @abc.abstractmethod
    def options(self) -> list[str]: ...

    def why_not(self, target: str) -> str | None:
        return None if self.find() else f"{self.wanted} was not found"

    def version(self) -> str:
        program = self.find() or []
        return "\n".join([*program, _version_of(*program), *self.options()])

    def compile(self, text: str, target: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="outback_kernel_") as folder:
            source, made = Path(folder, f"kernel{self.suffix}"), Path(folder, "kernel.out")
            source.write_text(text, encoding="utf-8")
            command = self.command(str(source), str(made), target)
            done = _run(*command)
            if done.returncode != 0:
                raise RuntimeError(
                    f"compile_kernel: {command[0]} refuses the kernel:\n{_words_of(done)}"
                )
            if not made.exists():
                # Also where this process ignores SIGCHLD: then nobody knows the exit status.
                raise RuntimeError(f"compile_kernel: {command[0]} made nothing:\n{_words_of(done)}")
            return made.read_bytes()

    def command(self, source: str, made: str, target: str) -> list[str]:
        return [*(self.find() or []), *self.options(), "-o", made, source]


class HostCompiler(Program):
    wanted = "a C++ compiler for the host (CXX, or c++, g++ or clang++)"
    suffix = ".cpp"

    def find(self) -> list[str] | None:
        chosen = read_variable("CXX") or ""
        # A path, or a command such as "ccache g++".
        for command in ([chosen], shlex.split(chosen), ["c++"], ["g++"], ["clang++"]):
            program = shutil.which(command[0]) if command and command[0] else None
            if program is not None:
                return [program, *command[1:]]
        return None

    def options(self) -> list[str]:
        return [
            # -O2 takes ten times as long for kernels with many switches by types.
            *("-std=c++20", "-O1", "-ftree-vectorize", "-fno-math-errno", "-ffp-contract=off"),
            *("-shared", "-fPIC", "-fvisibility=hidden", "-U_FORTIFY_SOURCE", "-w"),
        ]


class SpirvClang(Program):
    """clang with the SPIR-V target: 22 or newer."""

    wanted = "clang 22 or newer with the target SPIR-V (Debian: clang-22)"
    suffix = ".cl"

    @functools.cache  # noqa: B019
    def find(self) -> list[str] | None:
        for name in ("clang-24", "clang-23", "clang-22", "clang"):
            program = shutil.which(name)
            if program is not None and "spirv64" in _run(program, "--print-targets").stdout:
                return [program]
        return None

    def options(self) -> list[str]:
        return [
            *("--target=spirv64v1.2-unknown-unknown", "-x", "cl", "-cl-std=CL1.2", "-O2"),
            *("-Xclang", "-finclude-default-header", "-w", "-c"),
        ]


class Nvrtc(Compiler):
    """PTX by NVRTC, which torch's CUDA builds bring along."""

    def why_not(self, target: str) -> str | None:
        return None if _nvrtc() else "NVRTC (libnvrtc.so) was not found"

    def version(self) -> str:
        major, minor = ctypes.c_int(), ctypes.c_int()
        _loaded_nvrtc().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def compile(self, text: str, target: str) -> bytes:
        library = _loaded_nvrtc()
        architecture = target.replace("sm_", "compute_") or "compute_75"
        options = [f"-arch={architecture}".encode(), b"-default-device", b"-w"]
        program = ctypes.c_void_p()
        made = library.nvrtcCreateProgram(
            ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None
        )
        if made != 0:
            raise RuntimeError(f"compile_kernel: nvrtcCreateProgram failed with {made}")
        try:
            array = (ctypes.c_char_p * len(options))(*options)
            result = library.nvrtcCompileProgram(program, len(options), array)
            if result != 0:
                log = _nvrtc_bytes(program, "ProgramLog").decode(errors="replace")
                raise RuntimeError(f"compile_kernel: NVRTC refuses the kernel:\n{log}")
            return _nvrtc_bytes(program, "PTX")
        finally:
            library.nvrtcDestroyProgram(ctypes.byref(program))


class VendorsFunction(Compiler):
    """For a format of a vendor's own, see register_kernel_compiler."""

    def __init__(self, compile: Callable[[str, str], bytes], words: str, version: str) -> None:
        self.words = f"{words}\n"
        self._compile, self._version = compile, version

    def why_not(self, target: str) -> None:
        return None

    def version(self) -> str:
        return self._version

    def compile(self, text: str, target: str) -> bytes:
        made = self._compile(text, target)
        if not isinstance(made, bytes):
            raise TypeError(f"the vendor's compiler gave a {type(made).__name__}: expected bytes")
        return made


class VendorsProgram(Program):
    """The same, by a program that reads a file and writes another."""

    suffix = ".k"

    def __init__(self, command: Sequence[str], words: str, version: str) -> None:
        self.words = f"{words}\n"
        self.wanted = f"the vendor's compiler, {command[0]},"
        self._command, self._version = list(command), version

    def find(self) -> list[str] | None:
        program = shutil.which(self._command[0])
        return None if program is None else [program]

    def options(self) -> list[str]:
        return self._command[1:]

    def version(self) -> str:
        return "\n".join([*self._command, self._version])

    def command(self, source: str, made: str, target: str) -> list[str]:
        places = {"{source}": source, "{made}": made, "{target}": target}
        return [*(self.find() or []), *(places.get(each, each) for each in self.options())]


_BY_FORMAT: dict[int, Compiler] = {
    1: HostCompiler(),
    2: SpirvClang(),
    3: Nvrtc(),
    6: OpenClText(),
}


def of(number: int) -> Compiler | None:
    return _BY_FORMAT.get(number)


def add(number: int, compiler: Compiler) -> None:
    _BY_FORMAT[number] = compiler


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise RuntimeError(f"compile_kernel: {command[0]} does not run: {error}") from error


def _words_of(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}"


@functools.cache
def _version_of(*program: str) -> str:
    done = _run(*program, "--version")
    if done.returncode != 0:
        raise RuntimeError(f"compile_kernel: {program[0]} --version fails:\n{_words_of(done)}")
    return str(done.stdout)


@functools.cache
def _nvrtc() -> ctypes.CDLL | None:
    with contextlib.suppress(OSError):  # the one that torch has loaded, or the system's
        return ctypes.CDLL(ctypes.util.find_library("nvrtc") or "libnvrtc.so")
    for found in _wheels_of_cuda():
        with contextlib.suppress(OSError):
            return ctypes.CDLL(str(found))
    return None


def _loaded_nvrtc() -> ctypes.CDLL:
    library = _nvrtc()
    assert library is not None, "why_not() has been asked"
    return library


def _wheels_of_cuda() -> list[Path]:
    try:
        import nvidia
    except ImportError:
        return []
    folders = [Path(folder) for folder in nvidia.__path__]
    return [found for folder in folders for found in folder.glob("*/lib/libnvrtc.so*")]


def _nvrtc_bytes(program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    getattr(_loaded_nvrtc(), f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(_loaded_nvrtc(), f"nvrtcGet{what}")(program, buffer)
    return buffer.raw.rstrip(b"\0")
