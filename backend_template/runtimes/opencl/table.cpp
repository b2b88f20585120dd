// The C function that returns the table of the process's one OpenCL runtime.
#include "backend_template/runtimes/opencl/opencl.h"
#include "backend_template/runtimes/opencl/opencl_runtime.hpp"
#include "backend_template/runtimes/refused_runtime.hpp"

extern "C" const outback_runtime* outback_opencl_runtime(void) {
  using namespace outback::opencl;
  // Leaked on purpose: tensors, and the driver's threads, may outlive main().
  static const outback_runtime* const table =
      outback::table_or_refusal([] { return new opencl_runtime(options_from_environment()); });
  return table;
}
