"""`outback doctor`: compilers, CUDA, Level Zero, OpenCL, and what Python says of itself."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from torch_outback.doctor import child, cuda, level_zero, opencl, python, toolchain
from torch_outback.doctor.child import Report
from torch_outback.doctor.finding import Finding, one_line, size
from torch_outback.doctor.installed import Backend, Installed


def by_name(findings) -> dict[str, Finding]:
    return {it.name: it for it in findings}


# ---- Compilers


@pytest.fixture
def tools(monkeypatch, tmp_path):
    """The only folder of the PATH, and a way to put programs there."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    for name in ("CXX", "CXXFLAGS", "LDFLAGS", "CMAKE_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)

    def put(name: str, text: str) -> Path:
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
        return folder / name

    return put


def tried(has_backend: bool = False) -> dict[str, Finding]:
    return by_name(toolchain.findings(has_backend))


def test_the_compiler_of_this_machine_makes_a_library(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    compiler = tried()["compiler"]
    assert compiler.status == "ok" and compiler.found.endswith(": makes a C++20 library")


def test_without_any_tool_each_is_a_problem_and_says_how_to_get_one(tools):
    found = tried()
    for name in ("compiler", "cmake", "build tool"):
        assert found[name].status == "problem" and found[name].advice
    assert found["cmake"].command == "pip install cmake ninja"


def test_compilers_of_kernels_are_named(tools):
    missing = tried()["kernel compilers"]
    assert missing.status == "ok"
    assert "no SPIR-V (clang 22 or newer" in missing.found and "no PTX (NVRTC" in missing.found
    tools("clang-22", 'echo "    spirv64 - SPIR-V 64-bit"')
    assert tried()["kernel compilers"].found.startswith("SPIR-V; no PTX")


def test_beside_an_installed_backend_only_the_compiler_is_a_problem(tools):
    found = tried(has_backend=True)
    assert (
        found["compiler"].status == "problem" and "torch.compile fails" in found["compiler"].found
    )
    assert {it.status for name, it in found.items() if name != "compiler"} <= {"note", "ok"}


GCC = 'echo "g++ (Old) {}.1.0"; echo "Copyright Free Software Foundation"'


@pytest.mark.parametrize("release, status", [(9, "problem"), (11, "problem"), (12, "ok")])
def test_a_gcc_before_12_is_too_old(tools, release, status):
    tools("c++", GCC.format(release))
    assert tried()["compiler"].status == status


def test_a_compiler_that_cannot_link_says_its_first_error(tools):
    tools(
        "c++",
        '[ "$1" = --version ] && echo "clang version 17.0.6" && exit\n'
        'echo "warning: nothing"; echo "doctor.cpp:2:10: fatal error: \'concepts\' file not found"'
        "; exit 1",
    )
    found = tried()["compiler"]
    assert found.status == "problem"
    assert found.found.endswith("fatal error: 'concepts' file not found")


@pytest.mark.parametrize("command", ["no-such-compiler", "/no/such/compiler -m64", "'half"])
def test_a_cxx_that_is_no_compiler_is_a_problem_whatever_is_installed(tools, monkeypatch, command):
    tools("c++", GCC.format(14))
    monkeypatch.setenv("CXX", command)
    found = tried(has_backend=True)["compiler"]
    assert found.status == "problem" and "CXX" in found.found


@pytest.mark.parametrize("command", ["lame", "lame --version"])
def test_a_cxx_that_compiles_nothing_is_one_too(tools, monkeypatch, command):
    tools("c++", GCC.format(14))
    tools("lame", "exit 3")
    monkeypatch.setenv("CXX", command)
    found = tried(has_backend=True)["compiler"]
    assert found.status == "problem" and "exit status 3" in found.found


def test_a_compiler_that_hangs_is_ended_with_what_it_started(tools, monkeypatch, tmp_path):
    monkeypatch.setattr(toolchain, "_LIMIT", 0.3)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/bin:/bin")
    tools("c++", f"sleep 600 & echo $! >>{tmp_path}/started; wait")
    found = tried()["compiler"]
    assert found.status == "problem" and found.found.endswith(": no end after 0.3 s")
    for process in (tmp_path / "started").read_text().split():
        state = Path("/proc", process, "stat")
        assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_flags_that_stop_the_compiler_are_a_problem(tools, monkeypatch):
    version = '[ "$1" = --version ] && echo "clang version 17.0.6" && exit\n'
    tools("c++", version + 'case "$*" in *-fbogus*) echo "error: no -fbogus"; exit 1;; esac')
    assert tried(has_backend=True)["compiler"].status == "ok"
    for name in ("CXXFLAGS", "LDFLAGS"):
        monkeypatch.setenv(name, "-O2 '-fbogus=a b'")
        found = tried(has_backend=True)["compiler"]
        assert found.status == "problem" and found.command == "unset CXXFLAGS LDFLAGS"
        assert found.found.endswith("it makes no C++20 library: error: no -fbogus")
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    "text, status",
    [
        ("cmake version 3.22.1", "problem"),
        ("cmake version 3.24.0", "ok"),
        ("cmake version 4.1.0-rc1", "ok"),
        ("ImportError: cmake", "problem"),
    ],
)
def test_a_cmake_before_3_24_is_too_old(tools, text, status):
    tools("cmake", f'echo "{text}"')
    assert tried()["cmake"].status == status


