"""Writes MADE: FILE, with the files that it includes in quotes in place of the lines that include
them. So a text of the dialect becomes one that a compiler without folders for headers reads.

python inline_includes.py MADE FILE FOLDER...
"""

import re
import sys
from pathlib import Path

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
_ONCE = re.compile(r"^\s*#\s*pragma\s+once\b")


def inlined(
    file: Path, folders: list[Path], seen: list[Path] | None = None, with_lines: bool = False
) -> str:
    """An include is looked for beside the file that has it, and then in `folders`. `seen` gets the
    files that were read. With `with_lines` a compiler names these files and their lines: by the
    names without folders, since the text may be shipped."""
    lines = _lines(file, folders, set(), [] if seen is None else seen, with_lines)
    return "".join(lines)


def _lines(
    file: Path, folders: list[Path], once: set[Path], seen: list[Path], with_lines: bool
) -> list[str]:
    lines = [f'#line 1 "{file.name}"\n'] * with_lines
    if file not in seen:
        seen.append(file)
    text = file.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if _ONCE.match(line):
            if file.resolve() in once:
                return []
            once.add(file.resolve())
            lines += ["\n"] * with_lines
        elif found := _INCLUDE.match(line):
            lines += _lines(_find(found[1], file, folders), folders, once, seen, with_lines)
            lines += [f'#line {number + 1} "{file.name}"\n'] * with_lines
        else:
            lines.append(line if line.endswith("\n") else f"{line}\n")
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
