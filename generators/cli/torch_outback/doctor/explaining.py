"""What to do about an error of an import, as its text shows it."""

from __future__ import annotations

import re
import sys
import sysconfig

# The first that fits. \1 is the first group of the pattern.
_KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        r"was built for torch (\S+) and this is torch",
        r"install the backend that was made for this torch, or torch \1 for this backend",
        r"pip install 'torch==\1.*'",
    ),
    (
        r"PrivateUse1 backend is (\S+) already|rename.*privateuse",
        "PyTorch has room for one such backend in a process: uninstall one of them",
        "",
    ),
    (
        # Of PyTorch's name spaces, as C++ mangles them.
        r"undefined symbol: _Z\w*(3c10|2at|5torch|6caffe2)|undefined symbol: (THP|aoti_)",
        "it was compiled for another torch than this one: build it again here, without build "
        "isolation, which would download another torch",
        "pip install --no-build-isolation --force-reinstall --no-deps <its folder>",
    ),
    (
        r"undefined symbol: ([^\s(]+)",
        r"no library that it is linked with has \1: link the one that has, as the driver's "
        r"(target_link_libraries in CMakeLists.txt)",
        "",
    ),
    (
        r"`?(GLIBCXX_[0-9.]+|CXXABI_[0-9.]+)'? not found",
        r"an older libstdc++ is loaded first than the one that it was compiled with, as conda's: "
        r"update libstdc++ (conda: libstdcxx-ng), or build it again here",
        "",
    ),
    (
        r"`?(GLIBC_[0-9.]+)'? not found",
        r"it was compiled on a newer system, whose C library has \1: build it here",
        "",
    ),
    (
        r"(lib(?:cudart|cublas|cudnn|cufft|cusparse|nvrtc|nccl|nvJitLink|cupti)\S*): cannot open "
        r"shared object file",
        r"\1 of this build of torch is missing: install torch again with all that it requires",
        "pip install --force-reinstall torch",
    ),
    (
        r"(lib(?:torch|c10|shm)\S*): cannot open shared object file",
        r"\1 is torch's own, and this torch has none: it is not whole, or of another build (CPU, "
        r"CUDA) than it was compiled for",
        "pip install --force-reinstall torch",
    ),
    (
        r"(lib\S+?): cannot open shared object file",
        r"\1 is missing: install the package that has it; `ldd` of the file names all that is",
        "",
    ),
    (
        r"No module named ['\"]?torch['\".]",
        "torch is not whole: install it again",
        "pip install --force-reinstall torch",
    ),
    (
        r"No module named ['\"]?([\w.]+)",
        r"\1 is missing: install it, or the backend again with all that it requires",
        r"pip install \1",
    ),
    (
        r"partially initialized module|circular import",
        "a file of the program has the name of a module that torch needs: rename it",
        "",
    ),
    (
        r"(OUTBACK_[A-Z_]+|[A-Z_]+_VISIBLE_DEVICES)[=:]",
        r"set \1 to what is expected, or unset it",
        r"unset \1",
    ),
    (
        r"invalid ELF header|file too short|Exec format error|wrong ELF class",
        "the file is damaged, or of another machine: install it again",
        "",
    ),
    (
        r"failed to map segment|cannot allocate memory|Cannot allocate",
        "the system has no memory left, or the file lies on a disk that is mounted noexec",
        "",
    ),
)


def of(text: str) -> tuple[str, str]:
    """Advice and a command; "" where nothing is known about it."""
    for pattern, advice, command in _KNOWN:
        if found := re.search(pattern, text):
            return found.expand(advice), found.expand(command)
    return "", ""


def package_of(error: dict[str, str]) -> str:
    """In which an error was raised; "" where that is no installed one."""
    found = re.match(r'"(.*)", line', error.get("where", ""))
    if found is None:
        return ""
    places = [it for it in sys.path if it and found.group(1).startswith(f"{it}/")]
    place = max(places, key=len, default="")
    if place in ("", sysconfig.get_path("stdlib")):
        return ""
    return found.group(1)[len(place) + 1 :].partition("/")[0].removesuffix(".py")


def told(error: dict[str, str]) -> str:
    """As Python prints it, and where it was raised."""
    text = f"{error['kind']}: {error['text']}"
    return f"{text} ({error['where']})" if error.get("where") else text
