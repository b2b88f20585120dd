"""The README's code is code: it compiles as it is printed."""

import json
import re
import subprocess

import pytest
from conftest import ROOT

BLOCKS = re.findall(
    r"^```cpp\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
)
# A class and its registration; statements of a program that has such a class; and a native kernel.
RUNTIME, PROGRAM, KERNEL = BLOCKS


@pytest.mark.parametrize(
    "source",
    [
        RUNTIME,
        "#include <outback/nn.h>\n#include <torch/nn/modules/linear.h>\n"
        f"{RUNTIME}\nvoid program(my_device& device) {{\n{PROGRAM}}}\n",
        KERNEL,
    ],
    ids=["runtime", "program", "kernel"],
)
def test_the_code_of_the_readme_compiles(build_tree, tmp_path, source):
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
