"""`outback new`: what it makes, and what it refuses."""

import contextlib
import errno
import os
import pty
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import ROOT
from torch_outback import answers, cache, names, toolkit
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


URL = "git+https://example.org/outback.git@v0.1"


@pytest.mark.parametrize("given, url", [(URL, URL), (str(ROOT), ROOT.as_uri()), (None, None)])
def test_where_the_toolkit_comes_from(outback, tmp_path, given, url):
    options = ("--toolkit", given) if given else ()
    assert outback("new", "foo", "--yes", *options).exit_code == 0
    minor = toolkit.minor_version()
    plain, extra = "torch-outback", "torch-outback[conformance]"
    words = {it: f'"{it} @ {url}"' if url else f'"{it}~={minor}.0"' for it in (plain, extra)}
    counts = {"pyproject.toml": (2, 1), ".github/workflows/ci.yml": (0, 1)}
    assert (
        f'"{words[plain][1:-1].replace(plain, plain + "[wheel]")}"'
        in (tmp_path / "foo/.github/workflows/wheel.yml").read_text()
    )
    for file, expected in (counts | {".github/workflows/conformance.yml": (0, 3)}).items():
        text = (tmp_path / "foo" / file).read_text()
        assert (text.count(words[plain]), text.count(words[extra])) == expected, file
    # A later release is on the index, or elsewhere.
    for later, word in (("index", f"{plain}~={minor}.0"), (URL, f"{plain} @ {URL}")):
        assert outback("update", "foo", "--toolkit", later).exit_code == 0
        assert f'"{word}"' in (tmp_path / "foo/pyproject.toml").read_text()
        assert outback("update", "foo", "--check").exit_code == 0


@pytest.mark.parametrize(
    "given",
    ["nowhere", "ftp://example.org/x", "https://example.org/a b", 'https://x/"', "file.txt"],
)
def test_a_toolkit_that_pip_would_not_find_is_refused(outback, tmp_path, given):
    (tmp_path / "file.txt").write_text("")
    done = outback("new", "foo", "--yes", "--toolkit", given)
    assert done.exit_code != 0
    assert f"--toolkit {given}: " in done.output
    assert not (tmp_path / "foo").exists()


@pytest.mark.parametrize("runtime, language", RUNTIMES)
def test_each_choice_has_its_files_and_no_others(outback, tmp_path, runtime, language):
    assert outback("new", "foo", "--runtime", runtime, "--language", language).exit_code == 0
    sources = {file for file in files_of(tmp_path / "foo") if file.startswith("src/")}
    own = {("custom", "c++"): {"src/runtime.cpp"}, ("custom", "c"): {"src/runtime.c"}}
    assert sources == {"src/kernels.cpp"} | own.get((runtime, language), set())
    cmake = (tmp_path / "foo/CMakeLists.txt").read_text()
    assert f"set(OUTBACK_RUNTIME {runtime} CACHE" in cmake
    assert ("tests/foo.expectations" in files_of(tmp_path / "foo")) == (runtime == "custom")
    load = "load" if runtime == "cuda" else "load_unless_cuda"
    project = (tmp_path / "foo/pyproject.toml").read_text()
    assert f'\ntorch_foo = "_torch_foo_autoload:{load}"\n' in project


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
            assert not re.search(r"\{%|%\}|(?<!\$)\{\{ ", text), file
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
    around = lines("torch_foo/__init__.py", "CMakeLists.txt")
    assert runtime + around <= 200
    if language == "c++":
        words = " ".join((ROOT / "README.md").read_text().split())
        assert f"the project's runtime ({runtime} lines)" in words
        assert f"the registration and the CMake file ({around} lines)" in words


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
        ("my-dev", "only lower-case letters and underscores", "my_dev"),
        ("data", "torch.Tensor.data is there already", "my_data"),
        ("ops", "torch.ops is there already", "my_ops"),
        ("outback", "the toolkit's own", "my_outback"),
    ],
)
def test_a_bad_name_is_refused_with_a_better_one(outback, tmp_path, name, why, instead):
    done = outback("new", name, "--yes")
    assert done.exit_code == 2
    assert why in done.output and done.output.endswith(f"Try: outback new {instead}\n")
    assert done.output.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [["--yes"], []])
