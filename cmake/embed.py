"""Writes MADE, the list of backend_template/python/embedded_sources.h: of each FOLDER/<name>.py the
text, and what this Python compiles it to, as the import of a backend would wait for the compiler.

python embed.py MADE FOLDER NAME...
"""

import importlib.util
import marshal
import sys
from pathlib import Path

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


def entry(folder: Path, name: str) -> str:
    text = (folder / f"{name}.py").read_text(encoding="utf-8")
    # The file's name is for whoever loads it to say: a path would make every build another one.
    code = marshal.dumps(compile(text, f"{name}.py", "exec", dont_inherit=True))
    return f'{{"{name}", R"outback({text})outback",\n{literal(code)}, {len(code)}}},\n'


def main(made: str, folder: str, *names: str) -> None:
    magic = int.from_bytes(importlib.util.MAGIC_NUMBER, "little")
    sources = "".join(entry(Path(folder), name) for name in names)
    Path(made).write_text(_LIST.format(magic=magic, sources=sources), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