# ---- CUDA


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Compiles C in a folder that processes look for libraries in first."""
    folder = tmp_path / "libraries"
    folder.mkdir()
    compiler = shutil.which("cc") or pytest.skip("needs a C compiler")

    def make(name: str, source: str) -> str:
        (tmp_path / "library.c").write_text(source)
        command = [compiler, "-w", "-shared", "-fPIC", "-o", folder / name, tmp_path / "library.c"]
        subprocess.run(command, check=True)
        return str(folder / name)

    make.environment = os.environ | {"LD_LIBRARY_PATH": str(folder)}
    return make


DRIVER = """
int cuInit(unsigned flags) {{ return {status}; }}
int cuGetErrorName(int status, const char** name) {{ *name = "CUDA_ERROR_X"; return 0; }}
int cuDriverGetVersion(int* version) {{ *version = {cuda}; return 0; }}
int cuDeviceGetCount(int* count) {{ *count = 2; return 0; }}
int cuDeviceGetName(char* name, int size, int device) {{ strcpy(name, "Small H100"); return 0; }}
"""
NVML = """
int nvmlInit_v2(void) {{ return {status}; }}
const char* nvmlErrorString(int status) {{ return "Driver/library version mismatch"; }}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {{ strcpy(text, "570.1"); return 0; }}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {{ *version = 12080; return 0; }}
int nvmlDeviceGetCount_v2(unsigned* count) {{ *count = 2; return 0; }}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {{ *device = 0; return 0; }}
int nvmlDeviceGetName(void* device, char* name, unsigned size) {{ strcpy(name, "x"); return 0; }}
"""
CUDART = "int cudaRuntimeGetVersion(int* version) {{ *version = {}; return 0; }}"


def of_cuda(library, nvml: str, *cudarts: str, torch: Report | None = None) -> dict[str, Finding]:
    report = child.run("cuda_probe", nvml, *cudarts, limit=30, environment=library.environment)
    return by_name(cuda.findings(report, torch))


def test_a_driver_with_devices_is_told(library):
    library("libcuda.so.1", DRIVER.format(status=0, cuda=12080))
    nvml, cudart = library("nvml.so", NVML.format(status=0)), library("rt.so", CUDART.format(12060))
    found = of_cuda(library, nvml, "/no/such/libcudart.so", cudart)
    assert found["driver"].found.startswith("570.1, for CUDA 12.8, ")
    assert found["libcudart"].found == f"12.6, {cudart}"
    assert found["devices"].found == "2 visible: Small H100, Small H100"
    assert found["nvml"].found == f"2 devices, {nvml}"
    assert {it.status for it in found.values()} == {"ok"}


def test_a_driver_of_an_older_release_than_libcudart_is_a_problem(library):
    library("libcuda.so.1", DRIVER.format(status=0, cuda=12040))
    cudart = library("rt.so", CUDART.format(13000))
    torch = Report({"cuda": "13.0"})
    found = of_cuda(library, "none.so", cudart, torch=torch)["versions"]
    assert found.status == "problem"
    assert "CUDA 12.4, and libcudart is of 13.0 and torch is built for 13.0" in found.found


@pytest.mark.parametrize("status, advice", [(803, "restart the machine"), (34, "stub")])
def test_a_driver_that_does_not_start_is_explained(library, status, advice):
    library("libcuda.so.1", DRIVER.format(status=status, cuda=12040))
    found = of_cuda(library, "none.so")["driver"]
    assert found.status == "problem" and advice in found.advice
    assert found.found.endswith(f"cuInit answers {status} CUDA_ERROR_X")


def test_devices_that_a_variable_hides_are_a_note(library, monkeypatch):
    library("libcuda.so.1", DRIVER.format(status=100, cuda=12040))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    found = of_cuda(library, "none.so")["driver"]
    assert (found.status, found.command) == ("note", "unset CUDA_VISIBLE_DEVICES")


def test_an_nvml_of_another_version_than_the_module(library):
    library("libcuda.so.1", DRIVER.format(status=0, cuda=12040))
    found = of_cuda(library, library("nvml.so", NVML.format(status=18)))["nvml"]
    assert found.status == "problem"
    assert found.found == "nvmlInit_v2 answers 18: Driver/library version mismatch"


def test_a_driver_that_crashes_is_told_with_what_it_did(library):
    library("libcuda.so.1", DRIVER.format(status="*(volatile int*)0", cuda=12040))
    found = of_cuda(library, "none.so")["libraries"]
    assert found.status == "problem" and found.found.startswith("died of SIGSEGV in cuInit")


def test_a_libcudart_that_is_named_and_missing_is_a_problem(library, monkeypatch):
    monkeypatch.setenv("OUTBACK_CUDART", "/no/such/libcudart.so")
    assert cuda.cudarts(Installed()) == ["/no/such/libcudart.so"]
    found = of_cuda(library, "none.so", "/no/such/libcudart.so")["libcudart"]
    assert (found.status, found.command) == ("problem", "unset OUTBACK_CUDART")


def test_without_any_of_it_nothing_is_wrong(library, monkeypatch, tmp_path):
    for name in ("CUDAToolkit_ROOT", "CUDA_HOME", "CUDA_PATH", "OUTBACK_CUDART"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cuda, "_CONTROL", tmp_path / "nvidiactl")
    found = by_name(cuda.findings(Report({"cudart_problems": []}), None))
    assert {it.status for it in found.values()} == {"ok"}
    (tmp_path / "nvidiactl").touch()  # a container without the driver's libraries
    found = by_name(cuda.findings(Report({"cudart_problems": []}), None))["driver"]
    assert found.status == "problem" and "no libcuda.so.1" in found.found


def test_headers_are_told_with_their_version(tmp_path, monkeypatch):
    (tmp_path / "include").mkdir()
    header = tmp_path / "include/cuda_runtime_api.h"
    monkeypatch.setenv("CUDAToolkit_ROOT", str(tmp_path))
    for version, status in ((12080, "ok"), (12040, "note")):
        header.write_text(f"#define CUDART_VERSION  {version}\n")
        found = by_name(cuda.findings(Report({}), None))["toolkit"]
        assert found.status == status
        assert found.found.startswith(f"headers of 12.{version % 1000 // 10}, {tmp_path}")


# ---- Level Zero


LOADER = """
int zeInit(int flags) {{ return {status}; }}
int zeDriverGet(unsigned* count, void** drivers) {{
  *count = 1; if (drivers) drivers[0] = (void*)1; return 0; }}
