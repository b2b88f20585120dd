"""torch_outback.load: a runtime that is compiled already becomes a backend."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, call, clean_environment
from torch_outback import cache, cache_key

sys.path.append(str(ROOT / "tests/python"))
from forked import ForkServers

RUNTIME = ROOT / "generators/project/src/runtime.c"
# What the torch half is made of.
COMPILED = (
    "backend_template", "cmake", "generators/loader", "generators/methods", "registration"
)  # fmt: skip


def compiled(folder: Path, source: str, name: str = "libacme_runtime.so") -> Path:
    """A shared library, with no more of Outback than its headers."""
    (folder / "runtime.c").write_text(source)
    include = ROOT / "backend_template/include"
    call(["cc", "-shared", "-fPIC", f"-I{include}", folder / "runtime.c", "-o", folder / name])
    return folder / name


@pytest.fixture
def library(tmp_path):
    return compiled(tmp_path, RUNTIME.read_text())


@pytest.fixture(scope="module")
def fork_servers():
    servers = ForkServers()
    yield servers
    servers.close()


@pytest.fixture
def python(build_tree, tmp_path, fork_servers):
    """Runs code with `load` and a cache that has the torch half of the build tree in it.

    In a fork of a process that has imported torch, which takes longer than all the rest.
    """
    folder = tmp_path / "cache" / cache_key.of_this_process().name
    (folder / "lib").mkdir(parents=True)
    module = cache.module_in(folder)
    shutil.copy(build_tree / "loader" / module.name, module)
    cache.seal(folder)

    def run(code: str) -> str:
        done = fork_servers.run(
            f"import os\nos.chdir({str(tmp_path)!r})\n"
            f"import torch\nfrom torch_outback import load\n{code}",
            clean_environment(
                OUTBACK_CACHE_DIR=str(tmp_path / "cache"),
                PYTHONPATH=str(ROOT / "generators/cli"),
                TORCH_DEVICE_BACKEND_AUTOLOAD="0",
            ),
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_a_runtime_in_c_becomes_a_backend(python, library):
    said = python(
        f"""
import sys
acme = load("acme", {str(library)!r})
model = torch.nn.Linear(3, 2).acme()
model(torch.ones(1, 3).acme()).sum().backward()
print(acme is torch.acme, model.weight.grad.device, acme.get_device_name())
print(acme.get_amp_supported_dtype())
print([name for name in dir(acme) if "register" in name])
print(sys.modules["torch_outback._C"].__file__)
"""
    )
    *said, loader = said.splitlines()
    own = "['register_kernel_compiler']"
    assert said == ["True acme:0 Acme device", "[torch.float16, torch.bfloat16]", own]
    assert Path(loader).is_relative_to(library.parent)  # nothing was compiled for it


def test_it_has_its_sources_in_python(python, library):
    said = python(
        f"""
import inspect, pickle, traceback
acme = load("acme", {str(library)!r})
graph_all = acme.make_graphed_callables
print(pickle.loads(pickle.dumps(graph_all)) is graph_all, inspect.getsource(graph_all)[:26])
try:
    graph_all(None, (), enable_annotations=True)
except NotImplementedError:
    print(traceback.format_exc())
"""
    )
    assert said.startswith("True def make_graphed_callables\n")
    assert 'File "<torch.acme._outback>/graphs.py", line ' in said
    assert "refuse_annotations(enable_annotations)" in said


def test_a_second_call_does_nothing_and_another_is_refused(python, library):
    other = shutil.copy(library, library.with_name("libother.so"))
    said = python(
        f"""
first = load("acme", {str(library)!r})
print(load("acme", {library.name!r}) is first)
for name, library in (("acme", {str(other)!r}), ("foo", {str(library)!r})):
    try:
        load(name, library)
    except (RuntimeError, AttributeError) as error:
        print(error)
print(torch.ones(1).acme().device)
"""
    )
    lines = said.splitlines()
    assert lines[0] == "True" and lines[-1] == "acme:0"
    assert "this process's backend is acme already" in lines[1]
    assert "has no function foo_runtime" in lines[2]


TABLE = """
#include <outback/runtime.h>
const outback_runtime* acme_runtime(void) {{ {body} }}
"""


@pytest.mark.parametrize(
    "source, error, words",
    [
        (None, "FileNotFoundError", "there is no file"),
        ("text", "OSError", "cannot be loaded"),
        ("int other_runtime(void) { return 0; }", "AttributeError", "has no function acme_runtime"),
        (
            "static const void* acme_runtime(void) { return 0; }\\nvoid* keep = acme_runtime;",
            "AttributeError",
            "visible",
        ),
        (TABLE.format(body="return NULL;"), "RuntimeError", "null pointer"),
        (
            TABLE.format(body="static outback_runtime t = {sizeof(t), 99}; return &t;"),
            "RuntimeError",
            "99",
        ),
        (
            TABLE.format(body="static outback_runtime t = {sizeof(t), 1}; return &t;"),
            "RuntimeError",
            "last_error",
        ),
    ],
    ids=["none", "no library", "foreign", "hidden", "null", "another ABI", "empty"],
)
def test_what_cannot_be_a_runtime_is_refused_and_nothing_is_registered(
    python, tmp_path, library, source, error, words
):
    bad = tmp_path / "bad" / "libbad.so"
    bad.parent.mkdir()
    if source == "text":
        bad.write_text(source)
    elif source is not None:
        compiled(bad.parent, source.replace("\\n", "\n"), bad.name)
    said = python(
        f"""
