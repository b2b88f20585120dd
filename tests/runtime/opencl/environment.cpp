#include "tests/runtime/opencl/environment.hpp"

#include <cstdlib>

namespace outback::test_opencl {

const char* const other_loader = OUTBACK_TEST_CL_OTHER_LOADER;

void set_environment(std::initializer_list<variable> given) {
  for (const auto& [name, value] : given) setenv(name, value, 0);
  setenv("OCL_ICD_VENDORS", OUTBACK_TEST_OPENCL_VENDORS, 0);
  setenv("POCL_DEVICES", "pthread pthread", 0);
  setenv("POCL_MEMORY_LIMIT", "1", 0);  // GiB
  setenv("POCL_CACHE_DIR", OUTBACK_TEST_POCL_CACHE, 0);
}

}  // namespace outback::test_opencl
