// The memory slots of the host runtime: device memory and pinned host memory.
#include <sys/mman.h>

#include <cstdlib>
#include <limits>
#include <memory>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "backend_template/runtimes/pages.hpp"

namespace outback::host {
namespace {

// The size in bytes that the budget is charged for: a multiple of the alignment. Device memory
// takes whole pages here, which the budget leaves out.
std::size_t rounded(std::size_t size) {
  if (size > std::numeric_limits<std::size_t>::max() - 2 * alignment) {
    throw out_of_memory("no memory has " + std::to_string(size) + " bytes");
  }
  return (size + alignment - 1) / alignment * alignment;
}

}  // namespace

host_runtime::~host_runtime() {
  devices_.clear();  // waits for queued work, which may use the memory
  while (const auto left = allocations_.take_any()) release(*left);
}

void host_runtime::release(const allocation& taken) noexcept {
  if (taken.is_of_another_process()) {
    munmap(taken.bytes, whole_pages(taken.size));
  } else if (taken.pages != nullptr) {
    spare_pages_.give(std::unique_ptr<device_pages>(taken.pages));
  } else {
    std::free(taken.block);
  }
}

void* host_runtime::allocate_device_memory(std::size_t size, int32_t owner) {
  std::unique_ptr<device_pages> pages = spare_pages_.take(size);
  void* const base = options_.protected_memory ? protected_addresses(size) : pages->bytes();
  allocations_.add(
      {.base = base, .size = size, .device = owner, .bytes = pages->bytes(), .pages = pages.get()});
  pages.release();
  return base;
}

void* host_runtime::mem_alloc(int32_t index, std::size_t size) {
  device& d = at(index);
  if (size == 0) return nullptr;
  // The budget first: a request beyond it must not cost the machine any memory.
  d.reserve(rounded(size));
  try {
    return allocate_device_memory(size, index);
  } catch (...) {
    d.release(rounded(size));
    throw;
  }
}

void host_runtime::mem_free(int32_t index, void* ptr) {
  device& d = at(index);
  if (ptr == nullptr) return;
  // The entry goes before the memory, because another thread may get the same address as soon as it
  // is free.
  const allocation taken = allocations_.take(ptr, index);
  release(taken);
  d.release(rounded(taken.size));
}

void* host_runtime::host_alloc(std::size_t size) {
  if (size == 0) return nullptr;
  // Not by aligned_alloc: glibc's before 2.38 does not always find the block that was freed last,
  // and a process that allocates again and again grows (sourceware.org, bug 14581).
  std::size_t room = rounded(size) + alignment;
  void* const block = std::malloc(room);
  if (block == nullptr) {
    throw out_of_memory("the host was asked for " + std::to_string(size) +
                        " bytes and has not got them");
  }
  void* base = block;
  std::align(alignment, rounded(size), base, room);
  try {
    allocations_.add(
        {.base = base, .size = size, .device = OUTBACK_HOST, .bytes = base, .block = block});
  } catch (...) {
    std::free(block);
    throw;
  }
  return base;
}

void host_runtime::host_free(void* ptr) {
  if (ptr != nullptr) std::free(allocations_.take(ptr, OUTBACK_HOST).block);
}

outback_pointer_info host_runtime::host_info(const void* ptr) {
  outback_pointer_info info = {};
  info.device = OUTBACK_HOST;
  if (const auto found = allocations_.find(ptr)) {
    info.device = found->device;
    info.pinned = found->device == OUTBACK_HOST ? 1 : 0;
    info.base = found->base;
    info.size = found->size;
  } else if (const auto known = registered_.find(ptr)) {
    info.pinned = 1;
    info.base = known->base;
    info.size = known->size;
  }
  return info;
}

bool host_runtime::pinned(const void* ptr, std::size_t size) const {
  return allocations_.holds(OUTBACK_HOST, ptr, size) || registered_.find_around(ptr, size);
}

void host_runtime::check_range(int32_t index, const void* ptr, std::size_t size) const {
  if (options_.addresses_host || allocations_.holds(index, ptr, size)) return;
  throw invalid_argument("the " + std::to_string(size) +
                         " bytes are not all in one allocation of device " + std::to_string(index));
}

void* host_runtime::bytes_at(const void* ptr) const {
  if (!options_.protected_memory) return const_cast<void*>(ptr);
  const allocation found = allocations_.find(ptr).value();
  return static_cast<std::byte*>(found.bytes) + allocations::offset(found, ptr);
}

}  // namespace outback::host
