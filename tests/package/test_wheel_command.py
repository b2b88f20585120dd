"""`outback wheel`: what it refuses, what it does not do again, and what it says. Nothing is
compiled or downloaded here: made-up wheels stand in for what the project's build makes."""

import hashlib
import http.server
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_up_wheels import single
from torch_outback import cli, new, programs, toolkit
from torch_outback.answers import Answers
from torch_outback.refused import Refused
from torch_outback.wheel import (
    archive,
    compiling,
    downloads,
    environment,
    making,
    manifest,
    repairing,
    trying,
)
from torch_outback.wheel.wanted import Half

OWN = "{}.{}".format(*sys.version_info[:2])
WHEEL = "torch_acme-0.1.0-cp{0}-cp{0}-linux_x86_64.whl".format(OWN.replace(".", ""))


@pytest.fixture
def project(tmp_path):
    new.create(tmp_path / "acme", Answers("acme", author="somebody", torch="2.13").completed())
    return tmp_path / "acme"


class Build:
    """Stands in for all that downloads, compiles and runs; says what was made."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.fails_at = ""


@pytest.fixture
def build(monkeypatch):
    build = Build()

    class Made(environment.Environment):
        def torch(self) -> str:
            return f"{self.python.name}.0"

    def wheel(project, environment, work, kept, without_torch=False):
        torch = environment.python.name
        build.made.append("the runtime" if without_torch else torch)
        if torch == build.fails_at:
            raise Refused("the project's wheel could not be built")
        made = single("2.13", libtorch_acme_runtime=b"new") if without_torch else single(torch)
        if without_torch:
            files = {path: text for path, text in made.wheel.files.items() if "_half" not in path}
            return type(made)(made.name, archive.Wheel(files))
        return made

    monkeypatch.setattr(
        environment, "own", lambda half, wanted: Made(Path("/somewhere", half.torch))
    )
    monkeypatch.setattr(compiling, "wheel", wheel)
    monkeypatch.setattr(trying, "half", lambda *_: "it imports")
    return build


def outback(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(cli.main, ["wheel", *map(os.fspath, arguments), "--no-repair"])
    return done.exit_code, done.output


def git(folder: Path, *words: str) -> None:
    as_somebody = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.com")
    subprocess.run(["git", "-C", folder, *as_somebody, *words], check=True, capture_output=True)


def refusal(*arguments: str | Path) -> str:
    code, said = outback(*arguments)
    assert code == 2, said
    (line,) = said.splitlines()
    return line


# ---- What is done, and what is not done again


def test_a_second_run_makes_what_is_missing(project, build):
    assert outback(project, "--torch", "2.11,2.13")[0] == 0
    assert build.made == ["2.11", "2.13"]
    (made,) = (project / "dist").glob("*.whl")
    first = made.read_bytes()
    code, said = outback(project, "--torch", "2.13,2.12,2.11")
    assert code == 0 and build.made == ["2.11", "2.13", "2.12"]
    assert said.splitlines()[0] == f"torch 2.11, Python {OWN}: made already"
    assert outback(project, "--torch", "2.13,2.11")[0] == 0
    assert build.made == ["2.11", "2.13", "2.12"] and made.read_bytes() == first


def test_what_was_interrupted_goes_on(project, build):
    build.fails_at = "2.13"
    assert "could not be built" in outback(project, "--torch", "2.12,2.13")[1]
    assert not list((project / "dist").glob("*"))
    build.fails_at = ""
    assert outback(project, "--torch", "2.12,2.13")[0] == 0
    assert build.made == ["2.12", "2.13", "2.13"]
    assert not list((project / "build/outback-wheel").glob("*.part"))


def test_other_sources_are_compiled_again(project, build, monkeypatch):
    outback(project, "--torch", "2.13")
    (project / "src/kernels.cpp").write_text("// other ones\n")
    outback(project, "--torch", "2.13")
    monkeypatch.setenv("CXXFLAGS", "-O1")
    outback(project, "--torch", "2.13")
    assert len(build.made) == 3


def test_a_wheel_that_is_not_whole_is_made_again(project, build):
    outback(project, "--torch", "2.13")
    (kept,) = (project / "build/outback-wheel").glob("*/*.whl")
    kept.write_bytes(kept.read_bytes()[:-1])
    outback(project, "--torch", "2.13")
    assert len(build.made) == 2


def test_what_the_builder_is_told_is_in_the_key(project, build, monkeypatch):
    outback(project, "--torch", "2.13")
    monkeypatch.setenv("SKBUILD_CMAKE_BUILD_TYPE", "Debug")
    outback(project, "--torch", "2.13")
    assert len(build.made) == 2


def test_another_version_of_git_is_compiled_again(project, build):
    """Which has no file: a tag says it."""
    pyproject = project / "pyproject.toml"
    text = pyproject.read_text()
    pyproject.write_text(re.sub("^version = .*$", 'dynamic = ["version"]', text, flags=re.M))
    assert pyproject.read_text() != text
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "all")
    for tag in ("v0.1.0", "v0.2.0"):
        git(project, "tag", "-a", tag, "-m", tag)
        assert outback(project, "--torch", "2.13")[0] == 0
        assert outback(project, "--torch", "2.13")[0] == 0
        git(project, "commit", "-q", "--allow-empty", "-m", f"after {tag}")
    assert build.made == ["2.13", "2.13"]
    pyproject.write_text(text)
    outback(project, "--torch", "2.13")
    git(project, "tag", "v0.3.0")
    assert "made already" in outback(project, "--torch", "2.13")[1]


def test_only_libraries_of_this_machine_are_stripped():
    files = {
        "torch_acme/firmware.so": b"\x7fELF\x01\x02\x01" + bytes(11) + b"\x00\xf3" + b"code",
        "torch_acme/libtext.so": b"INPUT ( libother.so )\n",
    }
    assert compiling.stripped(archive.Wheel(files)).files == files


def test_what_was_copied_for_the_halves_stays_beside_another_runtime(project, build):
    outback(project, "--torch", "2.13")
    (made,) = (project / "dist").glob("*.whl")
    there, copied = archive.read(made), "torch_acme.libs/libvendor-59c0953a.so"
    archive.write(archive.Wheel({**there.files, copied: b"library"}), made)
    assert outback(project, "--runtime-only")[0] == 0
    assert archive.read(made).files[copied] == b"library"


def test_runtime_only_keeps_the_halves(project, build):
    outback(project, "--torch", "2.11,2.13")
    (made,) = (project / "dist").glob("*.whl")
    before = archive.read(made)
    code, said = outback(project, "--runtime-only")
    assert code == 0 and build.made[2:] == ["the runtime"], said
    after = archive.read(made)
    changed = {path for path, content in after.files.items() if before.files.get(path) != content}
    assert changed == {
        "torch_acme/libtorch_acme_runtime.so",
        "torch_acme/_half/manifest.json",
        "torch_acme-0.1.0.dist-info/RECORD",
    }
    runtime = manifest.read(after, made.name)["files"]["libtorch_acme_runtime.so"]
    assert runtime["sha256"] == hashlib.sha256(b"new").hexdigest()


def test_runtime_only_takes_what_outback_wheel_made_of_this_project(project, build):
    outback(project, "--torch", "2.13")
    (made,) = (project / "dist").glob("*.whl")
    text = (project / "pyproject.toml").read_text()
    (project / "pyproject.toml").write_text(text.replace('"torch-acme"', '"Torch.Acme"'))
    archive.write(single("2.13").wheel, made.with_name("torch_acme-0.2.0-cp311-cp311-any.whl"))
    made.with_name("torch_acme-nothing.whl").touch()
    made.with_name("torch_acme_tools-0.1.0-py3-none-any.whl").touch()
    code, said = outback(project, "--runtime-only")
    assert code == 0 and f"compiling the runtime, to replace that of {made}\n" in said
    made.unlink()
    why = "torch_acme-0.2.0-cp311-cp311-any.whl was made otherwise: make one first"
    assert why in refusal(project, "--runtime-only")


def test_runtime_only_refuses_halves_of_another_outback(project, build, monkeypatch):
    """Their loader may be another one."""
    outback(project, "--torch", "2.13")
    version = toolkit.version()
    monkeypatch.setattr(toolkit, "version", lambda: "0.1.7")
    code, said = outback(project, "--runtime-only")
    why = f"made with torch-outback {version}, and this is torch-outback 0.1.7: make the whole"
    assert code == 2 and why in said


# ---- Sources that change while the wheel is made


@pytest.fixture
def meanwhile(build, monkeypatch):
    """Does something once a half has been made."""

    def does(action):
        monkeypatch.setattr(trying, "half", lambda *_: action() or "it imports")

    return does


def stopped(*arguments: str | Path) -> str:
    """The error, below what was said before."""
    code, said = outback(*arguments)
    assert code == 2, said
    return said.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("src/kernels.cpp", lambda file: file.write_text("// other ones\n")),
        ("src/runtime.cpp", lambda file: file.unlink()),
        ("src/new.cpp", lambda file: file.touch()),
    ],
)
def test_a_source_that_changed_meanwhile_is_named(project, meanwhile, name, change):
    meanwhile(lambda: change(project / name))
    said = stopped(project, "--torch", "2.13")
    assert f"{name} in {project} changed since the command began: run it again." in said


def test_the_first_of_many_are_named(project, meanwhile):
    meanwhile(lambda: [(project / f"src/{it}.h").touch() for it in range(5)] and None)
    assert "src/0.h, src/1.h, src/2.h and 2 more in" in stopped(project, "--torch", "2.13")


def test_a_change_is_told_before_the_next_half_is_made(project, build, meanwhile):
    meanwhile((project / "src/new.cpp").touch)
    stopped(project, "--torch", "2.12,2.13")
    assert build.made == ["2.12"]


@pytest.mark.parametrize("name", ["wheel.log", "src/x.log"])
def test_what_the_command_prints_into_the_project_is_no_source(project, build, meanwhile, name):
    """outback wheel . | tee wheel.log"""
    meanwhile(lambda: (project / name).write_text("torch 2.13: compiling\n") and None)
    assert outback(project, "--torch", "2.13")[0] == 0
    assert "made already" in outback(project, "--torch", "2.13")[1]


# ---- What is refused, before anything is made


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--torch", "2.16"], "--torch 2.16: no backend can be built against it"),
        (["--torch", "2.13.1"], "--torch 2.13.1: expected minor releases"),
        (["--torch", "2.13,,"], "--torch 2.13,,: expected minor releases"),
        (["--python", "3.99"], "--python 3.99: there is no python3.99 on the PATH"),
        (["--python", "3.9"], "--python 3.9: expected Python 3.10 or newer"),
        (["--runtime-only"], "dist has none of torch-acme: make one first"),
    ],
    ids=str,
)
def test_what_cannot_be_made_is_refused(project, build, arguments, why):
    assert why in refusal(project, *arguments)
    assert not build.made


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("#!/bin/sh\necho 'pyenv: none' >&2\necho 'see 3.99' >&2\nexit 127\n", "pyenv: none"),
        ("#!/bin/sh\nexit 3\n", "it ends with 3"),
        ("#!/no/such/shell\n", "No such file or directory"),
    ],
)
def test_a_python_that_does_not_run_is_refused(project, build, monkeypatch, tmp_path, program, why):
    """pyenv has such ones for all releases that it has installed."""
    python = tmp_path / "bin/python3.99"
    python.parent.mkdir()
    python.write_text(program)
    python.chmod(0o755)
    monkeypatch.setenv("PATH", f"{python.parent}{os.pathsep}{os.environ['PATH']}")
    said = refusal(project, "--python", "3.99")
    assert said == f"outback: --python 3.99: {python} does not run: {why}"


def test_another_project_is_refused(tmp_path, project):
    other = tmp_path / "other"
    other.mkdir()
    assert "other is no project of Outback: there is no pyproject.toml in it" in refusal(other)
    (other / "pyproject.toml").write_text("[build-system")
    assert "pyproject.toml cannot be read: " in refusal(other)
    (other / "pyproject.toml").write_text('[build-system]\nbuild-backend = "setuptools"\n')
    assert "builds with scikit-build-core" in refusal(other)
    (other / "pyproject.toml").unlink()
    (other / "pyproject.toml").mkdir()
    assert "pyproject.toml cannot be read: Is a directory" in refusal(other)
    (other / "pyproject.toml").rmdir()
    (other / "pyproject.toml").write_text((project / "pyproject.toml").read_text())
    assert "no CMakeLists.txt in it finds Outback" in refusal(other)


def test_the_sources_of_cmake_may_be_in_a_folder_of_their_own(project, build):
    (project / "native").mkdir()
    (project / "CMakeLists.txt").rename(project / "native/CMakeLists.txt")
    assert "no CMakeLists.txt in it finds Outback" in refusal(project)
    with (project / "pyproject.toml").open("a") as pyproject:
        pyproject.write('\n[tool.scikit-build.cmake]\nsource-dir = "native"\n')
    assert outback(project, "--torch", "2.13")[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('name = "torch-acme"', "name = 3", "project.name is 3: expected a text"),
        ('name = "torch-acme"', "", " has no project.name"),
        (
            'version = "0.1.0"',
            'dynamic = "version"',
            "project.dynamic is 'version': expected a list of texts",
        ),
        (
            "[tool.scikit-build]",
            "[tool.scikit-build]\ncmake.source-dir = 1",
            "tool.scikit-build.cmake.source-dir is 1: expected a text",
        ),
        ("[build-system]", "[other]", "builds with scikit-build-core"),
        ("\nrequires = ", "\nother = ", " has no build-system.requires"),
        ('"0.1.0"', "[" * 5000 + "]" * 5000, "cannot be read: "),
        ('"0.1.0"', "'\udcff'", "cannot be read: 'utf-8' codec can't decode byte 0xff"),
    ],
    ids=lambda it: it[:40],
)
def test_what_pyproject_says_wrongly_is_named(project, old, new, why):
    file = project / "pyproject.toml"
    text = file.read_text()
    assert old in text
    file.write_bytes(text.replace(old, new, 1).encode(errors="surrogateescape"))
    said = refusal(project)
    assert said.startswith(f"outback: {file}") and why in said


def test_a_project_that_does_not_require_torch_is_refused(project, build):
    pyproject = project / "pyproject.toml"
    text = pyproject.read_text()
    pyproject.write_text(text.replace('dependencies = ["torch==2.13.*", ', "dependencies = ["))
    assert pyproject.read_text() != text
    assert "the project does not require torch: put it into" in refusal(project)
    pyproject.write_text(
        re.sub("^dependencies = .*$", 'dynamic = ["dependencies"]', text, flags=re.M)
    )
    assert outback(project, "--torch", "2.13")[0] == 0


def test_without_a_compiler_nothing_is_downloaded(project, build, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "there is no C++ compiler: install one, or set CXX" in refusal(project)


def test_without_auditwheel_the_command_says_what_to_install(project, build, monkeypatch):
    monkeypatch.setattr(repairing.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Refused, match=r"pip install 'torch-outback\[wheel\]'; or leave the tag"):
        repairing.check()


@pytest.mark.parametrize("option", ["--out", "--work"])
def test_a_folder_that_cannot_be_written_is_refused(project, build, option):
    taken = project / "README.md"
    assert f"{taken / 'x'} cannot be written to: Not a directory" in refusal(
        project, option, taken / "x"
    )


def test_two_commands_in_one_folder_exclude_each_other(project, build):
    work = project / "build/outback-wheel"
    work.mkdir(parents=True)
    with making.alone(work):
        assert "another outback wheel works in" in refusal(project)


def test_a_torch_that_pip_does_not_find_is_refused(project, monkeypatch, tmp_path):
    """Of an index that has nothing."""
    (tmp_path / "index").mkdir()
    for name, value in {
        "PIP_INDEX_URL": (tmp_path / "index").as_uri(),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": "",
        "PIP_NO_CACHE_DIR": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(environment, "own", lambda half, wanted: None)
    said = refusal(project, "--torch", "2.11")
    assert f"pip finds nothing to compile torch 2.11, Python {OWN} against: " in said
    assert "torch==2.11.*" in said


# ---- Environments


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (["pytest", "Pytest>=1", "pytest[dev]"], True),
        (["no-such-package; sys_platform == 'win32'"], True),
        (["no-such-package"], False),
        (["pytest>=1000"], False),
    ],
    ids=str,
)
def test_this_python_fits_where_it_has_what_the_project_requires(wanted, fits):
    release = environment.Environment(Path(sys.executable)).torch()
    half = Half(".".join(release.split(".")[:2]), OWN)
    found = environment.own(half, [f"torch=={half.torch}.*", *wanted])
    assert (found is not None) == fits
    assert environment.own(Half("1.0", OWN), ["torch==1.0.*"]) is None


def test_pip_installs_into_its_environment_and_nowhere_else(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    for name in ("PIP_PREFIX", "PIP_ROOT", "PIP_TARGET"):
        monkeypatch.setenv(name, str(elsewhere))
    monkeypatch.setenv("PIP_USER", "1")
    monkeypatch.setenv("PYTHONUSERBASE", str(elsewhere))
    archive.write(single("2.13", OWN.replace(".", "")).wheel, tmp_path / WHEEL)
    made = environment.make(Path(sys.executable), tmp_path / "env", tmp_path / "log")
    status = made.pip(tmp_path / "log", "install", "--no-deps", "--no-index", tmp_path / WHEEL)
    assert status == 0, (tmp_path / "log").read_text()
    assert list((tmp_path / "env").glob("lib/python*/site-packages/torch_acme"))
    assert not elsewhere.exists()


def test_what_pip_has_unpacked_is_removed_where_it_is_stopped(tmp_path, monkeypatch):
    seen = []

    def run(command, output, folder, variables, umask):
        seen.append(Path(variables["TMPDIR"]))
        (seen[0] / "pip-unpack-1").mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr(programs, "run", run)
    with pytest.raises(KeyboardInterrupt):
        environment.Environment(Path(sys.executable)).pip(tmp_path / "log", "install")
    assert seen[0].parent == tmp_path and not seen[0].exists()


# ---- What is said


def test_the_sizes_of_downloads_are_asked_for(tmp_path):
    (tmp_path / "numpy.whl").write_bytes(b"x" * 3_000_000)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=tmp_path)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        places = {
            "torch": f"{address}/numpy.whl",
            "numpy": (tmp_path / "numpy.whl").as_uri(),
            "other": f"{address}/nothing.whl",
        }
        report = [
            {"metadata": {"name": name, "version": "1"}, "download_info": {"url": url}}
            for name, url in places.items()
        ]
        found = downloads.of(report)
        server.shutdown()
    assert {it.name: it.size for it in found} == {
        "torch 1": 3_000_000,
        "numpy 1": 3_000_000,
        "other 1": None,
    }
    said = "3 files, 6.0 MB and 1 of unknown size, of which torch 1 is 3.0 MB"
    assert downloads.sentence(found) == said


def test_a_disk_that_is_full_is_said(tmp_path):
    log = tmp_path / "log"
    log.write_text(f"ERROR: it failed\n[Errno 28] {os.strerror(28)}: 'x'\nERROR: more\n")
    assert environment.last_line(log) == f"[Errno 28] {os.strerror(28)}: 'x'"
