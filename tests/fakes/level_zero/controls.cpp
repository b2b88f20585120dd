// The functions of software_driver.h.
#include "tests/fakes/level_zero/software_driver.h"

#include <algorithm>
#include <string>

#include "tests/fakes/level_zero/clock.hpp"
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/launches.hpp"
#include "tests/fakes/level_zero/leaks.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/work_queue.hpp"
#include "tests/fakes/level_zero/world.hpp"

#define OUTBACK_ZE_CONTROL extern "C" __attribute__((visibility("default")))

namespace software = outback::software_ze;

namespace {

software::device* device_at(uint32_t index) {
  software::world* all = software::world_if_made();
  return all && index < all->listed.size() ? all->listed[index].get() : nullptr;
}

int copy_text(const std::string& found, char* text, size_t size) {
  if (found.empty() || size == 0) return 0;
  text[found.copy(text, size - 1)] = '\0';
  return 1;
}

}  // namespace

OUTBACK_ZE_CONTROL int outback_ze_fail(const char* name, uint32_t nth, uint32_t result) {
  software::entry_point* point = software::find_entry_point(name);
  if (!point) return -1;
  point->fail(nth, static_cast<ze_result_t>(result));
  return 0;
}

OUTBACK_ZE_CONTROL void outback_ze_clear_failures(void) {
  for (auto* point : software::entry_points()) point->clear_failures();
}

OUTBACK_ZE_CONTROL const char* outback_ze_entry_point(size_t index) {
  const auto& points = software::entry_points();
  return index < points.size() ? points[index]->name() : nullptr;
}

OUTBACK_ZE_CONTROL uint64_t outback_ze_calls(const char* name) {
  const software::entry_point* point = software::find_entry_point(name);
  return point ? point->calls() : 0;
}

OUTBACK_ZE_CONTROL int outback_ze_lose_device(uint32_t index) {
  software::device* lost = device_at(index);
  if (!lost) return -1;
  lost->lose();
  return 0;
}

OUTBACK_ZE_CONTROL void outback_ze_pause(void) {
  software::pause_queues(true);
}
OUTBACK_ZE_CONTROL void outback_ze_resume(void) {
  software::pause_queues(false);
}

OUTBACK_ZE_CONTROL void outback_ze_advance_clock(uint64_t nanoseconds) {
  software::advance_clock(nanoseconds);
}

OUTBACK_ZE_CONTROL uint64_t outback_ze_live(const char* kind) {
  return software::count_live(kind).value_or(UINT64_MAX);
}

OUTBACK_ZE_CONTROL uint64_t outback_ze_launches(void) {
  return software::launch_count();
}

OUTBACK_ZE_CONTROL int outback_ze_launch(size_t index, char* text, size_t size) {
  return copy_text(software::launch_text(index), text, size);
}

OUTBACK_ZE_CONTROL uint64_t outback_ze_memory_used(uint32_t index) {
  software::device* of = device_at(index);
  return of ? of->memory_used() : 0;
}

OUTBACK_ZE_CONTROL uint64_t outback_ze_violations(void) {
  return software::violation_count();
}

OUTBACK_ZE_CONTROL int outback_ze_violation(size_t index, char* text, size_t size) {
  return copy_text(software::violation_text(index), text, size);
}

OUTBACK_ZE_CONTROL void outback_ze_clear_violations(void) {
  software::clear_violations();
}