def test_without_a_terminal_it_asks_nothing(outback, tmp_path, arguments):
    done = outback("new", *arguments)
    assert done.exit_code == 2 and "needs a NAME" in done.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "defaults"),
    [
        ([], "--runtime custom, --language c++, --license BSD-3-Clause"),
        (["--language", "c"], "--runtime custom, --license BSD-3-Clause"),
        (["--runtime", "host"], "--license BSD-3-Clause"),
        (["--runtime", "host", "--license", "MIT"], ""),
        (["--yes"], ""),
    ],
)
def test_without_a_terminal_it_says_which_defaults_it_takes(outback, arguments, defaults):
    done = outback("new", "foo", *arguments)
    assert done.exit_code == 0, done.output
    said = f"There was no terminal to ask in, so these are the defaults: {defaults}\n"
    assert done.output.startswith(said) if defaults else "terminal" not in done.output


@pytest.mark.parametrize("name", ["npu", "musa", "mlu", "xla", "gcu", "tensorrt"])
def test_a_name_whose_package_others_have_is_refused(outback, tmp_path, name):
    done = outback("new", name, "--yes")
    assert done.exit_code == 2 and not list(tmp_path.iterdir())
    assert done.output.endswith(f"Try: outback new my_{name}\n") and done.output.count("\n") == 1
    if name != "xla":  # which is PyTorch's own device
        assert f"there is a package torch_{name} of others'" in done.output
        assert names.problem(name) == ""  # they may call their device so


def test_a_project_is_for_a_torch_that_there_is(outback, tmp_path, monkeypatch):
    for found, expected in (("2.12", "2.12"), ("2.10", "2.15"), ("2.16", "2.16")):
        (tmp_path / "torch").mkdir(exist_ok=True)
        (tmp_path / "torch/version.py").write_text(f"__version__ = '{found}.0+cpu'\n")
        spec = types.SimpleNamespace(origin=str(tmp_path / "torch/__init__.py"))
        monkeypatch.setattr(answers.importlib.util, "find_spec", lambda _, spec=spec: spec)
        done = outback("new", "foo", "--yes", "--dir", found)
        assert f"for torch {expected}. Next:" in done.output


def test_the_jobs_of_conformance_run_where_the_vendor_says(outback, tmp_path):
    outback("new", "foo", "--yes")
    text = (tmp_path / "foo/.github/workflows/conformance.yml").read_text()
    assert text.count("runs-on: ${{ vars.FOO_RUNNER || 'ubuntu-latest' }}\n") == 3
    assert text.count("runs-on:") == 3 and "set the repository's variable FOO_RUNNER" in text


def test_the_wheel_brings_numpy(outback, tmp_path):
    outback("new", "foo", "--yes")
    text = (tmp_path / "foo/pyproject.toml").read_text()
    assert re.search(r'^dependencies = \["torch==2\.\d+\.\*", "numpy"\]', text, re.MULTILINE)


def test_cmake_says_where_outback_is(outback, tmp_path):
    outback("new", "foo", "--yes")
    command = ["cmake", "-S", tmp_path / "foo", "-B", tmp_path / "build"]
    command += ["-DCMAKE_DISABLE_FIND_PACKAGE_Outback=ON"]  # as where there is none
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert 'add -D Outback_DIR="$(python -m torch_outback --cmake-dir)"' in said


def test_a_language_for_a_runtime_of_outbacks_is_refused(outback, tmp_path):
    done = outback("new", "foo", "--runtime", "cuda", "--language", "c")
    assert done.exit_code == 2 and "leave one of them out" in done.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what", ["file", "folder", "repository"])
def test_what_is_there_already_is_left_alone(outback, tmp_path, what):
    there = tmp_path / "foo"
    if what == "file":
        there.write_text("mine")
    else:
        there.mkdir()
        (there / "mine").write_text("mine")
        if what == "repository":
            (there / ".git").mkdir()
    done = outback("new", "foo", "--yes")
    assert done.exit_code == 2 and "choose another" in done.output
    assert (there if what == "file" else there / "mine").read_text() == "mine"
    assert {entry.name for entry in tmp_path.iterdir()} == {"foo"}


@pytest.mark.parametrize("git", ["folder", "file"])  # a file where it is a part of another one
def test_a_folder_with_a_history_alone_counts_as_empty(outback, tmp_path, git):
    there = tmp_path / "foo"
    there.mkdir()
    mine = there / (".git/HEAD" if git == "folder" else ".git")
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")
    done = outback("new", "foo", "--yes")
    assert done.exit_code == 0, done.output
    assert mine.read_text() == "mine" and (there / "CMakeLists.txt").exists()
    assert not list(there.rglob(".*.????????????????"))
    assert outback("new", "foo", "--yes").exit_code == 2


def test_a_link_that_leads_nowhere_is_left_alone(outback, tmp_path):
    (tmp_path / "foo").symlink_to("nowhere")
    done = outback("new", "foo", "--yes")
    assert done.exit_code == 2 and "leads nowhere" in done.output
    assert [entry.name for entry in tmp_path.iterdir()] == ["foo"]


