// The environment of a Level Zero runtime on the software driver. The loader and the driver read it
// once, when they are initialised, so a process has one.
#pragma once

#include <initializer_list>
#include <utility>

namespace outback::test_level_zero {

/// Libraries that the tests build, by their full paths.
extern const char* const software_driver;
extern const char* const newer_loader;
extern const char* const host_kernels;  // the suite's, compiled for the host

using variable = std::pair<const char*, const char*>;

/// To be called before the first slot. Variables that are set already keep their value, so that one
/// can try others by hand.
void set_environment(std::initializer_list<variable> given);

}  // namespace outback::test_level_zero
