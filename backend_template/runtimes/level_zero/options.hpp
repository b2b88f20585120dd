// Options of the Level Zero runtime from the environment. Only the driver reads variables such as
// ZE_AFFINITY_MASK and ZE_FLAT_DEVICE_HIERARCHY.
#pragma once

#include <string>

namespace outback::level_zero {

/// The loader to open, and the features to avoid.
struct level_zero_options {
  std::string loader = "libze_loader.so.1";  // OUTBACK_ZE_LOADER: a name or a path
  bool in_order = true;                      // OUTBACK_ZE_IN_ORDER=0: order by barriers, always
  bool old_flags = false;  // ZE_ENABLE_VALIDATION_LAYER=1: the loader checks flags
  bool sysman = false;     // ZES_ENABLE_SYSMAN=1: Sysman starts with the core
};

/// Reads the variables. Throws outback::invalid_argument; the text names the variable, its value
/// and the expected values.
level_zero_options options_from_environment();

}  // namespace outback::level_zero
