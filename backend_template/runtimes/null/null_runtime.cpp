// The smallest runtime: the required slots and no optional group. It has two devices. Their memory
// is the host's memory, and their work is done when the slot returns.
//
// Read it to learn what you have to write. It takes no shortcut: tensors live on it, and PyTorch's
// CPU kernels compute in place on its memory, because `device_info` allows that with
// OUTBACK_HOST_ADDRESSABLE and `kernels_of`.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "backend_template/runtimes/null/null.h"
#include "outback/runtime.hpp"

namespace {

class null_runtime {
 public:
  int32_t device_count() { return 2; }

  outback_device_info device_info(int32_t device) {
    check(device);
    outback_device_info info = {};
    // All three flags are true because device memory is malloc's memory here. Where the CPU cannot
    // address device memory, leave OUTBACK_HOST_ADDRESSABLE out and `kernels_of` 0; operators then
    // run over copies.
    info.flags = OUTBACK_HOST_ADDRESSABLE | OUTBACK_ADDRESSES_HOST | OUTBACK_INTEGRATED;
    info.memory_size = info.max_alloc_size = memory_size_;
    info.alignment = alignment;
    info.kernels_of = 1;  // kDLCPU
    std::strcpy(info.name, "Outback null device");
    return info;
  }

  void device_sync(int32_t device) { check(device); }

  void* mem_alloc(int32_t device, std::size_t size) {
    check(device);
    if (size == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    // The limit makes out-of-memory happen. Without it the system would grant nearly any size,
    // because it hands out pages only when they are touched.
    if (size > memory_size_ - used_[device]) {
      throw outback::out_of_memory("asked for " + std::to_string(size) + " bytes, " +
                                   std::to_string(memory_size_ - used_[device]) + " of " +
                                   std::to_string(memory_size_) + " are free");
    }
    // aligned_alloc wants a size that is a multiple of the alignment.
    void* ptr = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (ptr == nullptr) throw std::bad_alloc();
    sizes_[device].emplace(ptr, size);
    used_[device] += size;
    return ptr;
  }

  void mem_free(int32_t device, void* ptr) {
    check(device);
    if (ptr == nullptr) return;
    const std::lock_guard lock(mutex_);
    const auto found = sizes_[device].find(ptr);
    if (found == sizes_[device].end())
      throw outback::invalid_argument("not an allocation of this device");
    used_[device] -= found->second;
    sizes_[device].erase(found);
    std::free(ptr);
  }

  void mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                std::size_t size, outback_stream) {
    if (dst_device != OUTBACK_HOST) check(dst_device);
    if (src_device != OUTBACK_HOST) check(src_device);
    // The table lets null pointers through where the size is 0, but memcpy must not get them.
    if (size == 0) return;
    const std::lock_guard lock(mutex_);
    std::memcpy(dst, src, size);
  }

  void mem_fill(int32_t device, void* ptr, std::size_t size, const void* pattern,
                std::size_t pattern_size, outback_stream) {
    check(device);
    if (size == 0) return;
    const std::lock_guard lock(mutex_);
    if (pattern_size == 1) {
      std::memset(ptr, *static_cast<const unsigned char*>(pattern), size);
      return;
    }
    auto* out = static_cast<std::byte*>(ptr);
    for (std::size_t i = 0; i < size; i += pattern_size)
      std::memcpy(out + i, pattern, pattern_size);
  }

 private:
  static constexpr std::size_t alignment = 64;

  void check(int32_t device) { outback::check_device(device, device_count()); }

  const std::size_t memory_size_ =
      std::size_t(sysconf(_SC_PHYS_PAGES)) * std::size_t(sysconf(_SC_PAGESIZE)) / 4;
  // Guards the members below. Copies and fills hold it too, so that work runs one piece at a time.
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_[2];
  std::size_t used_[2] = {};
};

static_assert(outback::device_runtime<null_runtime>);

}  // namespace

extern "C" const outback_runtime* outback_null_runtime(void) {
  static auto& instance = *new null_runtime;  // leaked on purpose: tensors may outlive main()
  return outback::table_of(instance);
}