def test_a_folder_that_cannot_be_is_refused_in_one_line(outback, tmp_path):
    (tmp_path / "file").write_text("mine")
    # Not even root makes one in /proc.
    for folder, words in (("file/a/b", "file is there already"), ("/proc/a/b", "No such file")):
        done = outback("new", "foo", "--yes", "--dir", folder)
        assert done.exit_code == 2 and words in done.output, done.output
        assert done.output.startswith("outback: ") and done.output.count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("folder", ["foo", "a/b/foo", "."])
@pytest.mark.parametrize("what", ["full disk", "read-only", "interrupt"])
def test_a_project_is_made_whole_or_not_at_all(outback, tmp_path, monkeypatch, what, folder):
    """The files take their places one by one: the third fails."""
    error = {
        "full disk": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere"),
        "read-only": OSError(errno.EROFS, os.strerror(errno.EROFS), "somewhere"),
        "interrupt": KeyboardInterrupt(),
    }[what]
    replace = os.replace
    calls = []

    def fails(source, target, **folders):
        calls.append(target)
        if len(calls) == 3:
            raise error
        return replace(source, target, **folders)

    monkeypatch.setattr(os, "replace", fails)
    done = outback("new", "foo", "--yes", "--dir", folder)
    assert not list(tmp_path.iterdir())
    if what == "interrupt":
        assert done.exit_code == 1 and done.output.strip() == "Aborted!"
    else:
        said = f"outback: {folder} cannot be written: {error.strerror}. Choose another folder"
        assert done.exit_code == 2 and done.output.startswith(said), done.output
        assert done.output.count("\n") == 1


def test_a_folder_is_filled_where_nothing_beside_it_can_be_made(outback, tmp_path, monkeypatch):
    """As the one writable folder of a container, which is a file system of its own."""
    (tmp_path / "foo").mkdir()
    mkdtemp = tempfile.mkdtemp

    def there_alone(suffix=None, prefix=None, dir=None):
        if Path(dir).resolve() != tmp_path / "foo":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), dir)
        return mkdtemp(suffix, prefix, dir)

    monkeypatch.setattr(tempfile, "mkdtemp", there_alone)
    done = outback("new", "foo", "--yes")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "foo/CMakeLists.txt").exists()


@pytest.mark.parametrize("author", ["Ada\nLovelace", "Ada\udcff", "Ada\u2028Lovelace"])
def test_an_author_is_a_line_of_text(outback, tmp_path, author):
    done = outback("new", "foo", "--yes", "--author", author)
    assert done.exit_code == 2 and "the author is one line of text" in done.output
    assert not list(tmp_path.iterdir())


