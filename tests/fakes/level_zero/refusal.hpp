// How code inside the driver answers something other than success: it throws this, and the entry
// point answers it.
#pragma once

#include <level_zero/ze_api.h>

namespace outback::software_ze {

struct refusal {
  ze_result_t result;
};

inline void require(bool condition, ze_result_t otherwise) {
  if (!condition) throw refusal{otherwise};
}

/// For pointers of the caller that may not be null.
inline void require_pointer(const void* pointer) {
  require(pointer != nullptr, ZE_RESULT_ERROR_INVALID_NULL_POINTER);
}

}  // namespace outback::software_ze
