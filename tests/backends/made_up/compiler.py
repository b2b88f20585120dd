"""The compiler of the made-up language: compiler.py SOURCE -o MADE [--units COUNT]. COUNT is by
default what the source says in a line #define LSIZE."""

import argparse
import re
import subprocess
import sys
from pathlib import Path

MAGIC = b"MADE-UP1"
HERE = Path(__file__).resolve().parent
HEADERS = HERE.parents[2] / "backend_template/include"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("-o", dest="made", type=Path, required=True)
    parser.add_argument("--units", type=int)
    options = parser.parse_args()
    if options.units is None:
        options.units = re.search(r"#define LSIZE (\d+)", options.source.read_text())[1]
    # What the compiler sees: without comments, and without what #if leaves out.
    command = ["c++", "-std=c++20", f"-DMADE_UP_UNITS={options.units}", f"-I{HEADERS}"]
    command += ["-include", HERE / "language.hpp", "-U_FORTIFY_SOURCE", "-x", "c++", "-w"]
    seen = subprocess.run(
        [*command, "-E", options.source], capture_output=True, text=True, check=True
    ).stdout
    own = seen[seen.rindex(f'"{options.source}"') :]
    if found := re.search(
        r"\b(double|__global|__shared__|threadIdx|\d\.\d*(?:e-?\d+)?(?![\dfe]))", own
    ):
        sys.exit(f"error: the made-up language has no {found[0]!r}")
    object_file = options.made.with_suffix(".so")
    command += ["-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-o", object_file]
    done = subprocess.run([*command, options.source], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error:\n{done.stderr}")
    options.made.write_bytes(MAGIC + object_file.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
