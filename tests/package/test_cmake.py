"""Outback's CMake files: what they say of themselves, what they leave alone, and that the order of
folders says nothing."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import ROOT, call

SUITE_MODULE = ROOT / "tests/runtime/OutbackRuntimeSuite.cmake"
MODULES = [*sorted((ROOT / "cmake").glob("*.cmake")), SUITE_MODULE]
# What find_package itself includes, and cmake -P.
INCLUDED_BY_NAME = {"OutbackConfig.cmake", "OutbackConfigVersion.cmake"}


def files() -> list[str]:
    """Of the tree, those that git knows or would add."""
    listed = ["git", "-C", os.fspath(ROOT), "ls-files", "-co", "--exclude-standard"]
    there = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
    return [file for file in there if (ROOT / file).is_file()]


# ---- Each says what it is for


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_a_module_says_what_it_is_for_and_who_includes_it(module):
    header = module.read_text().partition("\n\n")[0]
    assert header.startswith("# ")
    if module.name in INCLUDED_BY_NAME:
        return
    assert "\n# Included by " in header
    lists = [ROOT / file for file in files() if file.endswith(("CMakeLists.txt", ".cmake"))]
    assert any(re.search(rf"include\(.*\b{module.name}", file.read_text()) for file in lists)


FUNCTION = re.compile(
    r"((?:^#.*\n)*)^(?:function|macro)\((\w+).*\)\n((?:.*\n)*?)^end", re.MULTILINE
)
KEYWORDS = re.compile(r'cmake_parse_arguments\(PARSE_ARGV \d arg((?:\s+"[^"]*")+)\)')


@pytest.mark.parametrize(
    "file", [file for file in files() if file.endswith((".cmake", "/CMakeLists.txt"))]
)
def test_a_function_says_what_its_arguments_are(file):
    text = (ROOT / file).read_text()
    for comment, name, body in FUNCTION.findall(text):
        # Macros of one kind share a comment.
        assert re.search(rf"^#.*\b{name}\(", text, re.MULTILINE), name
        for keywords in KEYWORDS.findall(body):
            for keyword in re.findall(r"\w+", keywords):
                assert len(re.findall(rf"\b{keyword}\b", comment)) >= 2, f"{name}: {keyword}"


# ---- What it leaves alone

VENDOR = """\
cmake_minimum_required(VERSION 3.24)
project(vendor VERSION 3.1 LANGUAGES CXX)
function(note when)
  set(text "")
  get_cmake_property(names VARIABLES)
  get_cmake_property(cached CACHE_VARIABLES)
  foreach(name IN LISTS names cached)
    if(NOT name MATCHES "^(when|text|names|cached|name|ARG|CMAKE_MATCH)")
      string(APPEND text "${name}=${${name}}\\n")
    endif()
  endforeach()
  foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES LINK_OPTIONS TESTS)
    get_directory_property(value ${property})
    string(APPEND text "of the folder, ${property}=${value}\\n")
  endforeach()
  cmake_policy(GET CMP0110 policy)
  string(APPEND text "of the folder, CMP0110=${policy}\\n")
  file(WRITE "${CMAKE_BINARY_DIR}/${when}" "${text}")
endfunction()
note(before)
find_package(Outback REQUIRED)
note(after)
"""
# Outback's, and what CMake's own modules leave of what they have found.
THEIRS = re.compile(
    r"(_?OUTBACK_|Outback_|_?Python_|Threads_|CMAKE_HAVE_LIBC_PTHREAD|FIND_PACKAGE_MESSAGE_DETAILS_"
    r"|_outback_|__COMPILER_|PACKAGE_)"
)


def vendor(folder: Path, text: str, *arguments: str) -> str:
    """Configures a project of this text, and answers with what CMake says."""
    folder.mkdir(exist_ok=True)
    (folder / "CMakeLists.txt").write_text(text)
    command = ["cmake", "-S", folder, "-B", folder / "build", f"-DOutback_ROOT={ROOT}"]
    return call([*command, f"-DPython_EXECUTABLE={sys.executable}", *arguments])


def changed(build: Path) -> set[str]:
    before, after = (set((build / when).read_text().splitlines()) for when in ("before", "after"))
    return {line for line in before ^ after if not THEIRS.match(line)}


@pytest.mark.parametrize("half", ["ON", "OFF"])
def test_a_projects_variables_and_options_stay_as_they_are(tmp_path, half):
    vendor(tmp_path, VENDOR, "-DCMAKE_BUILD_TYPE=Debug", f"-DOUTBACK_BUILD_TORCH={half}")
    assert changed(tmp_path / "build") == set()


def test_a_build_type_that_nobody_chose_is_said_to_be_release(tmp_path):
    said = vendor(tmp_path, VENDOR, "-DOUTBACK_BUILD_TORCH=OFF")
    assert changed(tmp_path / "build") == {"CMAKE_BUILD_TYPE=", "CMAKE_BUILD_TYPE=Release"}
    assert "Outback: no build type was chosen, so it is Release" in said


def test_cmake_runs_again_where_torch_was_exchanged(tmp_path):
    vendor(tmp_path, VENDOR)
    version = Path(torch.__file__).parent / "include/torch/headeronly/version.h"
    ninja = (tmp_path / "build/build.ninja").read_text()
    (rule,) = re.findall(r"^build build\.ninja: RERUN_CMAKE .*$", ninja, re.MULTILINE)
    assert str(version).replace(" ", "$ ") in rule


# ---- Folders in any order

TWO_FOLDERS = """\
cmake_minimum_required(VERSION 3.24)
project(vendor LANGUAGES CXX)
enable_testing()
add_subdirectory({0})
add_subdirectory({1})
"""
SUITE = """\
find_package(Outback 0.1 REQUIRED)
outback_add_runtime_suite({0} SUMMARY_ONLY RUNTIME_LIBRARY outback::runtime_{1}
                          TABLE_FUNCTION outback_{1}_runtime)
