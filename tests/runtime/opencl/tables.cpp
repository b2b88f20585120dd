// The OpenCL runtime for the suite, on PoCL.
#include "backend_template/runtimes/opencl/opencl.h"
#include "tests/runtime/opencl/environment.hpp"

// With fine-grained shared virtual memory, which PoCL has in every version.
extern "C" const outback_runtime* outback_test_opencl(void) {
  outback::test_opencl::set_environment();
  return outback_opencl_runtime();
}

// With unified shared memory.
extern "C" const outback_runtime* outback_test_opencl_usm(void) {
  using outback::test_opencl::other_loader;
  outback::test_opencl::set_environment(
      {{"OUTBACK_OPENCL_LOADER", other_loader}, {"OUTBACK_TEST_CL_DRIVER", "usm"}});
  return outback_opencl_runtime();
}
