// What a fault may be, and when it happens.
#pragma once

#include <cstdint>

#include "backend_template/layers/call.hpp"
#include "outback/layers.hpp"

namespace outback::layers {

/// Throws outback::invalid_argument for a fault that no call can bring about.
void check_fault(const fault& given);

/// The slot that `given` is about, which passes `check_fault`; null if it is about all of them.
const slot_facts* slot_of(const fault& given);

/// Whether the call number `count`, from 1, is one of those that `given` is about.
constexpr bool happens_at(const fault& given, uint64_t count) {
  if (count < given.first) return false;
  const uint64_t after = count - given.first;
  return after == 0 || (given.every != 0 && after % given.every == 0);
}

}  // namespace outback::layers
