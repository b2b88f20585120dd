// Checks of handles and flags that all runtimes make alike.
#pragma once

#include <cstdint>
#include <string>

#include "outback/runtime.h"
#include "outback/runtime_error.hpp"

namespace outback {

/// Throws outback::invalid_argument if a stream, event or graph (`what`) belongs to device number
/// `of`, and the call names another one. Nothing else of a handle can be checked: it must be one of
/// the runtime's that still exists.
inline void check_owner(const char* what, int32_t of, int32_t device) {
  if (of == device) return;
  throw invalid_argument("the " + std::string(what) + " is of device " + std::to_string(of) +
                         ", not of device " + std::to_string(device));
}

/// Throws outback::invalid_argument for flags that events.create must refuse.
inline void check_event_flags(uint32_t flags) {
  constexpr uint32_t known =
      OUTBACK_EVENT_TIMING | OUTBACK_EVENT_BLOCKING | OUTBACK_EVENT_INTERPROCESS;
  constexpr uint32_t not_both = OUTBACK_EVENT_INTERPROCESS | OUTBACK_EVENT_TIMING;
  if ((flags & ~known) != 0) {
    throw invalid_argument("unknown event flags " + std::to_string(flags & ~known));
  }
  if ((flags & not_both) == not_both) {
    throw invalid_argument("an event between processes has no time: INTERPROCESS without TIMING");
  }
}

}  // namespace outback
