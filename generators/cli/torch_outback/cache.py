"""The torch half, compiled once for each torch, Python, C library and compiler, in a folder of the
user's.

OUTBACK_CACHE_DIR names another folder; without it, XDG_CACHE_HOME/outback or ~/.cache/outback.
In it are

    <key>           a symbolic link to what was built last
    <key>~<random>  that, or a build that is going on, or what one left that was killed
    <key>.lock      held while it is built
    build.log       of the last build that failed

Each build removes what a killed one has left, and what nobody has asked for in a month: a build's
seal has the time at which it was asked for.

What is loaded runs as this user, so what others could have put there is refused (trust.py).
"""

import contextlib
import hashlib
import os
import re
import shutil
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from . import building, cache_key, cache_lock, trust, variables
from .cache_key import Key
from .refused import Refused

SEAL = "SHA256"  # of the module, and how long the archives are: whether that is what was built
MARK = "~"  # in the name of a folder that a link leads to
_UNUSED_AFTER = 30 * 24 * 3600  # seconds


def provide(
    rebuild: bool = False,
    flags: str = "",
    portable: bool = False,
    before_compiling: Callable[[], object] = lambda: None,
) -> Path:
    """The folder with the module _C and lib/*.a for this Python's torch.

    Builds it where there is none, or none that is whole: a minute or two, with `flags` as
    OUTBACK_TORCH_HALF_FLAGS (none: Outback's own). `portable`: the module has the portable
    operators too. `before_compiling` is called if it is compiled here. Two processes that want it
    at once build it once; until a rebuild is done, what was there stays. A cache that cannot be
    written is read.
    Raises building.Failed where it does not compile, and another Refused where there is nothing to
    compile with, where it cannot be kept, and where others than this user and root could have
    changed what is there.
    """
    root, key = folder(), cache_key.of_this_process(flags, portable)
    try:
        if not rebuild and (there := found(root, key)):
            with contextlib.suppress(
                OSError
            ):  # of another user's, who keeps it as long as he likes
                os.utime(there / SEAL)
            return there
        if key.compiler is None:
            building.cmake()  # which is said first
            raise Refused(
                f"the torch half has to be compiled, once for each torch, and there is no C++ "
                f"compiler: install one, or set CXX. {root} has none that another compiler made"
            )
        building.cmake()
        trust.make_private(root)
        with cache_lock.hold(root, key.name):
            if rebuild or not is_whole(root / key.name):  # nobody else has built it meanwhile
                before_compiling()
                _build(root, key.name, flags, portable)
    except OSError as error:
        raise Refused(
            f"the torch half for this torch can be neither read from {root} nor put there: "
            f"{error}; name another folder with OUTBACK_CACHE_DIR"
        ) from error
    return root / key.name


def module_in(folder: Path) -> Path:
    return folder / f"{building.MODULE}{sysconfig.get_config_var('EXT_SUFFIX')}"


def is_scratch(path: Path) -> bool:
    """Whether a build has made this folder: others may keep files in the same place."""
    name = re.fullmatch(rf"[0-9.]+-torch-[^{MARK}]+{MARK}[a-z0-9_]+", path.name)
    return name is not None and path.is_dir() and not path.is_symlink()


def seal(folder: Path) -> None:
    """Says that the module in `folder` is whole."""
    seal = folder / SEAL
    seal.touch(mode=0o600)  # whatever the umask is
    sizes = {archive.name: archive.stat().st_size for archive in _archives(folder)}
    seal.write_text(_sealed(module_in(folder).read_bytes(), sizes), encoding="utf-8")


def folder() -> Path:
    if chosen := variables.folder("OUTBACK_CACHE_DIR"):
        return chosen
    if caches := variables.xdg_folder("XDG_CACHE_HOME"):
        return caches / "outback"
    if home := variables.home():
        return home / ".cache/outback"
    raise Refused(
        "there is no home folder to keep the torch half in: set HOME, or name a folder with "
        "OUTBACK_CACHE_DIR"
    )


