// zeCommandListAppendMemory*: copies and fills. What they move is read when the device comes to it;
// the arguments themselves, a fill's pattern too, when they are appended.
#include <array>
#include <cstring>
#include <vector>

#include "tests/fakes/level_zero/appending.hpp"
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace copy_entries {

ze_result_t append_copy(ze_command_list_handle_t list, void* to, const void* from, size_t size,
                        const context* from_context, ze_event_handle_t signals, uint32_t wait_count,
                        ze_event_handle_t* waits) {
  require_pointer(to);
  require_pointer(from);
  appending what(list, signals, wait_count, waits);
  if (size == 0) return what.finish();
  std::byte* const into = what.use(to, size);
  const std::byte* const bytes = what.use(from, size, from_context);
  if (into < bytes + size && bytes < into + size) {
    report_violation("a copy's ranges overlap");
    return ZE_RESULT_ERROR_OVERLAPPING_REGIONS;
  }
  return what.finish([into, bytes, size] { std::memcpy(into, bytes, size); });
}

ze_result_t copy(ze_command_list_handle_t list, void* to, const void* from, size_t size,
                 ze_event_handle_t signals, uint32_t wait_count, ze_event_handle_t* waits) {
  return append_copy(list, to, from, size, nullptr, signals, wait_count, waits);
}

ze_result_t copy_from_context(ze_command_list_handle_t list, void* to, ze_context_handle_t context,
                              const void* from, size_t size, ze_event_handle_t signals,
                              uint32_t wait_count, ze_event_handle_t* waits) {
  const auto of = context ? the_world().contexts.find(context) : nullptr;
  return append_copy(list, to, from, size, of.get(), signals, wait_count, waits);
}

size_t greatest_pattern(uint32_t group) {
  return group == 0 ? the_options().fill_pattern : 1;
}

ze_result_t fill(ze_command_list_handle_t list, void* into, const void* pattern,
                 size_t pattern_size, size_t size, ze_event_handle_t signals, uint32_t wait_count,
                 ze_event_handle_t* waits) {
  require_pointer(into);
  require_pointer(pattern);
  appending what(list, signals, wait_count, waits);
  // Source: ze_api.h, zeCommandListAppendMemoryFill, and the group's maxMemoryFillPatternSize.
  require(pattern_size > 0 && (pattern_size & (pattern_size - 1)) == 0,
          ZE_RESULT_ERROR_INVALID_SIZE);
  require(pattern_size <= greatest_pattern(what.list().group), ZE_RESULT_ERROR_INVALID_SIZE);
  if (size == 0) return what.finish();
  std::byte* const bytes = what.use(into, size);
  const std::vector<std::byte> kept(static_cast<const std::byte*>(pattern),
                                    static_cast<const std::byte*>(pattern) + pattern_size);
  return what.finish([bytes, kept, size] {
    if (kept.size() == 1) {
      std::memset(bytes, std::to_integer<int>(kept[0]), size);
      return;
    }
    for (size_t done = 0; done < size; done += kept.size()) {
      std::memcpy(bytes + done, kept.data(), std::min(kept.size(), size - done));
    }
  });
}

struct region {
  std::byte* bytes;  // of its first byte
  size_t pitch, slice_pitch;
};

/// Bytes from the pointer to the end of the region.
size_t reach(const ze_copy_region_t& of, size_t pitch, size_t slice_pitch) {
  const size_t last_slice = of.originZ + of.depth - 1, last_row = of.originY + of.height - 1;
  return last_slice * slice_pitch + last_row * pitch + of.originX + of.width;
}

region use_region(appending& what, const void* pointer, const ze_copy_region_t& of, uint32_t pitch,
                  uint32_t slice_pitch) {
  const size_t row = pitch ? pitch : of.width;
  const size_t slice = slice_pitch ? slice_pitch : row * of.height;
  std::byte* const bytes = what.use(pointer, reach(of, row, slice));
  return {bytes + of.originZ * slice + of.originY * row + of.originX, row, slice};
}

ze_result_t copy_region(ze_command_list_handle_t list, void* to, const ze_copy_region_t* to_region,
                        uint32_t to_pitch, uint32_t to_slice_pitch, const void* from,
                        const ze_copy_region_t* from_region, uint32_t from_pitch,
                        uint32_t from_slice_pitch, ze_event_handle_t signals, uint32_t wait_count,
                        ze_event_handle_t* waits) {
  require_pointer(to);
  require_pointer(from);
  require_pointer(to_region);
  require_pointer(from_region);
  ze_copy_region_t size = *from_region, target = *to_region;
  // Two dimensions are said by a depth of 0 or of 1.
  for (ze_copy_region_t* one : {&size, &target}) one->depth = std::max(one->depth, 1u);
  require(size.width == target.width && size.height == target.height && size.depth == target.depth,
          ZE_RESULT_ERROR_INVALID_SIZE);
  appending what(list, signals, wait_count, waits);
  if (size.width == 0 || size.height == 0) return what.finish();
  const region into = use_region(what, to, target, to_pitch, to_slice_pitch);
  const region bytes = use_region(what, from, size, from_pitch, from_slice_pitch);
  return what.finish([into, bytes, size] {
    for (size_t z = 0; z < size.depth; ++z) {
      for (size_t y = 0; y < size.height; ++y) {
        std::memcpy(into.bytes + z * into.slice_pitch + y * into.pitch,
                    bytes.bytes + z * bytes.slice_pitch + y * bytes.pitch, size.width);
      }
    }
  });
}

}  // namespace copy_entries

void serve_copies(ze_command_list_dditable_t* table) {
  using namespace copy_entries;
  serve<"zeCommandListAppendMemoryCopy", copy>(table->pfnAppendMemoryCopy);
  serve<"zeCommandListAppendMemoryFill", fill>(table->pfnAppendMemoryFill);
  serve<"zeCommandListAppendMemoryCopyRegion", copy_region>(table->pfnAppendMemoryCopyRegion);
  serve<"zeCommandListAppendMemoryCopyFromContext", copy_from_context>(
      table->pfnAppendMemoryCopyFromContext);
}

}  // namespace outback::software_ze