"""


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_each_folder_of_a_project_may_ask_for_outback(tmp_path, order):
    for folder, runtime in (("one", "null"), ("two", "host")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "CMakeLists.txt").write_text(SUITE.format(f"{runtime}_suite", runtime))
    vendor(tmp_path, TWO_FOLDERS.format(*order), "-DOUTBACK_BUILD_TORCH=OFF")
    said = call(["ctest", "--test-dir", tmp_path / "build", "-N"])
    assert "null_suite.summary" in said and "host_suite.summary" in said


def test_no_message_names_a_folder_of_the_machine(tmp_path):
    """The last of the maps that fit a path counts, and torch may be in the project's folder."""
    text = BACKEND.replace("host)", "host SOURCES kernels.cpp)")
    (tmp_path / "kernels.cpp").touch()
    vendor(tmp_path, text)
    ninja = (tmp_path / "build/build.ninja").read_text()
    (flags,) = re.findall(
        r"torch_foo_kernels\.dir/kernels\.cpp\.o: (?:.*\n)+?  FLAGS = (.*)", ninja
    )
    maps = re.findall(r"-fmacro-prefix-map=(\S+)", flags.replace("$ ", "_"))
    folder = Path(torch.__file__).parent
    assert maps[1:] == [f"{tmp_path}/=", f"{tmp_path}/build/=", f"{folder}/=torch/"]


def test_a_function_with_a_name_of_the_c_librarys_is_the_projects(tmp_path):
    """connect() is in the C library, which each process has first."""
    (tmp_path / "driver.cpp").write_text('extern "C" int connect(int device) { return device; }\n')
    runtime = 'extern "C" int connect(int);\nextern "C" int asked() { return connect(42); }\n'
    (tmp_path / "runtime.cpp").write_text(runtime)
    text = BACKEND.replace("RUNTIME host", "RUNTIME_SOURCES runtime.cpp driver.cpp")
    vendor(tmp_path, text, "-DOUTBACK_RUNTIME_ONLY=ON")
    call(["cmake", "--build", tmp_path / "build", "--target", "torch_foo"])
    (library,) = (tmp_path / "build/python/torch_foo").glob("lib*.so")
    code = f"import ctypes; print(ctypes.CDLL({str(library)!r}).asked())"
    assert call([sys.executable, "-c", code]) == "42\n"


def refused(folder: Path, text: str, *arguments: str) -> str:
    with pytest.raises(pytest.fail.Exception) as failed:
        vendor(folder, text, *arguments)
    return " ".join(str(failed.value).split())


BACKEND = """\
cmake_minimum_required(VERSION 3.24)
project(vendor LANGUAGES CXX)
find_package(Outback REQUIRED)
outback_add_backend(foo RUNTIME host)
"""


def test_a_project_without_torch_has_no_backend_and_is_told_why(tmp_path):
    words = refused(tmp_path, BACKEND, "-DOUTBACK_BUILD_TORCH=OFF")
    assert "outback_add_backend(foo): this Outback has no Python half" in words
    assert "OUTBACK_BUILD_TORCH or OUTBACK_BUILD_PYTHON was OFF" in words


def test_a_project_in_c_is_told_what_to_write(tmp_path):
    words = refused(tmp_path, BACKEND.replace("CXX", "C"), "-DOUTBACK_RUNTIME_ONLY=ON")
    assert "outback_add_backend(foo): the project needs C++" in words
    assert "project(... LANGUAGES C CXX)" in words


