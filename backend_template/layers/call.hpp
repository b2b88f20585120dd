// Reading the arguments of one call by what the list of slots says of them.
#pragma once

#include <cstdint>
#include <set>
#include <type_traits>

#include "backend_template/layers/slots.hpp"

namespace outback::layers {

/// Calls `visit(argument, value)` for each.
template <class Slot, class Visit, class... Args>
void for_each_argument(Visit&& visit, Args... args) {
  std::size_t i = 0;
  (visit(Slot::arguments[i++], args), ...);
}

/// The devices that the arguments name, without the host.
template <class Slot, class... Args>
std::set<int32_t> devices_of(Args... args) {
  std::set<int32_t> all;
  for_each_argument<Slot>(
      [&](argument a, auto value) {
        if constexpr (std::is_same_v<decltype(value), int32_t>) {
          const bool names_one = a.is == role::device || a.is == role::side;
          if (names_one && value != OUTBACK_HOST) all.insert(value);
        }
      },
      args...);
  return all;
}

/// The device that the handles of the call belong to; OUTBACK_HOST if it names none. Of two sides,
/// it is the source, which is the latter, unless that is the host; of a device and its peer, the
/// device.
template <class Slot, class... Args>
int32_t stream_device(Args... args) {
  int32_t found = OUTBACK_HOST;
  for_each_argument<Slot>(
      [&](argument a, auto value) {
        if constexpr (std::is_same_v<decltype(value), int32_t>) {
          if (a.is == role::device && found == OUTBACK_HOST) found = value;
          if (a.is == role::side && value != OUTBACK_HOST) found = value;
        }
      },
      args...);
  return found;
}

}  // namespace outback::layers
