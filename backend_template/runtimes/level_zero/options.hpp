// What the environment says to the Level Zero runtime. What it says to the driver
// (ZE_AFFINITY_MASK, ZE_FLAT_DEVICE_HIERARCHY, ...) is the driver's to read.
#pragma once

#include <string>

namespace outback::level_zero {

struct level_zero_options {
  std::string loader = "libze_loader.so.1";  // OUTBACK_ZE_LOADER: a name or a path
  bool in_order = true;  // OUTBACK_ZE_IN_ORDER: 0 keeps order by barriers, whatever the driver can
  bool old_flags = false;  // the loader checks flags (ZE_ENABLE_VALIDATION_LAYER)
  bool sysman = false;     // ZES_ENABLE_SYSMAN, which the driver reads when it is initialised
};

/// Throws outback::invalid_argument with the variable, its value and what was expected.
level_zero_options options_from_environment();

}  // namespace outback::level_zero