def found(root: Path, key: Key) -> Path | None:
    """What is whole. Without a compiler, the newest of any. Raises as `is_whole`."""
    names = [key.name] if key.compiler else _names(root, f"{key.fixed}-")
    return next((root / name for name in names if is_whole(root / name)), None)


def _names(root: Path, beginning: str) -> list[str]:
    if not root.is_dir():
        return []
    names = [
        entry for entry in root.iterdir() if entry.name.startswith(beginning) and entry.is_dir()
    ]
    names.sort(key=lambda entry: entry.stat().st_mtime, reverse=True)
    return [entry.name for entry in names if MARK not in entry.name]


def is_whole(folder: Path) -> bool:
    """Raises Refused for what others could have put there, whole or not."""
    try:
        sealed = trust.read_trusted(folder / SEAL).decode("utf-8", "replace")
        module = trust.read_trusted(module_in(folder))
        sizes = {archive.name: trust.size_of_trusted(archive) for archive in _archives(folder)}
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return False
    return sealed == _sealed(module, sizes)


def _archives(folder: Path) -> list[Path]:
    return sorted(folder.glob("lib/*.a"))


def _sealed(module: bytes, sizes: dict[str, int]) -> str:
    """Archives are long, and read by a linker, which notices more than a loader does."""
    lines = [hashlib.sha256(module).hexdigest()]
    return "\n".join(lines + [f"{name} {size}" for name, size in sizes.items()])


# ---- Building; the root is private, and the lock of `name` is held.


def _build(root: Path, name: str, flags: str, portable: bool) -> None:
    """Builds beside what is there, and puts a link in its place."""
    _prune(root, name)
    # For this user alone, as all in it will be.
    scratch = Path(tempfile.mkdtemp(prefix=f"{name}{MARK}", dir=root))
    build, made, log = scratch / "build", scratch / "made", scratch / "build.log"
    try:
        if not building.compile_into(made, build, log, flags, portable):
            raise building.failure(log, log.parents[1] / "build.log")
        seal(made)
        _link(root / name, made, scratch)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    for done_with in (build, log, scratch / "before"):
        _remove(done_with)
    _prune(root, name)


def _link(name: Path, made: Path, scratch: Path) -> None:
    """In one step, so that there is no moment without a folder."""
    new = scratch / "link"
    new.symlink_to(made.relative_to(name.parent), target_is_directory=True)
    if name.is_dir() and not name.is_symlink():  # copied from elsewhere, and not whole
        name.rename(scratch / "before")
    new.replace(name)


def _prune(root: Path, name: str) -> None:
    """Removes builds that nobody has asked for in a month, and folders that no link leads to: of a
    rebuild, of a build that was killed, or of a build that has just lost its link here.

    A process that has loaded a module keeps it in memory when its file is gone.
    """
    for entry in sorted(root.iterdir()):  # a link comes before its folder
        owner = entry.name.partition(MARK)[0]
        mine = owner == name
        if not is_scratch(entry) and (mine or not _is_link(entry)):
            continue
        with contextlib.suppress(OSError):  # somebody builds it, or it is another user's
            with contextlib.nullcontext() if mine else cache_lock.hold(root, owner, wait=False):
                if entry.is_symlink():
                    if _is_unused(entry):
                        entry.unlink()
                elif link_target(root / owner).parts[:1] != (entry.name,):
                    _remove(entry)


def _is_link(path: Path) -> bool:
    """Whether a build has made it: others may keep links in the same place."""
    return str(link_target(path)).startswith(f"{path.name}{MARK}")


def _is_unused(build: Path) -> bool:
    try:
        return time.time() - (build / SEAL).stat().st_mtime > _UNUSED_AFTER
    except FileNotFoundError:  # it is not whole
        return True


def _remove(path: Path) -> None:
    """Where that fails, it is in nobody's way."""
    with contextlib.suppress(OSError):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def link_target(link: Path) -> Path:
    return Path(os.readlink(link)) if link.is_symlink() else Path()
