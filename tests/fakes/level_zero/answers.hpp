// The two ways in which Level Zero asks for lists and structures.
#pragma once

#include <level_zero/ze_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "tests/fakes/level_zero/refusal.hpp"

namespace outback::software_ze {

/// "If count is zero, the driver says how many there are; else it writes so many, or fewer if there
/// are fewer."
template <class Items, class Element, class Write>
void answer_list(const Items& items, uint32_t* count, Element* into, Write write) {
  require_pointer(count);
  const auto there = static_cast<uint32_t>(std::size(items));
  if (*count == 0 || *count > there) *count = there;
  if (!into) return;
  for (uint32_t i = 0; i < *count; ++i) write(into[i], items[i]);
}

/// A copy of `text` that fits, with its null.
template <std::size_t size>
void answer_text(char (&into)[size], std::string_view text) {
  const std::size_t length = text.copy(into, size - 1);
  std::fill(into + length, into + size, '\0');
}

/// A structure as it was when the caller made it: all fields zero, stype and pNext the caller's.
template <class Structure>
void clear(Structure& structure) {
  const auto stype = structure.stype;
  const auto next = structure.pNext;
  structure = Structure{};
  structure.stype = stype;
  structure.pNext = next;
}

/// The structure of type `stype` in the chain behind a descriptor, or null.
template <class Structure>
const Structure* find_extension(const void* next, uint32_t stype) {
  while (next) {
    const auto* base = static_cast<const ze_base_desc_t*>(next);
    if (static_cast<uint32_t>(base->stype) == stype) return static_cast<const Structure*>(next);
    next = base->pNext;
  }
  return nullptr;
}

}  // namespace outback::software_ze