def test_an_author_whom_git_knows_in_another_encoding_is_no_error(outback, tmp_path, monkeypatch):
    (tmp_path / "config").write_bytes(b"[user]\n\tname = Andr\xe9\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    done = outback("new", "foo", "--yes")
    assert done.exit_code == 0, done.output
    assert "Andr\N{REPLACEMENT CHARACTER}" in (tmp_path / "foo/LICENSE").read_text(encoding="utf-8")


def test_an_author_whom_git_knows_in_two_lines_is_nobody(outback, tmp_path, monkeypatch):
    (tmp_path / "config").write_text('[user]\n\tname = "Ada\\nLovelace"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    assert outback("new", "foo", "--yes").exit_code == 0
    assert answers.load(tmp_path / "foo").author == "the foo authors"


def run_command(*arguments: str | bytes, before: str = "", **variables: str) -> tuple[int, bytes]:
    """Exit code, and all that it prints; `before` is of the shell that starts it."""
    done = subprocess.run(
        ["sh", "-c", f'{before} "$0" -m torch_outback "$@"', sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": os.fspath(ROOT / "generators/cli"), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done.returncode, done.stdout


def test_a_folder_is_printed_as_the_bytes_that_it_is(tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff"
    code, output = run_command("new", "foo", "-y", "--dir", folder, PYTHONIOENCODING="utf-8:strict")
    assert code == 0 and b"torch_foo is in " + folder in output, output


def test_an_option_that_cannot_print_says_so_in_one_line():
    code, output = run_command("--cmake-dir", before="exec 3>&1; exec >/dev/full 2>&3;")
    assert (code, output) == (2, b"outback: No space left on device\n")


def test_without_a_standard_input_it_asks_nothing(tmp_path):
    code, output = run_command("new", "foo", "--dir", str(tmp_path / "foo"), before="exec <&-;")
    assert code == 0 and (tmp_path / "foo/CMakeLists.txt").exists(), output


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


def test_its_torch_is_the_one_that_is_there(outback, tmp_path):
    import torch

    assert outback("new", "foo", "--yes").exit_code == 0
    minor = ".".join(torch.__version__.split(".")[:2])
    assert f'"torch=={minor}.*"' in (tmp_path / "foo/pyproject.toml").read_text()


def test_the_version_is_stated_once():
    assert toolkit.version() in (ROOT / "CMakeLists.txt").read_text()


# ---- Conformance

STUB = """#!/bin/sh
printf '%s\\n' "$@"
"""


@pytest.fixture
def conformance(outback, tmp_path):
    """The project's script, beside an `outback` that prints its arguments."""
    assert outback("new", "foo", "--yes").exit_code == 0
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/outback").write_text(STUB)
    (tmp_path / "bin/outback").chmod(0o755)

    def run(*arguments: str) -> list[str]:
        command = ["sh", tmp_path / "foo/conformance/run.sh", *arguments]
        path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path}
        return subprocess.check_output(command, env=environment, text=True).splitlines()

    return run


def test_conformance_is_a_script_with_reports(conformance, tmp_path):
    expected = ["conformance", "--device", "foo", "--import", "torch_foo", "--level", "quick"]
    said = conformance()
    assert said[:7] == expected
    assert "build/conformance/quick.html" in said and "--baseline" not in said
    (tmp_path / "foo/conformance/baseline.json").write_text("{}")
    said = conformance("standard", "--suite", "two words")
    assert said[6] == "standard" and said[-2:] == ["--suite", "two words"]
    assert said[said.index("--baseline") + 1] == "conformance/baseline.json"


def test_the_options_of_the_script_are_those_of_the_command(conformance):
    from torch_outback.conformance.command import conformance as command

    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in conformance() if word.startswith("--")} <= known


def test_the_header_of_the_expectations_expects_nothing(outback, tmp_path):
    from torch_outback.conformance.expectations import Expectations

    assert outback("new", "foo", "--yes").exit_code == 0
    file = tmp_path / "foo/conformance/expectations.txt"
    assert Expectations.load(file).lines == ()
    given = [line[4:] for line in file.read_text().splitlines() if line.startswith("#   ")]
    file.write_text("\n".join(given))
    loaded = Expectations.load(file)
    assert len(loaded.lines) == len(given) == 3
    assert [str(each) for each in loaded.tolerances] == ["operators/nn.functional.gelu=0.001,0.001"]


def test_the_workflow_has_a_job_for_each_occasion(outback, tmp_path):
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    assert outback("new", "foo", "--yes").exit_code == 0
    workflow = yaml.safe_load((tmp_path / "foo/.github/workflows/conformance.yml").read_text())
    on = workflow[True]  # which YAML 1.1 reads `on` as
    assert {"push", "pull_request", "schedule"} <= on.keys()
    jobs = workflow["jobs"]
    assert jobs.keys() == {"quick", "standard", "torch-nightly"}
    crons = {each["cron"] for each in on["schedule"]}
    assert crons == set(re.findall("schedule == '(.*?)'", str(jobs)))
    for name, job in jobs.items():
        runs = [step["run"] for step in job["steps"] if "run" in step]
        level = "quick" if name == "quick" else "standard"
        assert runs[-1].startswith(f"sh conformance/run.sh {level}")
        kept = job["steps"][-1]
        assert kept["uses"].startswith("actions/upload-artifact") and kept["if"] == "!cancelled()"


# ---- outback build


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(errno.EACCES, "Permission denied", "/cache"),
        OSError(errno.ENOSPC, "No space left on device", "/cache"),
    ],
)
def test_a_cache_that_cannot_be_written_is_one_sentence(outback, monkeypatch, error):
    def provide(rebuild):
        raise error

    monkeypatch.setattr(cache, "provide", provide)
    done = outback("build")
    assert done.exit_code == 2 and done.output.count("\n") == 1
    assert f"/cache: {error.strerror}" in done.output and "OUTBACK_CACHE_DIR" in done.output


def test_a_cache_that_is_a_file_is_one_sentence(outback, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv("OUTBACK_CACHE_DIR", str(tmp_path / "file"))
    done = outback("build")
    assert done.exit_code == 2 and str(tmp_path / "file") in done.output
    assert done.output.startswith("outback: ") and done.output.count("\n") == 1


def test_build_without_torch_says_so(outback, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # an import of it fails
    done = outback("build")
    assert done.exit_code == 2 and f"{sys.executable} has no torch" in done.output
