"""Appends a slot to a group of the contract, in copies of the two files that have to know it, and
runs what appended_slot.cpp says of it. One of the two edits alone does not compile.

    python check_appended_slot.py FOLDER REPOSITORY COMPILER...

FOLDER is made anew, and is the same each time, with what COMPILER begins with: a compiler's cache.
"""

import shutil
import subprocess
import sys
from pathlib import Path

DECLARATION = "outback/runtime.h"
ROW = "outback/slot_list.hpp"
# By file: the text in front of the addition, and the addition.
EDITS = {
    DECLARATION: (
        "int32_t device, int32_t* least, int32_t* greatest);\n",
        "  outback_status (*priority)(void* self, int32_t device, outback_stream stream,\n"
        "                             int32_t* priority);\n",
    ),
    ROW: (
        'output("least"), output("greatest"))',
        " \\\n  X(streams, priority, stream_priority, int32_t,"
        ' (int32_t device, outback_stream stream), device, or_null("stream"), output("priority"))',
    ),
}


class Check:
    def __init__(self, folder: Path, root: Path, compiler: list[str]) -> None:
        self.folder, self.root, self.compiler = folder, root, compiler
        self.include = root / "backend_template/include"

    def edit(self, files: list[str]) -> Path:
        """A folder of headers that go before the repository's: with these edits."""
        made = self.folder / "_".join(Path(file).stem for file in files)
        (made / "outback").mkdir(parents=True)
        for file in files:
            before, addition = EDITS[file]
            text = (self.include / file).read_text("utf-8")
            assert text.count(before) == 1, f"{file} has another text: {before}"
            (made / file).write_text(text.replace(before, before + addition), "utf-8")
        return made

    def compile(self, edited: Path, *arguments: str) -> str:
        """What the compiler says; "" if nothing."""
        folders = [f"-I{folder}" for folder in (edited, self.include, self.root)]
        command = [*self.compiler, "-std=c++20", "-O0", "-Wall", "-Wextra", *folders, *arguments]
        return subprocess.run(command, capture_output=True, text=True).stderr

    def layers(self) -> Path:
        """All sources of the layers in one, which compiles sooner."""
        sources = sorted((self.root / "backend_template/layers").glob("*.cpp"))
        one = self.folder / "layers.cpp"
        lines = (f'#include "{source.relative_to(self.root)}"\n' for source in sources)
        one.write_text("".join(lines), "utf-8")
        return one

    def problems(self) -> list[str]:
        tests = self.root / "tests/runtime"
        program, source = str(self.folder / "program"), "appended_slot.cpp"
        both = self.edit([DECLARATION, ROW])
        objects = []
        for file in (tests / source, self.layers()):
            objects.append(str(self.folder / file.name) + ".o")
            if said := self.compile(both, "-pthread", "-c", str(file), "-o", objects[-1]):
                return [said]
        if said := self.compile(both, "-pthread", *objects, "-o", program):
            return [said]
        wrong = []
        done = subprocess.run([program], capture_output=True, text=True)
        if done.returncode != 0:
            wrong.append(done.stdout + done.stderr)
        declared, listed = self.edit([DECLARATION]), self.edit([ROW])
        refused = [
            (both, "frozen_layout.cpp", "outback_streams"),
            (declared, source, "a slot of the group streams is not in outback/slot_list.hpp"),
            (listed, source, "priority"),
        ]
        for edited, file, words in refused:
            said = self.compile(edited, "-fsyntax-only", str(tests / file))
            if words not in said:
                wrong.append(f"{file} was to be refused for {words!r}; the compiler said {said!r}")
        return wrong


def main() -> int:
    folder, root, *compiler = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    Path(folder).mkdir()
    wrong = Check(Path(folder), Path(root), compiler).problems()
    print("\n".join(wrong) or "a slot was appended by two edits")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
