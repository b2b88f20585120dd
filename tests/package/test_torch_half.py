"""The torch half of a CMake project: out of the cache, or compiled where the project is."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import ROOT, call, clean_environment
from torch_outback import building, cache, programs, torch_half
from torch_outback.refused import Refused

ARCHIVES = ["liboutback_kernels.a", "liboutback_torch.a"]


# ---- The step of the build


@pytest.fixture
def into(tmp_path, monkeypatch):
    """The build's folder, a cache that has archives, and a compiler that makes some."""

    def archives(folder: Path, text: str) -> Path:
        (folder / "lib").mkdir(parents=True, exist_ok=True)
        for name in ARCHIVES:
            (folder / "lib" / name).write_text(text)
        return folder

    def compile_into(made: Path, build: Path, log: Path, flags: str) -> bool:
        log.open("x").close()
        archives(made, f"compiled here {flags}")
        return True

    def provide(flags: str) -> Path:
        return archives(tmp_path / "cache", f"from the cache {flags}")

    monkeypatch.setattr(cache, "provide", provide)
    monkeypatch.setattr(building, "compile_into", compile_into)
    return tmp_path / "a build/torch_half"


def texts(folder: Path) -> dict[str, str]:
    return {archive.name: archive.read_text() for archive in sorted(folder.glob("lib*"))}


def test_a_torch_beside_torch_outback_is_not_taken_for_the_projects(tmp_path):
    """As where `outback` runs in an environment with a torch, and makes halves for others."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("raise ImportError('another torch')")
    (tmp_path / "torch_outback").symlink_to(Path(torch_half.__file__).parent)
    lists = (ROOT / "cmake/OutbackTorchHalf.cmake").read_text()
    (program,) = re.findall(r'^ +"(import sys; .*)"$', lists, re.MULTILINE)
    elsewhere = [*("--torch", "/nowhere"), "--into", tmp_path / "into", "--compiler", "c++"]
    command = [sys.executable, "-c", program, tmp_path, *elsewhere]
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
    installed = Path(torch.__file__).parent
    assert f"CMake found /nowhere, and {sys.executable} has {installed} now" in done.stderr


def test_it_is_a_copy_of_what_is_in_the_cache(into):
    torch_half.put(into, "-O0")
    assert texts(into) == dict.fromkeys(ARCHIVES, "from the cache -O0")
    assert not any(archive.is_symlink() for archive in into.iterdir())


@pytest.mark.parametrize(
    "why",
    [
        Refused("there is no home folder to keep the torch half in"),
        Refused("the torch half could not be compiled: No space left on device in /cache"),
        ModuleNotFoundError("No module named 'torch'"),
    ],
)
def test_without_a_cache_it_is_compiled_in_the_project(into, monkeypatch, capsys, why):
    def refuse(flags: str) -> Path:
        raise why

    monkeypatch.setattr(cache, "provide", refuse)
    for _ in range(2):  # and again, after a change
        torch_half.put(into, "-O0")
        assert texts(into) == dict.fromkeys(ARCHIVES, "compiled here -O0")
        said = capsys.readouterr().out
        assert said == f"Outback: {why}. The torch half is compiled in {into} instead.\n"


def test_a_path_that_is_no_text_is_said_all_the_same(into, monkeypatch, capsys):
    def refuse(flags: str) -> Path:
        raise Refused("there is no home folder to keep the torch half in")

    monkeypatch.setattr(cache, "provide", refuse)
    torch_half.put(into / "\udce9", "")
    assert (
        texts(into / "\udce9") and f"compiled in {into}/\\udce9 instead" in capsys.readouterr().out
    )


def test_what_does_not_compile_is_not_compiled_again(into, monkeypatch):
    def fail(flags: str) -> Path:
        raise building.Failed("the torch half could not be compiled, see /cache/build.log")

    monkeypatch.setattr(cache, "provide", fail)
    monkeypatch.setattr(building, "compile_into", None)
    with pytest.raises(building.Failed):
        torch_half.put(into, "")


@pytest.mark.parametrize("full", [True, False])
def test_a_full_disk_is_no_fault_of_the_sources(tmp_path, full):
    said = "cc1plus: error: a.s: No space left on device" if full else "error: no such type"
    (tmp_path / "log").write_text(f"{said}\n")
    failure = building.failure(tmp_path / "log", tmp_path / "build.log")
    assert isinstance(failure, building.Failed) is not full
    assert (tmp_path / "build.log").read_text() == f"{said}\n"


def test_the_projects_own_variables_are_not_the_torch_halfs(into, monkeypatch):
    monkeypatch.setenv("CXXFLAGS", "-O3")
    monkeypatch.setenv("CXX", "another")
    monkeypatch.setenv("PATH", "/somewhere")
    run(monkeypatch, into, str(Path(torch.__file__).parent))
    assert texts(into)
    assert os.environ["CXX"] == "g++-12 -m64" and os.environ["PATH"] == "/a:/somewhere"
    assert "CXXFLAGS" not in os.environ


def test_what_others_builds_are_told_is_not_for_the_torch_half(tmp_path, monkeypatch):
    others = {
        "MAKEFLAGS": " -j --jobserver-auth=3,4",
        "DESTDIR": "/staging",
        "CMAKE_INSTALL_MODE": "ABS_SYMLINK",
        "CMAKE_GENERATOR": "Ninja Multi-Config",
        "CMAKE_GENERATOR_TOOLSET": "v142",
    }
    for name, value in others.items():
        monkeypatch.setenv(name, value)
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    command = [sys.executable, "-c", code]
    with (tmp_path / "said").open("xb") as output:
        assert programs.run(command, output, tmp_path, building._environment()) == 0
    seen = json.loads((tmp_path / "said").read_text())
    assert not {name for name in others if seen.get(name) == others[name]}
    assert seen["CMAKE_GENERATOR"] in ("Ninja", "Unix Makefiles")


def run(monkeypatch, into: Path, torch_folder: str) -> None:
    for name in ("CXX", "PATH"):  # which it sets, for this process
        monkeypatch.setenv(name, os.environ.get(name, ""))
    arguments = ["--into", str(into), "--torch", torch_folder, "--compiler", "g++-12 -m64"]
    monkeypatch.setattr(sys, "argv", ["x", *arguments, "--tools", "/a/cmake"])
    torch_half.main()


def test_another_torch_than_cmake_found_is_not_compiled_for(into, monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match=f"^Outback: CMake found {tmp_path}, and .* has .*/torch"):
        run(monkeypatch, into, str(tmp_path))
    assert not into.exists()


def test_a_build_folder_that_cannot_be_written_is_one_sentence(into, monkeypatch):
    into.parent.write_text("a file")
    with pytest.raises(SystemExit, match=r"^Outback: .*Not a directory: .*/torch_half"):
        run(monkeypatch, into, str(Path(torch.__file__).parent))


# ---- What CMake decides

WANTS_PYTHON = "the cache has the Python half too, which wants Python's headers and libtorch_python"

PROJECT = f"""\
cmake_minimum_required(VERSION 3.24)
project(parent LANGUAGES NONE)
list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")
set(PROJECT_IS_TOP_LEVEL OFF)
set(PROJECT_SOURCE_DIR "{ROOT}")
include(OutbackTorchHalf)
set(Python_Development.Module_FOUND TRUE)
set_property(GLOBAL PROPERTY OUTBACK_TORCH_FOLDER "{Path(torch.__file__).parent}")
function(show)
  outback_why_no_cache(why)
  message(NOTICE "[${{why}}]")
