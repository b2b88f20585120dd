// The device. As it stands it lives in the host's memory, and all eight functions work: replace
// what they do by calls of the driver, one after the other, and run the tests after each.
//
// The rules of every member are in outback/runtime.h; docs/runtime.md of Outback explains them.
#include <outback/runtime.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

namespace {

class acme_device {
 public:
  // Step 1: how many devices there are, and what they are like. Neither may throw for want of a
  // driver or of a device: then there are 0, and torch.acme.is_available() is False.
  int32_t device_count() { return 1; }

  outback_device_info device_info(int32_t device) {
    outback::check_device(device, device_count());
    outback_device_info info = {};
    // The CPU reaches this memory, and its kernels (DLPack's device type 1) may compute in it.
    // Without these three, operators that have no kernel run on the CPU over copies.
    info.flags = OUTBACK_HOST_ADDRESSABLE | OUTBACK_ADDRESSES_HOST;
    info.kernels_of = 1;
    info.memory_size = info.max_alloc_size = memory_size;
    info.alignment = alignment;
    std::strcpy(info.name, "Acme device");
    return info;
  }

  // Step 2: memory. Outback's allocator calls these two for large segments, and caches them.
  void* mem_alloc(int32_t device, std::size_t size) {
    outback::check_device(device, device_count());
    if (size == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    if (size > memory_size - used_)
      throw outback::out_of_memory(std::to_string(memory_size - used_) + " bytes are free");
    void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw outback::out_of_memory("the host has no memory left for it");
    sizes_.emplace(memory, size);
    used_ += size;
    return memory;
  }

  void mem_free(int32_t device, void* memory) {
    outback::check_device(device, device_count());
    if (memory == nullptr) return;
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) throw outback::invalid_argument("not memory of this device");
    used_ -= found->second;
    sizes_.erase(found);
    std::free(memory);
  }

  // Step 3: copies and fills. A copy goes from the host to the device, back, or between devices.
  void mem_copy(void* to, int32_t to_device, const void* from, int32_t from_device,
                std::size_t size, outback_stream) {
    if (to_device == OUTBACK_HOST && from_device == OUTBACK_HOST)
      throw outback::invalid_argument("both sides of the copy are host memory");
    if (to_device != OUTBACK_HOST) outback::check_device(to_device, device_count());
    if (from_device != OUTBACK_HOST) outback::check_device(from_device, device_count());
    const std::lock_guard lock(mutex_);  // one piece of work at a time
    if (size != 0) std::memcpy(to, from, size);
  }

  void mem_fill(int32_t device, void* memory, std::size_t size, const void* pattern,
                std::size_t pattern_size, outback_stream) {
    outback::check_device(device, device_count());
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < size; i += pattern_size)
      std::memcpy(static_cast<char*>(memory) + i, pattern, pattern_size);
  }

  // Step 4: wait until the device has nothing left to do. Here, nothing ever is.
  void device_sync(int32_t device) { outback::check_device(device, device_count()); }

  // The eighth function, the text of the last error, is what these members throw: invalid_argument,
  // out_of_memory, device_lost, unsupported or any other outback::runtime_error.

  // From here on all is optional. A class that has a whole group of members has the group, a part
  // of one does not compile, and outback/slot_list.hpp lists them all. In the order that pays off:
  //
  // Step 5: streams. mem_copy and mem_fill then return before they are done, and what is on one
  // stream happens in order.
  //   outback_stream stream_create(int32_t device, int32_t priority);
  //   void stream_destroy(int32_t device, outback_stream stream);
  //   bool stream_query(int32_t device, outback_stream stream);
  //   void stream_sync(int32_t device, outback_stream stream);
  //   outback::priority_range stream_priorities(int32_t device);
  //
  // Step 6: events, which order streams and measure time.
  //   outback_event event_create(int32_t device, uint32_t flags);
  //   void event_destroy(int32_t device, outback_event event);
  //   void event_record(int32_t device, outback_event event, outback_stream stream);
  //   void event_wait(int32_t device, outback_event event, outback_stream stream);
  //   bool event_query(int32_t device, outback_event event);
  //   void event_sync(int32_t device, outback_event event);
  //   std::optional<int64_t> event_elapsed(outback_event from, outback_event to);
  //
  // Step 7: pinned memory, for copies that do not block.
  //   void* host_alloc(std::size_t size);
  //   void host_free(void* memory);
  //   outback_pointer_info host_info(const void* memory);

 private:
  static constexpr std::size_t memory_size = std::size_t{1} << 30;
  static constexpr std::size_t alignment = 64;
  std::mutex mutex_;
  std::size_t used_ = 0;
  std::unordered_map<void*, std::size_t> sizes_;
};

}  // namespace

extern "C" const outback_runtime* acme_runtime() {
  static auto& device = *new acme_device;  // leaked: tensors may outlive main()
  return outback::table_of(device);
}
