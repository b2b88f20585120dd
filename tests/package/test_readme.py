"""The README's code is code: it compiles as it is printed."""

import json
import re
import subprocess

from conftest import ROOT

(RUNTIME,) = re.findall(
    r"^```cpp\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
)


def test_the_code_of_the_readme_compiles(build_tree, tmp_path):
    file = tmp_path / "module.cpp"
    file.write_text(RUNTIME)
    # The flags of the scaffold's half, which links torch and Python.
    commands = json.loads((build_tree / "compile_commands.json").read_text())
    (command,) = (
        c["command"]
        for c in commands
        if c["file"].endswith("generators/loader/module.cpp")
        and "/torch_acme_half.dir/" in c["command"]
    )
    flags = re.sub(r" -o \S+ -c \S+$", "", command)
    done = subprocess.run(
        f"{flags} -fsyntax-only '{file}'", shell=True, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
