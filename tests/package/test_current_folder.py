"""What `outback` starts imports nothing from the current folder, where another user may have put
something; and nothing but one file starts a Python."""

import ast
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT))
from conformance.running import interpreter

# As the script `outback`, which has its own folder in the place of the current one.
OUTBACK = interpreter.NO_CURRENT_FOLDER + "from torch_outback.cli import main; main()"
NAMED = {
    "conformance/running/interpreter.py",
    "generators/cli/torch_outback/doctor/document.py",  # which says where it is
}
# Of the standard library, of torch's, and what starts or reads a Python.
TRAPS = """
    abc argparse array ast codecs collections contextlib ctypes dataclasses encodings enum
    faulthandler functools gc importlib inspect io json linecache logging multiprocessing os
    pathlib pickle platform posixpath pprint random re runpy select signal site sitecustomize
    socket struct subprocess sysconfig tempfile textwrap threading time traceback types typing
    usercustomize warnings weakref expecttest filelock jinja2 networkx numpy packaging psutil
    pytest rich setuptools sympy triton typing_extensions yaml torch torch_acme torch_outback
    conformance first_contact outback_probe
"""


@pytest.fixture
def trapped(tmp_path):
    """A folder in which each file says that it ran; runs a command there, and says what ran."""
    folder, ran = tmp_path / "folder", tmp_path / "ran"
    folder.mkdir()
    for name in TRAPS.split():
        text = f"print(__name__, file=open({str(ran)!r}, 'a'))\nraise SystemExit('a trap')\n"
        (folder / f"{name}.py").write_text(text)

    def run(*command: str, **environment: str) -> subprocess.CompletedProcess:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert not ran.exists(), f"{ran.read_text()}{done.stdout}{done.stderr}"
        return done

    return run


def outback(*arguments: str) -> list[str]:
    return [sys.executable, "-c", OUTBACK, *arguments]


PATHS = str(ROOT / "generators/cli")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--version"], 0),
        (["--cmake-dir"], 0),
        (["new", "small", "--yes"], 0),
        (["update", "--help"], 0),
        (["doctor", "--json"], None),
        (["ops", "--list"], 2),  # after it has imported torch, which finds no backend
        (["ops", "--skeleton", "aten::mm"], 0),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_a_command_imports_nothing_from_the_current_folder(trapped, arguments, status):
    """`outback conformance` is in tests/conformance/test_environment.py, which has a backend."""
    done = trapped(*outback(*arguments), PYTHONPATH=PATHS)
    assert status is None or done.returncode == status, done.stdout + done.stderr


def test_the_build_of_the_torch_half_imports_nothing_from_the_current_folder(trapped, tmp_path):
    """Of a torch that cannot be compiled for: it ends after CMake has asked Python."""
    compiler = tmp_path / "compiler"
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    places = {"OUTBACK_CACHE_DIR": str(tmp_path / "cache"), "CXX": str(compiler)}
    done = trapped(*outback("build"), PYTHONPATH=PATHS, **places)
    assert "the torch half could not be compiled" in done.stderr, done.stderr


@pytest.mark.parametrize("file", ["OutbackTorch", "OutbackTorchHalf", "OutbackCuda"])
def test_the_programs_of_cmake_leave_the_current_folder_out(file):
    """CMake starts them in the folder in which it was started itself."""
    text = (ROOT / f"cmake/{file}.cmake").read_text()
    programs = re.split(r'P(?:YTHON|ython_EXECUTABLE)}" -c\s+(?:"|\[\[\s)', text)[1:]
    assert programs
    for program in programs:
        assert re.match(r"import sys[;\n]\s*sys\.path\[:\] = ", program), program[:200]


def test_only_one_file_starts_a_python():
    """Others name sys.executable in their messages."""
    folders = ("generators/cli", "conformance", "backend_template", "registration", "cmake")
    sources = sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))
    assert len(sources) > 200
    found = {}
    for source in sources:
        if lines := starting_lines(source.read_text(encoding="utf-8")):
            found[source.relative_to(ROOT).as_posix()] = lines
    assert found.keys() == NAMED, found


def test_the_search_for_who_starts_a_python_finds_them():
    for text in (
        "run([sys.executable, '-c', x])",
        "python = sys.executable",
        "from sys import executable",
        "getattr(sys, 'executable')",
        "run(['python3', '-c', x])",
    ):
        assert starting_lines(text), text
    assert not starting_lines("f'{sys.executable} has no torch'")


def starting_lines(text: str) -> list[int]:
    tree = ast.parse(text)
    told = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FormattedValue)
        for inner in ast.walk(node)
    }
    return [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr == "executable" and id(node) not in told)
        or (isinstance(node, ast.alias) and node.name == "executable")
        or (isinstance(node, ast.Constant) and node.value in ("executable", "python3"))
    ]


@pytest.mark.parametrize("name", ["python3.10", "python3.11", "python3.12"])
def test_the_first_statement_does_it_where_there_is_no_option(trapped, name):
    python = shutil.which(name)
    if (
        python is None
        or subprocess.run([python, "-V"], capture_output=True, check=False).returncode
    ):
        pytest.skip(f"there is no {name}")
    given = interpreter.program("import json, runpy, site; print('done')")
    done = trapped(python, *(word for word in given[1:] if word != "-P"))
    assert done.stdout == "done\n", done.stderr
