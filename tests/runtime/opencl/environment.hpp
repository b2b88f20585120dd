// The environment of an OpenCL runtime on PoCL, a driver for the CPU. The loader and the driver
// read it once, so a process has one.
#pragma once

#include <initializer_list>
#include <utility>

namespace outback::test_opencl {

/// A loader that the tests build, by its full path: see other_loader.cpp.
extern const char* const other_loader;

using variable = std::pair<const char*, const char*>;

/// To be called before the first slot. Two devices with 1 GiB each, and compiled kernels in a
/// folder of the build. Variables that are set already keep their value, so that one can try other
/// drivers by hand.
void set_environment(std::initializer_list<variable> given = {});

}  // namespace outback::test_opencl
