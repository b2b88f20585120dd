// What the environment tells the Level Zero runtime. Variables such as ZE_AFFINITY_MASK and
// ZE_FLAT_DEVICE_HIERARCHY are read by the driver alone.
#pragma once

#include <string>

namespace outback::level_zero {

/// Which loader to open, and what to avoid.
struct level_zero_options {
  std::string loader = "libze_loader.so.1";  // OUTBACK_ZE_LOADER: a name or a path
  bool in_order = true;                      // OUTBACK_ZE_IN_ORDER=0: order by barriers, always
  bool old_flags = false;  // ZE_ENABLE_VALIDATION_LAYER=1: the loader checks flags
  bool sysman = false;     // ZES_ENABLE_SYSMAN=1: Sysman starts with the core
};

/// Reads the variables. Throws outback::invalid_argument with the variable, its value and what was
/// expected.
level_zero_options options_from_environment();

}  // namespace outback::level_zero