int zeDriverGetApiVersion(void* driver, unsigned* version) {{ *version = 1 << 16 | 6; return 0; }}
int zeDeviceGet(void* driver, unsigned* count, void** devices) {{
  if (driver != (void*)1) return 1;
  *count = 1; if (devices) devices[0] = (void*)2; return 0; }}
int zeDeviceGetProperties(void* device, char* properties) {{
  if (device != (void*)2 || *(int*)properties != 3) return 1;
  strcpy(properties + {name}, "Small Arc"); return 0; }}
"""


def of_level_zero(library, loader: str) -> dict[str, Finding]:
    environment = library.environment
    report = child.run("level_zero_probe", loader, limit=30, environment=environment)
    return by_name(level_zero.findings(report))


def offset_of_the_name() -> int:
    """In ze_device_properties_t, by the header where there is one."""
    compiler = shutil.which("cc")
    program = "#include <stddef.h>\n#include <level_zero/ze_api.h>\n"
    program += "char at[offsetof(ze_device_properties_t, name)];\n"
    done = subprocess.run(
        [compiler, "-x", "c", "-S", "-o", "-", "-"], input=program, capture_output=True, text=True
    )
    found = [line for line in done.stdout.splitlines() if ".size\tat" in line]
    return int(found[0].split(",")[1]) if found else 112


def test_a_level_zero_device_is_told(library):
    loader = library("loader.so", LOADER.format(status=0, name=offset_of_the_name()))
    found = of_level_zero(library, loader)
    assert found["loader"].found == loader
    assert found["drivers"].found == "1, for version 1.6 of the API; 1 devices visible: Small Arc"


def test_a_loader_without_a_driver_is_wrong_only_beside_a_card(library, monkeypatch):
    loader = library("loader.so", LOADER.format(status=0x78000001, name=0))
    monkeypatch.setattr(level_zero, "_intel_nodes", list)
    assert of_level_zero(library, loader)["drivers"].status == "ok"
    monkeypatch.setattr(level_zero, "_intel_nodes", lambda: [Path("/dev/null")])
    found = of_level_zero(library, loader)["drivers"]
    assert found.status == "problem" and "ZE_RESULT_ERROR_UNINITIALIZED" in found.found


def test_a_loader_that_is_named_and_missing_is_a_problem(library, monkeypatch):
    monkeypatch.setenv("OUTBACK_ZE_LOADER", "/no/such/loader.so")
    found = of_level_zero(library, level_zero.loader())["loader"]
    assert (found.status, found.command) == ("problem", "unset OUTBACK_ZE_LOADER")


def test_a_card_that_the_user_may_not_open_is_a_problem(monkeypatch, tmp_path):
    monkeypatch.setattr(level_zero, "_intel_nodes", lambda: [tmp_path / "renderD128"])
    found = by_name(level_zero.findings(Report({"missing": "x: No such file"})))
    assert found["rights"].status == "problem" and "render" in found["rights"].command
    assert found["loader"].status == "note"


# ---- OpenCL


CL_LOADER = """#include <stddef.h>
int clGetPlatformIDs(unsigned room, void** all, unsigned* count) {{
  if (count) *count = {platforms}; if (all) all[0] = (void*)1; return {platforms} ? 0 : -1001; }}
