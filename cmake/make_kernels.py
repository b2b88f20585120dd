"""Makes modules of kernels in the dialect (outback/dialect.h) while a project is built.

python make_kernels.py why FORMAT...  prints what is missing for each format that cannot be made
python make_kernels.py make MADE FORMAT FILE [--define NAME=VALUE]... [--folder FOLDER]...

`make` also writes MADE.d, which tells the build what FILE includes.
"""

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from inline_includes import inlined

NUMBERS = {"host": 1, "spirv": 2, "ptx": 3, "opencl_c": 6}  # outback_format in outback/runtime.h
_OUTBACK = Path(__file__).resolve().parent.parent
_COMPILERS = _OUTBACK / "backend_template/module/_outback/kernels/compilers.py"


def compilers() -> ModuleType:
    """The ones that compile_kernel uses where a program runs."""
    spec = importlib.util.spec_from_file_location("compilers", _COMPILERS)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.read_variable = os.environ.get
    return module


def why(formats: list[str]) -> None:
    for name in formats:
        if name not in NUMBERS:
            print(f"{name}: is no format that Outback makes: expected {', '.join(NUMBERS)}")
        elif reason := compilers().of(NUMBERS[name]).why_not(""):
            print(f"{name}: {reason}")


def make(options: argparse.Namespace) -> None:
    seen: list[Path] = []
    folders = [*options.folder, _OUTBACK / "backend_template/include"]
    text = inlined(options.file, folders, seen, with_lines=True)
    defined = "".join(f"#define {each.replace('=', ' ')}\n" for each in options.define)
    try:
        made = compilers().of(NUMBERS[options.format]).compile(defined + text, "")
    except RuntimeError as error:
        sys.exit(f"{options.file}: {error}")
    options.made.write_bytes(made)
    files = " ".join(str(file).replace(" ", "\\ ") for file in seen)
    options.made.with_name(f"{options.made.name}.d").write_text(f"{options.made}: {files}\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    of_why = commands.add_parser("why")
    of_why.add_argument("formats", nargs="*")
    of_make = commands.add_parser("make")
    of_make.add_argument("made", type=Path)
    of_make.add_argument("format", choices=NUMBERS)
    of_make.add_argument("file", type=Path)
    of_make.add_argument("--define", action="append", default=[])
    of_make.add_argument("--folder", action="append", default=[], type=Path)
    options = parser.parse_args()
    if options.command == "why":
        why(options.formats)
    else:
        make(options)


if __name__ == "__main__":
    main()
