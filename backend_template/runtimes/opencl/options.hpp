// Options of the OpenCL runtime from the environment. Only the loader and the drivers read
// variables such as OCL_ICD_VENDORS and POCL_DEVICES.
#pragma once

#include <string>

namespace outback::opencl {

struct opencl_options {
  std::string loader = "libOpenCL.so.1";  // OUTBACK_OPENCL_LOADER: a name or a path
};

/// Reads the variables. Throws outback::invalid_argument; the text names the variable, its value
/// and the expected values.
opencl_options options_from_environment();

}  // namespace outback::opencl