endfunction()
"""


def reasons(folder: Path, *settings: str, generator: str = "Ninja") -> list[str]:
    """Why the torch half is compiled in a project with each of these lines; "": it is not."""
    lines = []
    for number, setting in enumerate(settings):
        place = folder / str(number)
        place.mkdir()
        (place / "CMakeLists.txt").write_text(f"{setting}\nshow()\n")
        lines.append(f"add_subdirectory({number})\n")
    (folder / "CMakeLists.txt").write_text(PROJECT + "".join(lines))
    done = subprocess.run(
        ["cmake", "-G", generator, "-S", folder, "-B", folder / "build"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return [line[1:-1] for line in done.stderr.splitlines() if line.startswith("[")]


def test_a_projects_own_flags_are_no_reason_to_compile_it_there(tmp_path):
    settings = [
        "",
        'set(CMAKE_CXX_FLAGS "-O3 -Wall -Werror=return-type -g -DACME_DEBUG=1 -pipe -std=c++23")',
        'set(CMAKE_CXX_FLAGS "-isystem /a/folder -I /another -fno-omit-frame-pointer")',
        "set(CMAKE_BUILD_TYPE Debug)\nset(CMAKE_CXX_FLAGS_DEBUG -g3)",
        "add_compile_options(-Wextra -fdiagnostics-color=always)\nadd_compile_definitions(ACME)",
        "add_compile_options(-ffile-prefix-map=/a=/b)",
    ]
    assert reasons(tmp_path, *settings) == [""] * len(settings)


def test_what_all_of_a_program_needs_is_compiled_with_the_torch_half_too(tmp_path):
    flags = {
        'set(CMAKE_CXX_FLAGS "-g -fsanitize=address,undefined")': "-fsanitize=address,undefined",
        "add_compile_options(-fsanitize=thread)": "-fsanitize=thread",
        'set(CMAKE_CXX_FLAGS "-O3 -march=native")': "-march=native",
        "set(CMAKE_BUILD_TYPE Release)\nset(CMAKE_CXX_FLAGS_RELEASE -flto)": "-flto",
        "add_compile_definitions(_GLIBCXX_ASSERTIONS)": "-D_GLIBCXX_ASSERTIONS",
        "add_compile_definitions(C10_MOBILE)": "-DC10_MOBILE",
        'set(CMAKE_CXX_FLAGS "-stdlib=libc++")': "-stdlib=libc++",
        "set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)": "CMAKE_INTERPROCEDURAL_OPTIMIZATION",
        "set(CMAKE_BUILD_TYPE Release)\nset(CMAKE_INTERPROCEDURAL_OPTIMIZATION_RELEASE ON)": (
            "CMAKE_INTERPROCEDURAL_OPTIMIZATION_RELEASE"
        ),
        "set(CMAKE_SYSROOT /a/folder)": "CMAKE_SYSROOT",
        "set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)": "CMAKE_CXX_COMPILER_TARGET",
        "set(CMAKE_TOOLCHAIN_FILE /a/file)": "its toolchain file",
    }
    assert reasons(tmp_path, *flags) == [f"of {why}" for why in flags.values()]
    several = "set(CMAKE_CONFIGURATION_TYPES Debug Release)\nset(CMAKE_CXX_FLAGS_RELEASE -flto)"
    (tmp_path / "several").mkdir()
    assert reasons(tmp_path / "several", several, generator="Ninja Multi-Config") == ["of -flto"]
    (tmp_path / "off").mkdir()
    settings = {
        "set(OUTBACK_CACHE OFF)": "OUTBACK_CACHE is OFF",
        "set(OUTBACK_TORCH_ROOT /a)": "the cache is for the torch of a Python",
        "set(Python_Development.Module_FOUND FALSE)": WANTS_PYTHON,
        "set_property(GLOBAL PROPERTY OUTBACK_TORCH_FOLDER /a)": WANTS_PYTHON,
    }
    assert reasons(tmp_path / "off", *settings) == list(settings.values())


# ---- A whole project


@pytest.fixture
def project(own_outback, build_tree, tmp_path):
    """A new project, for Outback's wheel and the cache that `outback build` has filled."""
    folder = tmp_path / "a project"
    cached = {"OUTBACK_CACHE_DIR": os.fspath(build_tree / "package tests/cache")}  # by `outback`
    call([own_outback.python.with_name("outback"), "new", "acme", "--yes", "--dir", folder])

    def cmake(build: str, *arguments: str) -> str:
        command = ["cmake", "-S", folder, "-B", folder / build]
        python = f"-DPython_EXECUTABLE={own_outback.python}"
        root = f"-DOutback_DIR={own_outback.site}/torch_outback/share/outback/cmake"
        return call([*command, python, root, *arguments])

    return folder, cmake, cached


