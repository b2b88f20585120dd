// What a c10::Event is made with, in its c10::EventFlag: c10 knows of timing only.
#pragma once

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdint>

#include "outback/runtime.h"

namespace outback::core {

inline constexpr int own_event_flags_shift = 8;  // beyond c10's own values

/// `flags`: OUTBACK_EVENT_*. c10's own flag where timing is all there is to say, so that
/// torch.Event and ours compare as c10 compares them.
constexpr c10::EventFlag event_flag_of(uint32_t flags) noexcept {
  const auto c10_flag =
      static_cast<uint32_t>((flags & OUTBACK_EVENT_TIMING) != 0 ? c10::EventFlag::BACKEND_DEFAULT
                                                                : c10::EventFlag::PYTORCH_DEFAULT);
  const uint32_t own = flags & ~uint32_t{OUTBACK_EVENT_TIMING};
  return static_cast<c10::EventFlag>(c10_flag | own << own_event_flags_shift);
}

/// OUTBACK_EVENT_* of a flag that c10 or `event_flag_of` made.
constexpr uint32_t event_flags_in(c10::EventFlag flag) noexcept {
  const auto value = static_cast<uint32_t>(flag);
  const uint32_t c10_flag = value & ((1U << own_event_flags_shift) - 1);
  const bool timing = c10_flag == static_cast<uint32_t>(c10::EventFlag::BACKEND_DEFAULT);
  return value >> own_event_flags_shift | (timing ? uint32_t{OUTBACK_EVENT_TIMING} : 0);
}

}  // namespace outback::core
