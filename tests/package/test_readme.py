"""The code of the README and of the page on operators compiles as it is printed."""

import json
import re
import subprocess

import pytest
from conftest import ROOT

BLOCK = re.compile(r"^```cpp\n(.*?)^```", re.MULTILINE | re.DOTALL)
(RUNTIME,) = BLOCK.findall((ROOT / "README.md").read_text())
(KERNEL,) = (
    block
    for block in BLOCK.findall((ROOT / "docs/operators.md").read_text())
    if block.startswith("#include")  # the other ones are quotes of files that are compiled
)


@pytest.mark.parametrize("source", [RUNTIME, KERNEL], ids=["runtime", "kernel"])
def test_the_printed_code_compiles(build_tree, tmp_path, source):
    file = tmp_path / "module.cpp"
    file.write_text(source)
    # The flags of the scaffold's module, which is the same kind of file.
    commands = json.loads((build_tree / "compile_commands.json").read_text())
    (command,) = (
        c["command"]
        for c in commands
        if c["file"].endswith("generators/project/src/module.cpp")
        and "/torch_acme.dir/" in c["command"]
    )
    flags = re.sub(r" -o \S+ -c \S+$", "", command)
    done = subprocess.run(
        f"{flags} -fsyntax-only '{file}'", shell=True, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