def compiled(build: Path, target: str) -> list[str]:
    """The sources that Ninja compiles for it."""
    commands = call(["ninja", "-C", build, "-t", "commands", target]).splitlines()
    last = [shlex.split(line)[-1] for line in commands if "-o" in line]
    return sorted(word for word in last if word.endswith((".cpp", ".cxx")))


def test_a_project_compiles_no_more_than_its_own_sources(project):
    folder, cmake, cached = project
    cmake("build")
    *own, loader = compiled(folder / "build", "torch_acme")
    assert own == [f"{folder}/src/{name}.cpp" for name in ("kernels", "runtime")]
    assert loader.endswith("/generators/loader/module.cpp")
    kernels = "CMakeFiles/torch_acme_kernels.dir/src/kernels.cpp.o"
    inputs = call(["ninja", "-C", folder / "build", "-t", "query", kernels])
    assert "torch_half" not in inputs  # both are compiled at the same time
    before = {path.name for path in Path(cached["OUTBACK_CACHE_DIR"]).iterdir()}
    call(["cmake", "--build", folder / "build"], **cached)
    assert {path.name for path in Path(cached["OUTBACK_CACHE_DIR"]).iterdir()} == before
    code = "import torch_acme, torch; print(torch.ones(2, device='acme').sum().item())"
    python = [sys.executable, "-c", code]
    assert call(python, PYTHONPATH=os.fspath(folder / "build/python")) == "2.0\n"
    nothing = call(["cmake", "--build", folder / "build"], **cached)
    assert "torch half" not in nothing and "Linking" not in nothing


def test_a_project_that_wants_no_cache_compiles_all(project):
    folder, cmake, _ = project
    said = cmake("build", "-DOUTBACK_CACHE=OFF")
    assert "torch half is compiled in this project, because OUTBACK_CACHE is OFF" in said
    sources = compiled(folder / "build", "torch_acme")
    assert any("outback_torch" in source for source in sources), sources
