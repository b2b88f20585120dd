// Which faults are possible, and which calls a fault concerns. fault_rules.cpp parses
// OUTBACK_FAULTS; `parse_faults` in outback/layers.hpp describes the grammar.
#pragma once

#include <cstdint>

#include "backend_template/layers/call.hpp"
#include "outback/layers.hpp"

namespace outback::layers {

/// Throws outback::invalid_argument for a fault that can never happen: an unknown slot, a call
/// number 0, a status that the slot cannot return, or a device for a slot that names no device.
void check_fault(const fault& given);

/// Returns the slot that `given` disturbs, null if it disturbs all slots. `given` must pass
/// `check_fault`.
const slot_facts* slot_of(const fault& given);

/// Returns whether `given` disturbs call number `count`, from 1, among the calls that it counts.
constexpr bool happens_at(const fault& given, uint64_t count) {
  if (count < given.first) return false;
  const uint64_t after = count - given.first;
  return after == 0 || (given.every != 0 && after % given.every == 0);
}

}  // namespace outback::layers
