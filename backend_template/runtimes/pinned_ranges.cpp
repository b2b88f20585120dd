#include "backend_template/runtimes/pinned_ranges.hpp"

#include <cstdint>
#include <limits>
#include <sstream>

#include "outback/runtime_error.hpp"

namespace outback {
namespace {

std::string range_name(const void* begin, std::size_t size) {
  std::ostringstream text;
  text << size << " bytes at " << begin;
  return text.str();
}

}  // namespace

void refuse_range(const void* base, std::size_t size, const void* met, std::size_t met_size,
                  const std::string& what) {
  throw invalid_argument("the " + range_name(base, size) + " meet " + range_name(met, met_size) +
                         ", " + what);
}

void pinned_ranges::add_registered(void* base, std::size_t size) {
  // Otherwise the end of the range would wrap around, and it would seem to overlap nothing.
  if (size > std::numeric_limits<uintptr_t>::max() - reinterpret_cast<uintptr_t>(base)) {
    throw invalid_argument("no memory has " + range_name(base, size));
  }
  if (const auto met = add({.base = base, .size = size, .registered = true})) {
    refuse_range(base, size, met->base, met->size, "which are pinned already");
  }
}

void pinned_ranges::take_registered(const void* base) {
  // Registered memory must not be freed, nor allocated memory unregistered.
  if (take_if(base, [](const pinned_range& range) { return range.registered; })) return;
  const auto around = find(base);
  throw invalid_argument(
      "the pointer is not the beginning of a range that was registered" +
      (around ? ", but inside of " + range_name(around->base, around->size) : std::string()));
}

}  // namespace outback
