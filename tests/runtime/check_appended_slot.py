"""Appends a slot to a group of the contract, in copies of the two files that have to know it, and
runs what appended_slot.cpp says of it. One of the two edits alone does not compile.

    python check_appended_slot.py COMPILER REPOSITORY
"""

import subprocess
import sys
import tempfile
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
    def __init__(self, compiler: str, root: Path, folder: Path) -> None:
        self.compiler, self.root, self.folder = compiler, root, folder
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
        command = [self.compiler, "-std=c++20", "-O0", "-Wall", "-Wextra", *folders, *arguments]
        return subprocess.run(command, capture_output=True, text=True).stderr

    def layers(self) -> Path:
        """All sources of the layers in one, which compiles sooner."""
        sources = sorted((self.root / "backend_template/layers").glob("*.cpp"))
        one = self.folder / "layers.cpp"
        one.write_text("".join(f'#include "{source}"\n' for source in sources), "utf-8")
        return one

    def problems(self) -> list[str]:
        tests = self.root / "tests/runtime"
        program, source = str(self.folder / "program"), "appended_slot.cpp"
        both = self.edit([DECLARATION, ROW])
        said = self.compile(
            both, str(tests / source), str(self.layers()), "-pthread", "-o", program
        )
        if said:
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
    with tempfile.TemporaryDirectory() as folder:
        wrong = Check(sys.argv[1], Path(sys.argv[2]), Path(folder)).problems()
    print("\n".join(wrong) or "a slot was appended by two edits")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
