"""Writes MADE, the list of backend_template/python/embedded_sources.h: of each FOLDER/<name>.py the
text, and what this Python compiles it to, as the import of a backend would wait for the compiler.

python embed.py MADE FOLDER NAME... [--headers NAME FOLDER HEADER...]

The source NAME after --headers is made here: HEADERS has, by its name, the text of each HEADER of
that FOLDER, with what it includes in quotes in place of the lines that include it.
"""

import importlib.util
import marshal
import sys
from pathlib import Path

from inline_includes import inlined

_LIST = """#include "backend_template/python/embedded_sources.h"

namespace outback::python {{

const long embedded_magic = {magic};

const embedded_source embedded_sources[] = {{
{sources}{{nullptr, nullptr, nullptr, 0}}}};

}}  // namespace outback::python
"""


def literal(data: bytes) -> str:
    lines = (data[start : start + 24] for start in range(0, len(data), 24))
    return "\n".join('"' + "".join(f"\\x{byte:02x}" for byte in line) + '"' for line in lines)


def source_of(folder: Path, headers: list[str]) -> str:
    texts = {name: inlined(folder / name, [folder]) for name in headers}
    return f'"""Made from the headers of the dialect."""\n\nHEADERS = {texts!r}\n'


def entry(name: str, text: str) -> str:
    # The file's name is for whoever loads it to say: a path would make every build another one.
    code = marshal.dumps(compile(text, f"{name}.py", "exec", dont_inherit=True))
    return f'{{"{name}", {raw(text)},\n{literal(code)}, {len(code)}}},\n'


def raw(text: str) -> str:
    # In pieces: a compiler takes literals of 64 KiB at least.
    pieces = (text[start : start + 30000] for start in range(0, len(text), 30000))
    return "\n".join(f'R"outback({piece})outback"' for piece in pieces) or '""'


def main(made: str, folder: str, *arguments: str) -> None:
    magic = int.from_bytes(importlib.util.MAGIC_NUMBER, "little")
    names, headers = list(arguments), []
    if "--headers" in names:
        at = names.index("--headers")
        names, headers = names[:at], names[at + 1 :]
    texts = {name: (Path(folder) / f"{name}.py").read_text(encoding="utf-8") for name in names}
    if headers:
        texts[headers[0]] = source_of(Path(headers[1]), headers[2:])
    sources = "".join(entry(name, text) for name, text in texts.items())
    Path(made).write_text(_LIST.format(magic=magic, sources=sources), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
