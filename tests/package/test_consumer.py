"""C++ projects get Outback from an installed tree, from its sources, or as a part of themselves."""

import importlib.util
from pathlib import Path

import pytest
from conftest import ROOT, call

PROGRAM = ROOT / "examples/cpp_program"


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


def test_an_installed_tree_is_the_same_package(tmp_path):
    prefix = tmp_path / "a prefix with spaces"
    nothing_to_build = ["-DOUTBACK_BUILD_TORCH=OFF", "-DOUTBACK_BUILD_TESTS=OFF"]
    call(["cmake", "-S", ROOT, "-B", tmp_path / "outback", *nothing_to_build])
    call(["cmake", "--install", tmp_path / "outback", "--prefix", prefix])
    configure(tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")


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
    assert call([build / "cpp_program"]) == "learned on acme:0: yes\n"
