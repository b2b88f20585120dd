// zeCommandListAppend*: barriers, events and time.
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "tests/fakes/level_zero/appending.hpp"
#include "tests/fakes/level_zero/clock.hpp"
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace append_entries {

ze_result_t barrier(ze_command_list_handle_t list, ze_event_handle_t signals, uint32_t wait_count,
                    ze_event_handle_t* waits) {
  appending what(list, signals, wait_count, waits);
  what.keep(wait_count == 0 ? command::order::barrier : command::order::gate);
  return what.finish();
}

ze_result_t ranges_barrier(ze_command_list_handle_t list, uint32_t count, const size_t* sizes,
                           const void** ranges, ze_event_handle_t signals, uint32_t wait_count,
                           ze_event_handle_t* waits) {
  require_pointer(sizes);
  require_pointer(ranges);
  require(count > 0, ZE_RESULT_ERROR_INVALID_SIZE);
  return barrier(list, signals, wait_count, waits);
}

ze_result_t signal_event(ze_command_list_handle_t list, ze_event_handle_t signals) {
  require(signals != nullptr, ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  return appending(list, signals, 0, nullptr).finish();
}

ze_result_t wait_on_events(ze_command_list_handle_t list, uint32_t count,
                           ze_event_handle_t* events) {
  require_pointer(events);
  appending what(list, nullptr, count, events);
  what.keep(command::order::gate);
  return what.finish();
}

ze_result_t reset_event(ze_command_list_handle_t list, ze_event_handle_t handle) {
  appending what(list, nullptr, 0, nullptr);
  what.reset(handle);
  const signal_pointer state = the_world().events.find(handle)->current();
  return what.finish([state] { state->reset(); });
}

// Bits beyond the valid ones say nothing. In adversarial mode they are noise.
uint64_t noise() {
  if (!the_options().adversarial) return 0;
  thread_local std::mt19937_64 random(clock_ticks());
  return random();
}

uint64_t timestamp() {
  const uint32_t bits = the_options().timer_bits;
  const uint64_t above = bits >= 64 ? 0 : noise() >> bits << bits;
  return above | low_bits(clock_ticks(), bits);
}

ze_result_t write_timestamp(ze_command_list_handle_t list, uint64_t* into,
                            ze_event_handle_t signals, uint32_t wait_count,
                            ze_event_handle_t* waits) {
  appending what(list, signals, wait_count, waits);
  std::byte* bytes = what.use(into, sizeof *into);
  return what.finish([bytes] {
    const uint64_t now = timestamp();
    std::memcpy(bytes, &now, sizeof now);
  });
}

ze_result_t query_timestamps(ze_command_list_handle_t list, uint32_t count,
                             ze_event_handle_t* events, void* into, const size_t* offsets,
                             ze_event_handle_t signals, uint32_t wait_count,
                             ze_event_handle_t* waits) {
  require_pointer(events);
  appending what(list, signals, wait_count, waits);
  std::vector<std::pair<signal_pointer, std::byte*>> results;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t offset = offsets ? offsets[i] : i * sizeof(ze_kernel_timestamp_result_t);
    results.emplace_back(
        the_world().events.find(events[i])->current(),
        what.use(static_cast<std::byte*>(into) + offset, sizeof(ze_kernel_timestamp_result_t)));
  }
  return what.finish([results] {
    for (const auto& [from, bytes] : results) {
      const ze_kernel_timestamp_result_t read = kernel_timestamps(*from);
      std::memcpy(bytes, &read, sizeof read);
    }
  });
}

// Hints: there is nothing to move.
ze_result_t prefetch(ze_command_list_handle_t list, const void* pointer, size_t size) {
  appending what(list, nullptr, 0, nullptr);
  what.use(pointer, size);
  return what.finish();
}

ze_result_t advise(ze_command_list_handle_t list, ze_device_handle_t on, const void* pointer,
                   size_t size, ze_memory_advice_t) {
  the_world().devices.find(on);
  return prefetch(list, pointer, size);
}

}  // namespace append_entries

void serve_appends(ze_command_list_dditable_t* table) {
  using namespace append_entries;
  serve<"zeCommandListAppendBarrier", barrier>(table->pfnAppendBarrier);
  serve<"zeCommandListAppendMemoryRangesBarrier", ranges_barrier>(
      table->pfnAppendMemoryRangesBarrier);
  serve<"zeCommandListAppendSignalEvent", signal_event>(table->pfnAppendSignalEvent);
  serve<"zeCommandListAppendWaitOnEvents", wait_on_events>(table->pfnAppendWaitOnEvents);
  serve<"zeCommandListAppendEventReset", reset_event>(table->pfnAppendEventReset);
  serve<"zeCommandListAppendWriteGlobalTimestamp", write_timestamp>(
      table->pfnAppendWriteGlobalTimestamp);
  serve<"zeCommandListAppendQueryKernelTimestamps", query_timestamps>(
      table->pfnAppendQueryKernelTimestamps);
  serve<"zeCommandListAppendMemoryPrefetch", prefetch>(table->pfnAppendMemoryPrefetch);
  serve<"zeCommandListAppendMemAdvise", advise>(table->pfnAppendMemAdvise);
}

}  // namespace outback::software_ze