try:
    load("acme", {str(bad)!r})
except Exception as error:
    print(type(error).__name__, error)
print(torch._C._get_privateuse1_backend_name(), hasattr(torch, "acme"))
load("acme", {str(library)!r})
print(torch.ones(1).acme().device)
"""
    )
    lines = said.splitlines()
    assert lines[0].startswith(error) and words in lines[0]
    assert lines[-2:] == ["privateuseone False", "acme:0"]


def test_what_the_runtimes_function_throws_is_raised(python, tmp_path):
    """Most often a driver that does not open."""
    (tmp_path / "throws.cpp").write_text("""
#include <stdexcept>
extern "C" const void* acme_runtime() { throw std::runtime_error("no driver here"); }
""")
    bad = tmp_path / "libthrows.so"
    call(["c++", "-shared", "-fPIC", tmp_path / "throws.cpp", "-o", bad])
    said = python(
        f"""
for attempt in range(2):
    try:
        load("acme", {str(bad)!r})
    except RuntimeError as error:
        print(error)
print(torch._C._get_privateuse1_backend_name())
"""
    )
    assert said.splitlines() == ["no driver here"] * 2 + ["privateuseone"]


def test_a_bad_name_is_refused_and_nothing_is_registered(python, tmp_path):
    library = compiled(tmp_path, RUNTIME.read_text().replace("acme_runtime", "cuda_runtime"))
    said = python(
        f"""
try:
    load("cuda", {str(library)!r})
except RuntimeError as error:
    print(error)
print(torch._C._get_privateuse1_backend_name())
"""
    )
    assert said == (
        '"cuda" cannot be a device\'s name: PyTorch has a device of that name already; choose '
        "another\nprivateuseone\n"
    )


# Stands in for cmake: notes what it is asked, and installs a module.
CMAKE = """#!/bin/sh
echo "$@" >> "$CMAKE_LOG"
echo "See also \\"$PWD/CMakeError.log\\"."
case "$1" in
  -S) sleep 1 ;;
  --install) mkdir -p "$4/lib" && echo module > "$4/$MODULE" ;;
esac
exit ${CMAKE_STATUS:-0}
"""


@pytest.fixture
def building(tmp_path):
    """Starts `outback build` with a stand-in for cmake, and what that was asked so far."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/cmake").write_text(CMAKE)
    (tmp_path / "bin/cmake").chmod(0o755)
    log = tmp_path / "cmake.log"

    def start(**variables: str) -> subprocess.Popen:
        path = f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"
        fixed = {
            "OUTBACK_CACHE_DIR": str(tmp_path / "cache"),
            "PATH": path,
            "CMAKE_LOG": str(log),
            "MODULE": cache.module_in(Path()).name,
            "PYTHONPATH": str(ROOT / "generators/cli"),
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        }
        return subprocess.Popen(
            [sys.executable, "-m", "torch_outback", "build"],
            env=clean_environment() | fixed | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def configured() -> int:
        return sum("-S" in line.split() for line in log.read_text().splitlines())

    return start, configured


def test_two_processes_at_once_build_it_once(building):
    start, configured = building
    processes = [start(), start()]
    said = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert said[0] == said[1] and cache.is_whole(Path(said[0].strip()))
    assert configured() == 1


@pytest.mark.parametrize(
    "source",
    ["CMakeLists.txt", *(f"{folder}/a.cpp" for folder in COMPILED)],
)
def test_a_change_of_any_source_is_another_module(tmp_path, monkeypatch, source):
    monkeypatch.setattr(cache_key.toolkit, "tree", lambda: tmp_path)
    file = tmp_path / source
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text("before")
    before = cache_key.hash_of_sources()
    file.write_text("after")
    assert cache_key.hash_of_sources() != before


def test_what_is_not_whole_is_built_again(building):
    start, configured = building
    folder = Path(start().communicate(timeout=120)[0].strip())
    cache.module_in(folder).write_text("half a mod")
    assert Path(start().communicate(timeout=120)[0].strip()) == folder
    assert configured() == 2 and cache.is_whole(folder)


def test_a_build_that_fails_leaves_nothing_and_says_where_its_log_is(building, tmp_path):
    start, _ = building
    process = start(CMAKE_STATUS="3")
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 2
    assert f"could not be compiled, see {tmp_path / 'cache/build.log'}" in said
    assert "CMakeError.log" not in said  # which is gone
    left = {path.suffix for path in (tmp_path / "cache").iterdir()}
    assert left <= {".lock", ".log"}


def test_without_cmake_it_says_what_to_install(building, tmp_path):
    start, _ = building
    process = start(PATH=str(tmp_path))
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 2 and "pip install cmake ninja" in said
