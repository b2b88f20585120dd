// zeMem*: allocation, freeing and what is known of a pointer.
#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <thread>
#include <utility>

#include "tests/fakes/level_zero/answers.hpp"
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace memory_entries {

struct request {
  std::size_t size, alignment;
  const void* extensions;  // behind the descriptor
  void** made;
};

void check(const request& asked, uint64_t max_alloc) {
  require_pointer(asked.made);
  require(asked.size > 0, ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  require(asked.alignment <= arena::greatest_alignment &&
              (asked.alignment == 0 || std::has_single_bit(asked.alignment)),
          ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  const auto* relaxed = find_extension<ze_relaxed_allocation_limits_exp_desc_t>(
      asked.extensions, ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC);
  const bool any_size =
      relaxed && (relaxed->flags & ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE);
  require(any_size || asked.size <= max_alloc, ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  // Nothing has more; and sums with it fit.
  require(asked.size <= uint64_t{1} << 40, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
}

std::size_t whole_pages(std::size_t size, std::size_t page) {
  return (size + page - 1) / page * page;
}

void make(arena& from, std::size_t page, const request& asked, std::shared_ptr<context> of,
          std::shared_ptr<device> on, ze_memory_type_t type, ze_result_t when_full) {
  const std::size_t room = whole_pages(asked.size, page);
  std::byte* base = from.take(room, std::max(asked.alignment, page));
  require(base != nullptr, when_full);
  auto made = std::make_shared<allocation>(from, base, asked.size, room, type, std::move(of),
                                           std::move(on), false);
  the_world().memory.add(std::move(made));
  *asked.made = base;
}

ze_result_t alloc_device(ze_context_handle_t handle, const ze_device_mem_alloc_desc_t* desc,
                         size_t size, size_t alignment, ze_device_handle_t device_handle,
                         void** made) {
  const auto of = the_world().contexts.find(handle);
  const auto on = the_world().devices.find(device_handle);
  require_pointer(desc);
  const request asked{size, alignment, desc->pNext, made};
  check(asked, on->max_alloc());
  on->require_present();
  const std::size_t room = whole_pages(size, device_page);
  require(on->reserve(room), ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  try {
    make(the_world().device_arena, device_page, asked, of, on, ZE_MEMORY_TYPE_DEVICE,
         ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  } catch (...) {
    on->release(room);
    throw;
  }
  return ZE_RESULT_SUCCESS;
}

void make_host(const request& asked, std::shared_ptr<context> of, std::shared_ptr<device> on,
               ze_memory_type_t type) {
  const std::size_t room = whole_pages(asked.size, host_page);
  std::atomic<uint64_t>& used = the_world().host_memory_used;
  if (used.fetch_add(room) + room > the_options().host_memory) {
    used.fetch_sub(room);
    throw refusal{ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY};
  }
  try {
    make(the_world().host_arena, host_page, asked, std::move(of), std::move(on), type,
         ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  } catch (...) {
    used.fetch_sub(room);
    throw;
  }
}

uint64_t least_max_alloc() {
  uint64_t least = UINT64_MAX;
  for (const auto& one : the_world().listed) least = std::min(least, one->max_alloc());
  return least;
}

ze_result_t alloc_host(ze_context_handle_t handle, const ze_host_mem_alloc_desc_t* desc,
                       size_t size, size_t alignment, void** made) {
  const auto of = the_world().contexts.find(handle);
  require_pointer(desc);
  const request asked{size, alignment, desc->pNext, made};
  check(asked, least_max_alloc());
  make_host(asked, of, nullptr, ZE_MEMORY_TYPE_HOST);
  return ZE_RESULT_SUCCESS;
}

ze_result_t alloc_shared(ze_context_handle_t handle, const ze_device_mem_alloc_desc_t* device_desc,
                         const ze_host_mem_alloc_desc_t* host_desc, size_t size, size_t alignment,
                         ze_device_handle_t device_handle, void** made) {
  const auto of = the_world().contexts.find(handle);
  const auto on = device_handle ? the_world().devices.find(device_handle) : nullptr;
  require_pointer(device_desc);
  require_pointer(host_desc);
  const request asked{size, alignment, device_desc->pNext, made};
  check(asked, on ? on->max_alloc() : least_max_alloc());
  make_host(asked, of, on, ZE_MEMORY_TYPE_SHARED);
  return ZE_RESULT_SUCCESS;
}

ze_result_t free_memory(ze_context_handle_t handle, void* pointer) {
  const auto of = the_world().contexts.find(handle);
  require_pointer(pointer);
  const auto taken = the_world().memory.take(pointer, *of, false);
  if (const int64_t uses = taken->uses.load()) {
    report_violation(fmt::format("{} is freed while {} commands use it", pointer, uses));
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t free_ext(ze_context_handle_t handle, const ze_memory_free_ext_desc_t* desc,
                     void* pointer) {
  const auto of = the_world().contexts.find(handle);
  require_pointer(desc);
  require_pointer(pointer);
  require(desc->freePolicy <= (ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE |
                               ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE),
          ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (desc->freePolicy == 0) return free_memory(handle, pointer);
  const auto taken = the_world().memory.take(pointer, *of, false);
  // Deferred needs nothing more: commands hold the memory that they name.
  if (desc->freePolicy & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE) {
    while (taken->uses.load() > 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_properties(ze_context_handle_t handle, const void* pointer,
                           ze_memory_allocation_properties_t* properties,
                           ze_device_handle_t* device_handle) {
  the_world().contexts.find(handle);
  require_pointer(pointer);
  require_pointer(properties);
  const auto found = the_world().memory.find(pointer);
  clear(*properties);
  if (device_handle) *device_handle = found && found->on ? found->on->handle : nullptr;
  if (!found) return ZE_RESULT_SUCCESS;  // of unknown type: memory of the system, or none
  properties->type = found->type;
  properties->id = found->id;
  properties->pageSize = found->type == ZE_MEMORY_TYPE_DEVICE ? device_page : host_page;
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_range(ze_context_handle_t handle, const void* pointer, void** base, size_t* size) {
  the_world().contexts.find(handle);
  require_pointer(pointer);
  const auto found = the_world().memory.find(pointer);
  require(found != nullptr, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  if (base) *base = found->base;
  if (size) *size = found->size;
  return ZE_RESULT_SUCCESS;
}

}  // namespace memory_entries

void serve_memory(ze_mem_dditable_t* table) {
  using namespace memory_entries;
  serve<"zeMemAllocDevice", alloc_device>(table->pfnAllocDevice);
  serve<"zeMemAllocHost", alloc_host>(table->pfnAllocHost);
  serve<"zeMemAllocShared", alloc_shared>(table->pfnAllocShared);
  serve<"zeMemFree", free_memory>(table->pfnFree);
  serve<"zeMemFreeExt", free_ext, in_child::waits>(table->pfnFreeExt);
  serve<"zeMemGetAllocProperties", get_properties>(table->pfnGetAllocProperties);
  serve<"zeMemGetAddressRange", get_range>(table->pfnGetAddressRange);
}

}  // namespace outback::software_ze
