// The environment of a Level Zero runtime on the software driver. The loader and the driver read it
// once, when they are initialised, so a process has one.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <utility>

namespace outback::test_level_zero {

using variable = std::pair<const char*, const char*>;

/// To be called before the first slot. Variables that are set already keep their value, so that one
/// can try others by hand.
inline void set_environment(std::initializer_list<variable> given) {
  setenv("ZE_ENABLE_ALT_DRIVERS", OUTBACK_TEST_ZE_DRIVER, 0);
  setenv("OUTBACK_ZE_STRICT", "1", 0);  // what breaks the API's rules ends the process
  for (const auto& [name, value] : given) setenv(name, value, 0);
}

}  // namespace outback::test_level_zero
