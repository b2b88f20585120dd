"""The torch half, compiled once for each torch and Python, in a folder of the user's.

OUTBACK_CACHE_DIR names another folder; without it, XDG_CACHE_HOME/outback or ~/.cache/outback.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from . import toolkit
from .refused import Refused

_MODULE = "outback_loader"
_SEAL = "SHA256"  # of the module: whether what is there is what was built


def provide(rebuild: bool = False) -> Path:
    """The folder with the module outback_loader and lib/*.a for this Python's torch.

    Builds it where there is none, or none that is whole: a minute or two. Two processes
    that want it at once build it once. Raises Refused where it cannot be built.
    """
    from filelock import FileLock  # torch brings it

    folder = _root() / _key()
    if not rebuild and _is_whole(folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if rebuild or not _is_whole(folder):  # nobody else has built it meanwhile
            _build(folder)
    return folder


def module_in(folder: Path) -> Path:
    return folder / f"{_MODULE}{sysconfig.get_config_var('EXT_SUFFIX')}"


def _root() -> Path:
    if chosen := os.environ.get("OUTBACK_CACHE_DIR"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "outback"


def _key() -> str:
    """A folder's name that differs wherever the module would."""
    import torch

    python = sysconfig.get_config_var("SOABI")
    return f"{toolkit.version()}-torch-{torch.__version__}-{python}-{_hash_of_sources()[:16]}"


def _hash_of_sources() -> str:
    digest = hashlib.sha256()
    tree = toolkit.tree()
    for folder in ("CMakeLists.txt", "backend_template", "cmake", "generators", "registration"):
        for file in sorted([tree / folder, *(tree / folder).rglob("*")]):
            if file.suffix in {".h", ".hpp", ".cpp", ".txt", ".cmake", ".in"} and file.is_file():
                digest.update(f"{file.relative_to(tree)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _is_whole(folder: Path) -> bool:
    try:
        sealed = (folder / _SEAL).read_text(encoding="utf-8")
        return sealed == _digest(module_in(folder))
    except OSError:
        return False


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _build(folder: Path) -> None:
    """Builds beside `folder` and moves what is done into its place."""
    cmake = shutil.which("cmake")
    if cmake is None:
        raise Refused(
            "the torch half has to be compiled, once for each torch, and there is no cmake on the "
            "PATH: pip install cmake ninja"
        )
    environment = dict(os.environ)
    if shutil.which("ninja"):
        environment.setdefault("CMAKE_GENERATOR", "Ninja")
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder.parent) as scratch:
        build, made = Path(scratch) / "build", Path(scratch) / "made"
        configure = [cmake, "-S", toolkit.tree() / "generators/loader", "-B", build]
        configure += [f"-DOutback_DIR={toolkit.cmake_dir()}", "-DCMAKE_BUILD_TYPE=Release"]
        configure += [f"-DPython_EXECUTABLE={sys.executable}"]
        jobs = str(len(os.sched_getaffinity(0)))
        for command in (
            configure,
            [cmake, "--build", build, "--target", _MODULE, "outback_kernels", "--parallel", jobs],
            [cmake, "--install", build, "--prefix", made],
        ):
            done = subprocess.run(
                list(map(os.fspath, command)),
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if done.returncode:
                log = folder.parent / "build.log"
                log.write_text(done.stdout, encoding="utf-8")
                last = "\n".join(done.stdout.splitlines()[-20:])
                raise Refused(f"the torch half could not be compiled, see {log}:\n{last}")
        (made / _SEAL).write_text(_digest(module_in(made)), encoding="utf-8")
        # A module that is loaded stays in memory when its file is gone.
        if folder.exists():
            folder.rename(Path(scratch) / "before")
        made.rename(folder)
