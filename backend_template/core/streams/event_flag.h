// Packs the OUTBACK_EVENT_* flags into a c10::EventFlag, and unpacks them. c10 keeps one flag for
// each c10::Event, and knows only whether the event has timing; OUTBACK_EVENT_BLOCKING and
// _INTERPROCESS are in higher bits of the same number. The guard reads them when c10 creates the
// event.
#pragma once

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdint>

#include "outback/runtime.h"

namespace outback::core {

/// The other OUTBACK_EVENT_* flags start at this bit, above the values of c10's own flags.
inline constexpr int own_event_flags_shift = 8;

/// Returns the flag for a new c10::Event. `flags` are OUTBACK_EVENT_*.
///
/// For timing the flag is c10's own: BACKEND_DEFAULT with timing and PYTORCH_DEFAULT without. So an
/// event without other flags has the same flag as an event from torch.Event, also in c10's
/// comparisons.
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
