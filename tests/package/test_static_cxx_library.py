"""Compilers that link libstdc++ statically, as portable ones do, while torch has the shared one."""

import sys

import pytest
from conftest import ROOT, call

PROJECT = """\
cmake_minimum_required(VERSION 3.24)
project(writer LANGUAGES CXX)
find_package(Outback 0.1 REQUIRED)
add_library(writer MODULE writer.cpp)
target_link_libraries(writer PRIVATE outback::libtorch)
"""
# As TORCH_CHECK: the stream is made here, and libc10 writes a size to it.
WRITER = """\
#include <c10/core/SymInt.h>
#include <sstream>
extern "C" int main_in_library() {
  std::ostringstream stream;
  stream << "size " << c10::SymInt(7) << " of torch's";
  return stream.str() == "size 7 of torch's" ? 0 : 1;
}
"""
PROGRAM = """\
import ctypes, sys
import torch
library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)  # as torch.ops.load_library does
sys.exit(library.main_in_library())
"""


@pytest.mark.parametrize("flags", ["", "-static-libstdc++", "-static-libstdc++ -static-libgcc"])
def test_torch_writes_to_a_stream_of_ours(tmp_path, flags):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    (tmp_path / "writer.cpp").write_text(WRITER)
    build = tmp_path / "build"
    definitions = [f"-DOutback_ROOT={ROOT}", f"-DPython_EXECUTABLE={sys.executable}"]
    definitions += [f"-DCMAKE_{kind}_LINKER_FLAGS={flags}" for kind in ("EXE", "MODULE")]
    call(["cmake", "-S", tmp_path, "-B", build, *definitions])
    call(["cmake", "--build", build, "--target", "writer"])
    call([sys.executable, "-c", PROGRAM, build / "libwriter.so"])
