"""Writes MADE: FILE, with the files that it includes in quotes in place of the lines that include
them. So a text of the dialect becomes one that a compiler without folders for headers reads.

python inline_includes.py MADE FILE FOLDER...
"""

import re
import sys
from pathlib import Path

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
_ONCE = re.compile(r"^\s*#\s*pragma\s+once\b")


def inlined(file: Path, folders: list[Path], seen: list[Path] | None = None) -> str:
    """An include is looked for beside the file that has it, and then in `folders`. `seen` gets the
    files that were read."""
    return "".join(_lines(file, folders, set(), [] if seen is None else seen))


def _lines(file: Path, folders: list[Path], once: set[Path], seen: list[Path]) -> list[str]:
    lines = []
    if file not in seen:
        seen.append(file)
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
        if _ONCE.match(line):
            if file.resolve() in once:
                return []
            once.add(file.resolve())
        elif found := _INCLUDE.match(line):
            lines += _lines(_find(found[1], file, folders), folders, once, seen)
        else:
            lines.append(line)
    return lines


def _find(name: str, by: Path, folders: list[Path]) -> Path:
    for folder in (by.parent, *folders):
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f'{by}: there is no "{name}" beside it or in {[*map(str, folders)]}')


def main(made: str, file: str, *folders: str) -> None:
    Path(made).write_text(inlined(Path(file), [*map(Path, folders)]), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