static int text(const char* what, size_t size, void* to, size_t* needed) {{
  if (needed) *needed = strlen(what) + 1; if (to) memcpy(to, what, size); return 0; }}
int clGetPlatformInfo(void* of, unsigned what, size_t size, void* to, size_t* needed) {{
  return text(what == 0x902 ? "Small driver" : "OpenCL 2.0", size, to, needed); }}
int clGetDeviceIDs(void* of, unsigned long type, unsigned room, void** all, unsigned* count) {{
  if (count) *count = 1; if (all) all[0] = (void*)2; return 0; }}
int clGetDeviceInfo(void* of, unsigned what, size_t size, void* to, size_t* needed) {{
  if (what == 0x1000 || what == 0x1053) {{
    *(unsigned long*)to = what == 0x1000 ? 4 : {svm};
    return 0;
  }}
  return text(what == 0x102b ? "Small GPU" : what == 0x1030 ? "cl_x {usm}" : "", size, to, needed);
}}
"""


def of_opencl(library, platforms: int = 1, svm: int = 0, usm: str = "") -> dict[str, Finding]:
    loader = library("loader.so", CL_LOADER.format(platforms=platforms, svm=svm, usm=usm))
    report = child.run("opencl_probe", loader, limit=30, environment=library.environment)
    return by_name(opencl.findings(report))


@pytest.mark.parametrize(
    "has, words",
    [
        ({"svm": 3}, "fine-grained SVM"),
        ({"usm": "cl_intel_unified_shared_memory"}, "USM"),
    ],
)
def test_an_opencl_driver_is_told_with_what_its_devices_have(library, has, words):
    found = of_opencl(library, **has)["Small driver"]
    assert found.status == "ok"
    assert found.found == f"OpenCL 2.0; Small GPU (GPU, {words}, OpenCL C)"


def test_an_opencl_device_without_pointers_is_named(library):
    found = of_opencl(library, svm=1)["Small driver"]
    assert found.status == "note" and "neither USM nor fine-grained SVM" in found.found
    assert found.advice.startswith("Small GPU: Outback needs pointers to memory")


def test_no_opencl_driver_is_no_problem(library):
    assert of_opencl(library, platforms=0)["drivers"].status == "ok"


def test_an_opencl_loader_that_is_named_and_missing_is_a_problem(library, monkeypatch):
    monkeypatch.setenv("OUTBACK_OPENCL_LOADER", "/no/such/loader.so")
    report = child.run("opencl_probe", opencl.loader(), limit=30, environment=library.environment)
    found = by_name(opencl.findings(report))["loader"]
    assert (found.status, found.command) == ("problem", "unset OUTBACK_OPENCL_LOADER")


# ---- Python


def test_without_pythons_headers_nothing_can_be_built(monkeypatch, tmp_path):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    found = by_name(python.findings(Installed(), None))["headers"]
    assert found.status == "problem" and "-dev" in found.advice
    there = Installed(backends=(Backend("torch_acme", "x"),))
    assert by_name(python.findings(there, None))["headers"].status == "note"


def test_another_environment_that_is_active_is_a_note(monkeypatch, tmp_path):
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    found = by_name(python.findings(Installed(), None))["environment"]
    assert found.status == "note" and str(tmp_path) in found.found


# ---- What is printed


def test_what_programs_said_is_one_line_without_controls():
    assert one_line("a\n  b\x1b[31m c\x07") == "a b c\\x07"
    assert len(one_line("x" * 5000)) == 600


def test_sizes_are_for_people():
    assert [size(it) for it in (0, 1023, 1 << 20, 3 << 30)] == [
        "0 bytes",
        "1023 bytes",
        "1.0 MiB",
        "3.0 GiB",
    ]
