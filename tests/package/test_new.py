"""`outback new`: what it makes, and what it refuses."""

import contextlib
import keyword
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import ROOT, clean_environment
from torch_outback import answers, names, toolkit
from torch_outback.cli import main

RUNTIMES = [(runtime, "c++") for runtime in answers.RUNTIMES] + [("custom", "c")]


@pytest.fixture
def outback(tmp_path, monkeypatch):
    """Runs the command in an empty folder that is no terminal."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, list(arguments))


def files_of(project: Path) -> set[str]:
    files = (file.relative_to(project).as_posix() for file in project.rglob("*") if file.is_file())
    return {file for file in files if not file.startswith(".outback/")}


def test_it_says_what_to_do_next(outback, tmp_path):
    done = outback("new", "foo", "--yes")
    assert done.exit_code == 0, done.output
    commands = [line.strip() for line in done.output.splitlines()[1:]]
    assert commands == [
        "cd foo",
        "pip install --no-build-isolation '.[test]'",
        "python -m pytest tests",
    ]
    assert (tmp_path / "foo/pyproject.toml").exists()


def test_its_commands_take_any_folder(outback, tmp_path):
    assert outback("new", "foo", "--yes").exit_code == 0
    for file in ("README.md", ".github/workflows/ci.yml"):
        text = (tmp_path / "foo" / file).read_text()
        assert text.count("$(python") == text.count('"$(python -m torch_outback --cmake-dir)"') > 0


@pytest.mark.parametrize("runtime, language", RUNTIMES)
def test_each_choice_has_its_files_and_no_others(outback, tmp_path, runtime, language):
    assert outback("new", "foo", "--runtime", runtime, "--language", language).exit_code == 0
    sources = {file for file in files_of(tmp_path / "foo") if file.startswith("src/")}
    own = {("custom", "c++"): {"src/runtime.cpp"}, ("custom", "c"): {"src/runtime.c"}}
    assert sources == {"src/kernels.cpp", "src/module.cpp"} | own.get((runtime, language), set())
    cmake = (tmp_path / "foo/CMakeLists.txt").read_text()
    assert f"set(OUTBACK_RUNTIME {runtime} CACHE" in cmake
    assert ("tests/foo.expectations" in files_of(tmp_path / "foo")) == (runtime == "custom")


@pytest.mark.parametrize("runtime, language", RUNTIMES)
@pytest.mark.parametrize("license", answers.LICENSES)
def test_nothing_of_the_scaffold_is_left(outback, tmp_path, runtime, language, license):
    done = outback(
        "new", "my_foo", "--runtime", runtime, "--language", language, "--license", license
    )
    assert done.exit_code == 0, done.output
    for file in (tmp_path / "my_foo").rglob("*"):
        assert "acme" not in file.name.lower()
        if file.is_file():
            text = file.read_text()
            assert "acme" not in text.lower(), file
            assert not re.search(r"\{%|%\}|\{\{ ", text), file
    tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")
    project = tomllib.loads((tmp_path / "my_foo/pyproject.toml").read_text())
    assert project["project"]["name"] == "torch-my_foo"
    assert project["project"].get("license") == (None if license == "none" else license)
    assert (tmp_path / "my_foo/LICENSE").exists() == (license != "none")
    for file in (tmp_path / "my_foo").rglob("*.[cp]*"):
        if file.suffix in {".cpp", ".c", ".py"}:
            line = file.read_text().splitlines()[0]
            assert ("SPDX-License-Identifier: " + license in line) == (license != "none"), file


def test_the_cpp_names_are_in_the_style_of_each_place(outback, tmp_path):
    assert outback("new", "my_foo", "--yes").exit_code == 0
    runtime = (tmp_path / "my_foo/src/runtime.cpp").read_text()
    assert "class my_foo_device" in runtime and '"MyFoo device"' in runtime
    assert "const outback_runtime* my_foo_runtime()" in runtime
    assert "MY_FOO_VISIBLE_DEVICES" in (tmp_path / "my_foo/README.md").read_text()


@pytest.mark.parametrize("language", answers.LANGUAGES)
def test_what_a_vendor_writes_is_little(outback, tmp_path, language):
    assert outback("new", "foo", "--language", language).exit_code == 0

    def lines(*files: str) -> int:
        return sum(len((tmp_path / "foo" / file).read_text().splitlines()) for file in files)

    runtime = lines("src/runtime.cpp" if language == "c++" else "src/runtime.c")
    around = lines("src/module.cpp", "CMakeLists.txt")
    assert runtime + around <= 200
    if language == "c++":
        words = " ".join((ROOT / "README.md").read_text().split())
        assert f"the runtime, {runtime} lines as it stands" in words
        assert f"the registration and the CMake file, {around} lines" in words


@pytest.mark.parametrize(
    "name, why, instead",
    [
        ("cuda", "PyTorch has a device of that name", "my_cuda"),
        ("gpu", "PyTorch has a device of that name", "my_gpu"),
        ("privateuseone", "PyTorch has a device of that name", "my_privateuseone"),
        ("Foo", "upper-case", "foo"),
        ("foo-bar", "only lower-case letters and underscores", "foo_bar"),
        ("a100", "digits", "a"),
        ("_foo", "begin and end with a letter", "foo"),
        ("class", "keyword", "my_class"),
        ("linalg", "torch.linalg is there already", "my_linalg"),
        ("softmax", "torch.softmax() is there already", "my_softmax"),
        ("dim", "torch.Tensor.dim() is there already", "my_dim"),
        ("x" * 33, "33 characters", "x" * 28),
        ("ümlaut", "only lower-case letters", "mlaut"),
        ("42", "digits", "acme"),
    ],
)
def test_a_bad_name_is_refused_with_a_better_one(outback, tmp_path, name, why, instead):
    done = outback("new", name, "--yes")
    assert done.exit_code == 2
    assert why in done.output and done.output.endswith(f"Try: outback new {instead}\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [["--yes"], []])
def test_without_a_terminal_it_asks_nothing(outback, tmp_path, arguments):
    done = outback("new", *arguments)
    assert done.exit_code == 2 and "needs a NAME" in done.output
    assert not list(tmp_path.iterdir())


def test_a_language_for_a_runtime_of_outbacks_is_refused(outback, tmp_path):
    done = outback("new", "foo", "--runtime", "cuda", "--language", "c")
    assert done.exit_code == 2 and "leave one of them out" in done.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what", ["file", "folder with a file"])
def test_what_is_there_already_is_left_alone(outback, tmp_path, what):
    there = tmp_path / "foo"
    if what == "file":
        there.write_text("mine")
    else:
        there.mkdir()
        (there / "mine").write_text("mine")
    done = outback("new", "foo", "--yes")
    assert done.exit_code == 2 and "choose another" in done.output
    assert (there if what == "file" else there / "mine").read_text() == "mine"
    assert {entry.name for entry in tmp_path.iterdir()} == {"foo"}


def test_an_empty_folder_is_filled_and_stays_the_same_one(outback, tmp_path):
    here = tmp_path.stat().st_ino
    assert outback("new", "foo", "--yes", "--dir", ".").exit_code == 0
    assert tmp_path.stat().st_ino == here and (tmp_path / "CMakeLists.txt").exists()


def test_a_write_that_fails_leaves_nothing(outback, tmp_path, monkeypatch):
    monkeypatch.setattr(answers.Answers, "save", lambda self: 1 / 0)
    assert isinstance(outback("new", "foo", "--yes").exception, ZeroDivisionError)
    assert not list(tmp_path.iterdir())


def test_in_a_terminal_it_asks_for_what_it_does_not_know(tmp_path):
    """A pseudo-terminal, since whether there is a terminal is what it looks at."""
    command = [sys.executable, "-m", "torch_outback", "new", "--dir", str(tmp_path / "made")]
    process, terminal = pty.fork()
    if process == 0:
        os.environ["PYTHONPATH"] = str(ROOT / "generators/cli")
        os.execv(command[0], command)
    os.write(terminal, b"cuda\nfoo\n\nc\nMIT\n")
    said = b""
    with contextlib.suppress(OSError):  # how Linux tells that the other end is closed
        while data := os.read(terminal, 4096):
            said += data
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert status == 0, said.decode()
    assert "my_cuda would do" in said.decode()
    assert (tmp_path / "made/src/runtime.c").exists()
    assert (tmp_path / "made/LICENSE").read_text().startswith("MIT")


def test_it_takes_no_torch_and_no_build(tmp_path):
    code = (
        "import sys; from torch_outback.cli import main; "
        "main(['new', 'foo', '--yes'], standalone_mode=False); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "generators/cli"), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == "False", done.stderr


# Names that torch has not taken otherwise, as registration/name.cpp judges them.
LEGAL = ["foo", "foo_bar", "f", "x" * 32]
REFUSED = re.findall(
    r"\S+",
    """
    cuda CUDA gpu mps mpsx metal privateuse privateuse1 accelerator xpu hpu cpu meta mtia lazy maia
    vulkan xla ve ipu ideep mkldnn opengl opencl hip fpga _f f_ f1 1 é f-b f.b
    """,
)
REFUSED += ["", "f b", "x" * 33]


def test_the_command_and_the_registration_agree_on_names(build_tree):
    code = """
import sys, torch, outback_probe
for name in sys.argv[1:]:
    try:
        outback_probe.register(name)
    except Exception as error:
        print(repr(name), "cannot be a device's name" in str(error))
"""

    def refused_in_cpp(*given: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", code, *given],
            env=clean_environment(
                PYTHONPATH=str(build_tree / "python_probe"), TORCH_DEVICE_BACKEND_AUTOLOAD="0"
            ),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert refused_in_cpp(*REFUSED) == [f"{name!r} True" for name in REFUSED]
    assert all(map(names.problem, REFUSED))
    for name in LEGAL:
        assert refused_in_cpp(name) == [] and not names.problem(name)


def test_every_keyword_is_refused():
    for name in keyword.kwlist:
        assert names.problem(name), name


def test_its_torch_is_the_one_that_is_there(outback, tmp_path):
    import torch

    assert outback("new", "foo", "--yes").exit_code == 0
    minor = ".".join(torch.__version__.split(".")[:2])
    assert f'"torch=={minor}.*"' in (tmp_path / "foo/pyproject.toml").read_text()


def test_the_version_is_stated_once():
    assert toolkit.version() in (ROOT / "CMakeLists.txt").read_text()
