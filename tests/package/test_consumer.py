"""C++ projects get Outback from an installed tree, from its sources, or as a part of themselves."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import ROOT, call
from torch_outback.cli import main

PROGRAM = ROOT / "examples/libtorch_only"


def configure(build: Path, *definitions: str) -> str:
    """Configures the example against this torch as a libtorch: without Python."""
    torch = Path(importlib.util.find_spec("torch").origin).parent
    fixed = [
        "-DCMAKE_BUILD_TYPE=Release",
        "-DOUTBACK_BUILD_PYTHON=OFF",
        f"-DOUTBACK_TORCH_ROOT={torch}",
    ]
    return call(["cmake", "-S", PROGRAM, "-B", build, *fixed, *definitions])


def test_the_source_tree_is_a_cmake_package(tmp_path):
    configure(tmp_path / "build", f"-DOutback_ROOT={ROOT}")


def test_a_libtorch_of_the_old_abi_is_compiled_for_as_one(tmp_path):
    torch = Path(importlib.util.find_spec("torch").origin).parent
    older = tmp_path / "libtorch"
    (older / "share/cmake/Torch").mkdir(parents=True)
    for folder in ("include", "lib"):
        (older / folder).symlink_to(torch / folder)
    flags = 'set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=0")\n'
    (older / "share/cmake/Torch/TorchConfig.cmake").write_text(flags)
    commands = "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
    for root, abi in ((torch, 1), (older, 0)):
        build = tmp_path / f"abi {abi}"
        configure(build, f"-DOutback_ROOT={ROOT}", commands, f"-DOUTBACK_TORCH_ROOT={root}")
        compiled = json.loads((build / "compile_commands.json").read_text())
        (command,) = (it["command"] for it in compiled if it["file"].endswith("main.cpp"))
        assert f"-D_GLIBCXX_USE_CXX11_ABI={abi}" in command.split()


def test_an_installed_tree_is_the_same_package(tmp_path):
    prefix = tmp_path / "a prefix with spaces"
    nothing_to_build = ["-DOUTBACK_BUILD_TORCH=OFF", "-DOUTBACK_BUILD_TESTS=OFF"]
    call(["cmake", "-S", ROOT, "-B", tmp_path / "outback", *nothing_to_build])
    call(["cmake", "--install", tmp_path / "outback", "--prefix", prefix])
    configure(tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")


def test_the_sources_can_be_a_part_of_a_build(tmp_path):
    sources = tmp_path / "sources with spaces"
    sources.symlink_to(ROOT)
    configure(tmp_path / "build", f"-DOUTBACK_SOURCE={sources}")


@pytest.mark.parametrize("chosen, flag", [(None, "-O3"), ("Debug", "-g")])
def test_a_new_project_is_optimized_unless_it_is_told_otherwise(tmp_path, chosen, flag):
    project = tmp_path / "acme"
    made = CliRunner().invoke(main, ["new", "acme", "--yes", "--dir", str(project)])
    assert made.exit_code == 0, made.output
    command = ["cmake", "-S", project, "-B", project / "build", f"-DOutback_ROOT={ROOT}"]
    command += [f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    call(command + ([f"-DCMAKE_BUILD_TYPE={chosen}"] if chosen else []))
    compiled = json.loads((project / "build/compile_commands.json").read_text())
    (command,) = (it["command"] for it in compiled if it["file"].endswith("src/kernels.cpp"))
    assert flag in command.split() and ("-O3" in command.split()) == (chosen is None)


@pytest.fixture
def ccache(tmp_path, monkeypatch):
    """Builds a library without torch, and counts what ccache did so far."""
    if shutil.which("ccache") is None:
        pytest.skip("needs ccache")
    for chosen in ("CCACHE_DISABLE", "CCACHE_READONLY", "CCACHE_CONFIGPATH", "CCACHE_NOHASHDIR"):
        monkeypatch.delenv(chosen, raising=False)

    def built(sources: Path, build: Path, config: str) -> dict[str, int]:
        variables = {"CCACHE_DIR": str(tmp_path / "ccache"), "CCACHE_BASEDIR": ""}
        fixed = ["-DOUTBACK_BUILD_TORCH=OFF", "-DOUTBACK_BUILD_TESTS=OFF"]
        fixed += [f"-DCMAKE_BUILD_TYPE={config}"]
        call(["cmake", "-S", sources, "-B", build, *fixed], **variables)
        call(["cmake", "--build", build, "--target", "outback_runtime_null"], **variables)
        lines = call(["ccache", "--print-stats"], **variables).splitlines()
        return {name: int(count) for name, count in (line.split("\t") for line in lines)}

    return built


def test_ccache_finds_what_another_project_compiled(tmp_path, ccache):
    first = ccache(ROOT, tmp_path / "a build with spaces", "Release")
    second = ccache(ROOT, tmp_path / "deeper/another", "Release")
    assert first["cache_miss"] > 0 and second["cache_miss"] == first["cache_miss"]
    assert second["direct_cache_hit"] - first["direct_cache_hit"] == first["cache_miss"]


def test_ccache_finds_what_another_clone_compiled(tmp_path, ccache):
    counts = []
    for clone in (tmp_path / "a clone", tmp_path / "deeper/another"):
        for folder in ("backend_template", "cmake", "tests/runtime"):  # what this build needs
            shutil.copytree(ROOT / folder, clone / folder)
        shutil.copy(ROOT / "CMakeLists.txt", clone)
        # As every check of torch's does.
        with open(clone / "backend_template/runtimes/null/null_runtime.cpp", "a") as source:
            source.write('extern "C" const char* outback_test_where() { return __FILE__; }\n')
        # With debug information, which names the compiler's folder.
        counts.append(ccache(clone, clone / "build/dev", "RelWithDebInfo"))
    # Not without the preprocessor: CMake writes absolute paths into the files of a unity build.
    first, second = counts
    assert first["cache_miss"] > 0 and second["cache_miss"] == first["cache_miss"]


def test_the_runtimes_and_their_tests_configure_without_torch(tmp_path):
    said = call(["cmake", "-S", ROOT, "-B", tmp_path / "build", "-DOUTBACK_BUILD_TORCH=OFF"])
    assert "torch" not in said


def test_another_version_is_refused(tmp_path):
    project = tmp_path / "CMakeLists.txt"
    project.write_text(
        "cmake_minimum_required(VERSION 3.24)\nproject(other LANGUAGES NONE)\n"
        "foreach(version 0.2 1 1.0)\n  find_package(Outback ${version} QUIET)\n"
        '  if(Outback_FOUND)\n    message(FATAL_ERROR "${version} was accepted")\n  endif()\n'
        "endforeach()\n"
    )
    call(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DOutback_ROOT={ROOT}"])


@pytest.mark.slow
def test_a_program_without_python_builds_and_runs(tmp_path):
    build = tmp_path / "a build with spaces"
    configure(build, f"-DOUTBACK_SOURCE={ROOT}")
    call(["cmake", "--build", build, "--parallel", "2"])
    assert call([build / "libtorch_only"]).splitlines()[1] == "learned: yes"


# All that a vendor writes to test a runtime, and a runtime in C to test.
SUITE = """\
cmake_minimum_required(VERSION 3.24)
project(acme LANGUAGES C CXX)
set(OUTBACK_BUILD_TORCH OFF)
find_package(Outback REQUIRED)
enable_testing()

