"""A step of a CMake project's build: puts the libraries of the torch half into the build's folder.

They come from the cache of `outback build`, which compiles what is missing. Where the cache cannot
be used they are compiled in the build's folder, after a sentence that says why.
cmake/OutbackTorchHalf.cmake calls this.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

from . import building, cache, cache_key, variables
from .refused import Refused

# The project's, whose flags are not the torch half's.
_NOT_OURS = ("CFLAGS", "CPPFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE_TOOLCHAIN_FILE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, required=True, help="gets lib*.a")
    parser.add_argument("--torch", type=Path, required=True, help="what the project compiles with")
    parser.add_argument("--compiler", required=True, help="and its first arguments")
    parser.add_argument("--flags", default="", help="OUTBACK_TORCH_HALF_FLAGS; none: Outback's own")
    parser.add_argument("--tools", nargs="+", default=[], help="the cmake and ninja of the project")
    options = parser.parse_args()
    for name in _NOT_OURS:
        os.environ.pop(name, None)
    tools = [os.path.dirname(tool) for tool in options.tools]
    path = os.pathsep.join([*tools, variables.text("PATH") or os.defpath])
    os.environ.update(CXX=options.compiler, PATH=path)
    try:
        there = cache_key.torch_folder()
        if there.resolve() != options.torch.resolve():
            raise Refused(
                f"CMake found {options.torch}, and {sys.executable} has {there} now: run it again"
            )
        put(options.into, options.flags)
    except (Refused, OSError) as why:
        sys.exit(f"Outback: {why}")


def put(folder: Path, flags: str) -> None:
    """Makes `folder` have lib*.a, as new files. Raises Refused where they cannot be compiled."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        archives = sorted((cache.provide(flags=flags) / "lib").glob("*.a"))
    except building.Failed:
        raise
    except (Refused, ModuleNotFoundError) as why:
        said = f"Outback: {why}. The torch half is compiled in {folder} instead."
        print(variables.printable(said), flush=True)  # a path may be no UTF-8
        archives = _compiled_here(folder, flags)
    for archive in archives:
        new = folder / f"{archive.name}.new"
        shutil.copyfile(archive, new)
        new.replace(folder / archive.name)


def _compiled_here(folder: Path, flags: str) -> list[Path]:
    made, log = folder / "made", folder / "build.log"
    log.unlink(missing_ok=True)
    if not building.compile_into(made, folder / "build", log, flags):
        raise building.failure(log, folder / "failed.log")
    return sorted(made.glob("lib/*.a"))
