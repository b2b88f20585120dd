// The suite's kernels (kernels/kernels.cl), compiled for whatever takes them.
#pragma once

#include <string>
#include <vector>

#include "outback/runtime.h"

namespace outback::suite {

/// The names of the kernels are in kernels.cl. `fault` is in modules of the formats HOST, PTX and
/// CUBIN alone.
struct kernel_module {
  outback_format format;
  std::string bytes;
};

/// Returns the suite's modules: those of --kernels=FORMAT:FILE, then the suite's own, one for each
/// of HOST, SPIRV, PTX and OPENCL_C. Throws std::runtime_error for a file that cannot be read.
const std::vector<kernel_module>& kernel_modules();

}  // namespace outback::suite
