// Packs our event flags into a c10::EventFlag and unpacks them. c10 keeps one flag for each
// c10::Event and knows only whether it has timing; OUTBACK_EVENT_BLOCKING and _INTERPROCESS travel
// in higher bits of the same number. The guard reads them when c10 creates the event.
#pragma once

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdint>

#include "outback/runtime.h"

namespace outback::core {

/// Our flags start at this bit, above the values that c10 gives its own flags.
inline constexpr int own_event_flags_shift = 8;

/// Returns the flag to create a c10::Event with. `flags` are OUTBACK_EVENT_*.
///
/// Timing is expressed as c10 does it, BACKEND_DEFAULT with and PYTORCH_DEFAULT without. So an
/// event that has no other flag equals one that torch.Event made, also in c10's comparisons.
constexpr c10::EventFlag event_flag_of(uint32_t flags) noexcept {
  const auto c10_flag =
      static_cast<uint32_t>((flags & OUTBACK_EVENT_TIMING) != 0 ? c10::EventFlag::BACKEND_DEFAULT
                                                                : c10::EventFlag::PYTORCH_DEFAULT);
  const uint32_t own = flags & ~uint32_t{OUTBACK_EVENT_TIMING};
  return static_cast<c10::EventFlag>(c10_flag | own << own_event_flags_shift);
}

/// Returns the OUTBACK_EVENT_* in a flag that c10 or `event_flag_of` made.
constexpr uint32_t event_flags_in(c10::EventFlag flag) noexcept {
  const auto value = static_cast<uint32_t>(flag);
  const uint32_t c10_flag = value & ((1U << own_event_flags_shift) - 1);
  const bool timing = c10_flag == static_cast<uint32_t>(c10::EventFlag::BACKEND_DEFAULT);
  return value >> own_event_flags_shift | (timing ? uint32_t{OUTBACK_EVENT_TIMING} : 0);
}

}  // namespace outback::core
