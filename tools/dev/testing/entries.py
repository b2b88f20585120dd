"""What ctest would run in a build tree, read from the files that CMake leaves for it: of programs
that are not built yet, too."""

import re
from dataclasses import dataclass
from pathlib import Path

_FILE = "CTestTestfile.cmake"
_TEST = re.compile(r"^add_test\((?:\[=\[(?P<name>.*?)\]=\]|(?P<bare>\S+))\s+(?P<command>.*)\)$")
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|\[==\[(.*?)\]==\]|(\S+)')
# Those of a GoogleTest program that is asked for its tests once it is built.
_DISCOVERED = re.compile(r'^include\("(.*)/(\w+)\[\d+\]_include\.cmake"\)$')
_SUBFOLDER = re.compile(r'^subdirs\("(.*)"\)$')


@dataclass(frozen=True)
class Entry:
    name: str
    folder: Path  # of the CMakeLists.txt that adds it, relative to the root of the tree
    command: tuple[str, ...]
    built: bool = True  # False: stands for all entries `name`.* of a program not built yet

    @property
    def is_whole_program(self) -> bool:
        """A GoogleTest program without options, which obeys GTEST_FILTER: as outback_add_test adds
        it. That of a runtime suite has more to say of the whole than which tests passed."""
        return len(self.command) == 1 and Path(self.command[0]).name == self.name


def read(tree: Path) -> list[Entry]:
    """Not those that ctest leaves out without `-C long`."""
    return list(_folder(tree, tree))


def _folder(tree: Path, folder: Path):
    file = folder / _FILE
    if not file.exists():
        return
    within = folder.relative_to(tree)
    for line in file.read_text("utf-8").splitlines():
        if found := _TEST.match(line):
            yield _entry(found, within)
        elif found := _DISCOVERED.match(line):
            yield from _discovered(Path(found[1]), found[2], within)
        elif found := _SUBFOLDER.match(line):
            yield from _folder(tree, folder / found[1])


def _discovered(folder: Path, program: str, within: Path):
    listed = next(folder.glob(f"{program}[[]*[]]_tests.cmake"), None)
    if listed is None:
        yield Entry(program, within, (str(folder / program),), built=False)
        return
    for line in listed.read_text("utf-8").splitlines():
        if found := _TEST.match(line):
            yield _entry(found, within)


def _entry(found: re.Match, folder: Path) -> Entry:
    words = tuple("".join(word) for word in _WORD.findall(found["command"]))
    return Entry(found["name"] or found["bare"], folder, words)