add_library(acme STATIC c_runtime.c)
target_link_libraries(acme PUBLIC outback::runtime)
outback_add_runtime_suite(acme_suite RUNTIME_LIBRARY acme TABLE_FUNCTION outback_test_c_runtime
                          EXPECTATIONS c_runtime.expectations)
"""


def vendor_of_a_runtime(folder: Path) -> Path:
    """Configures a project that has nothing but an installed Outback and a runtime."""
    prefix, project = folder / "a prefix with spaces", folder / "a project with spaces"
    nothing_to_build = ["-DOUTBACK_BUILD_TORCH=OFF", "-DOUTBACK_BUILD_TESTS=OFF"]
    call(["cmake", "-S", ROOT, "-B", folder / "outback", *nothing_to_build])
    call(["cmake", "--install", folder / "outback", "--prefix", prefix])
    project.mkdir()
    (project / "CMakeLists.txt").write_text(SUITE)
    for name in ("c_runtime.c", "c_runtime.expectations"):
        shutil.copy(ROOT / "tests/runtime" / name, project)
    build = project / "build"
    command = ["cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"]
    call([*command, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"])
    return build


def test_the_runtime_suite_is_installed_and_optimized(tmp_path):
    build = vendor_of_a_runtime(tmp_path)
    compiled = json.loads((build / "compile_commands.json").read_text())
    (runtime,) = (it["command"] for it in compiled if it["file"].endswith("c_runtime.c"))
    assert "-O3" in runtime.split()
    assert any("-DNDEBUG" in it["command"] and "suite" in it["file"] for it in compiled)


@pytest.mark.slow
def test_the_runtime_suite_tests_a_vendors_runtime(tmp_path):
    build = vendor_of_a_runtime(tmp_path)
    call(["cmake", "--build", build, "--parallel", "2"])
    said = call(["ctest", "--test-dir", build, "--output-on-failure"])
    assert "acme_suite.CopyTest.RoundTripOfEverySize" in said
    assert "acme_suite.summary" in said
    assert "100% tests passed" in said
