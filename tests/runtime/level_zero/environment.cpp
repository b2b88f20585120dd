#include "tests/runtime/level_zero/environment.hpp"

#include <cstdlib>

namespace outback::test_level_zero {

const char* const software_driver = OUTBACK_TEST_ZE_DRIVER;
const char* const newer_loader = OUTBACK_TEST_ZE_NEWER_LOADER;
const char* const host_kernels = OUTBACK_TEST_ZE_HOST_KERNELS;

void set_environment(std::initializer_list<variable> given) {
  setenv("ZE_ENABLE_ALT_DRIVERS", software_driver, 0);
  setenv("OUTBACK_ZE_STRICT", "1", 0);  // what breaks the API's rules ends the process
  for (const auto& [name, value] : given) setenv(name, value, 0);
}

}  // namespace outback::test_level_zero