def test_a_source_that_registers_is_told_where_its_options_are_now(tmp_path):
    (tmp_path / "module.cpp").write_text("#include <outback/linked_runtime.h>\n")
    text = BACKEND.replace("host)", "host SOURCES module.cpp)")
    words = refused(tmp_path, text, "-DOUTBACK_RUNTIME_ONLY=ON")
    assert "module.cpp registers a backend (#include <outback/linked_runtime.h>)" in words
    assert "`outback update` brings an older project up to date" in words


def test_what_is_said_to_the_target_of_all_is_refused(tmp_path):
    """It would reach no source of the project."""
    text = BACKEND + "target_compile_definitions(torch_foo PRIVATE X=1)\n"
    assert "CMakeLists.txt:5 (target_compile_definitions)" in refused(
        tmp_path, text, "-DOUTBACK_RUNTIME_ONLY=ON"
    )


def test_a_package_with_a_file_of_outbacks_name_is_refused(tmp_path):
    (tmp_path / "torch_foo").mkdir()
    (tmp_path / "torch_foo/_loading.py").touch()
    words = refused(tmp_path, BACKEND, "-DOUTBACK_RUNTIME_ONLY=ON")
    assert "torch_foo/_loading.py has the name of the file that Outback puts into" in words


# In place of add_subdirectory: a folder's own at its end, the last one first.
REVERSED = """\
macro(add_subdirectory)
  string(REPLACE ";" "|" reversed_call "${ARGN}")
  set_property(DIRECTORY APPEND PROPERTY reversed_calls "${reversed_call}")
endmacro()
function(add_reversed)
  get_property(calls DIRECTORY PROPERTY reversed_calls)
  list(REVERSE calls)
  foreach(call IN LISTS calls)
    string(REPLACE "|" ";" call "${call}")
    _add_subdirectory(${call})
  endforeach()
endfunction()
"""
# One folder, of which it says more: no order.
ONE_FOLDER = "tests/backends/kernels/CMakeLists.txt"


def test_the_order_of_folders_says_nothing(tmp_path):
    """Adds all folders of the tree in the opposite order, and after everything else: what is
    compiled, how, and what ctest runs is the same."""
    tree, build = tmp_path / "tree", tmp_path / "build"
    texts = {}
    for file in files():
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        if Path(file).name == "CMakeLists.txt":
            texts[file] = (ROOT / file).read_text()
        else:
            (tree / file).symlink_to(ROOT / file)
    (tmp_path / "reversed.cmake").write_text(REVERSED)

    def configured(*arguments: str) -> tuple[list[str], list[str]]:
        for file, text in texts.items():
            (tree / file).write_text(text)
        fixed = ["--preset", "dev", "-DOUTBACK_BUILD_BENCH=ON"]
        fixed += ["-S", tree, "-B", build, f"-DPython_EXECUTABLE={sys.executable}"]
        call(["cmake", *fixed, *arguments], cwd=tree)
        commands = json.loads((build / "compile_commands.json").read_text())
        tests = json.loads(call(["ctest", "--test-dir", build, "--show-only=json-v1"]))["tests"]
        build.rename(tmp_path / f"built {len(arguments)}")
        return sorted(it["command"] for it in commands), sorted(it["name"] for it in tests)

    expected = configured()
    for file, text in texts.items():
        if file == ONE_FOLDER:
            texts[file] = text.replace("add_subdirectory(", "_add_subdirectory(")
        else:
            texts[file] = f"{text}\nadd_reversed()\n"
    found = configured(f"-DCMAKE_PROJECT_Outback_INCLUDE={tmp_path}/reversed.cmake")
    assert found == expected and len(expected[0]) > 100


# ---- A torch that nobody has tried


@pytest.fixture
def newer_torch(tmp_path):
    """This one, but that its headers say 2.99."""
    here = Path(torch.__file__).parent
    there = tmp_path / "torch"
    header = there / "include/torch/headeronly/version.h"
    header.parent.mkdir(parents=True)
    for folder in ("", "include", "include/torch", "include/torch/headeronly"):
        for entry in (here / folder).iterdir():
            if not (there / folder / entry.name).exists():
                (there / folder / entry.name).symlink_to(entry)
    header.unlink()
    text = (here / "include/torch/headeronly/version.h").read_text()
    header.write_text(re.sub("(VERSION_MINOR) [0-9]+", r"\1 99", text))
    return there


def test_a_newer_torch_is_taken_with_one_warning(newer_torch, tmp_path):
    text = "cmake_minimum_required(VERSION 3.24)\nproject(vendor LANGUAGES CXX)\n"
    text += "find_package(Outback REQUIRED)\nfind_package(Outback REQUIRED)\n"
    said = vendor(tmp_path / "vendor", text, f"-DOUTBACK_TORCH_ROOT={newer_torch}")
    assert said.count("CMake Warning") == 1
    assert re.search(r"torch 2\.99\.\d+ is newer than the supported 2\.11 to 2\.15", said)
    assert "CMake Warning" not in vendor(tmp_path / "supported", text)
