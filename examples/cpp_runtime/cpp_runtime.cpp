// A whole runtime as a C++ class: one device of 64 MiB, whose work is done when the call returns.
#include <outback/layers.hpp>
#include <outback/runtime.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

class my_device {
 public:
  int32_t device_count() { return 1; }

  outback_device_info device_info(int32_t device) {
    outback::check_device(device, 1);
    outback_device_info info = {};
    info.flags = OUTBACK_HOST_ADDRESSABLE | OUTBACK_ADDRESSES_HOST;
    info.kernels_of = 1;  // the CPU's kernels may compute in this memory
    info.memory_size = info.max_alloc_size = memory_size;
    info.alignment = 64;
    std::strcpy(info.name, "My device");
    return info;
  }

  void device_sync(int32_t device) { outback::check_device(device, 1); }

  void* mem_alloc(int32_t device, std::size_t size) {
    outback::check_device(device, 1);
    if (size == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    if (size > memory_size - used_)
      throw outback::out_of_memory("only " + std::to_string(memory_size - used_) +
                                   " bytes are free");
    void* memory = std::aligned_alloc(64, (size + 63) / 64 * 64);
    if (memory == nullptr) throw outback::out_of_memory("the host has no memory left for it");
    sizes_.emplace(memory, size);
    used_ += size;
    return memory;
  }

  void mem_free(int32_t device, void* memory) {
    outback::check_device(device, 1);
    if (memory == nullptr) return;
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) throw outback::invalid_argument("not memory of this device");
    used_ -= found->second;
    sizes_.erase(found);
    std::free(memory);
  }

  void mem_copy(void* to, int32_t to_device, const void* from, int32_t from_device,
                std::size_t size, outback_stream) {
    if (to_device == OUTBACK_HOST && from_device == OUTBACK_HOST)
      throw outback::invalid_argument("both sides of the copy are host memory");
    if (to_device != OUTBACK_HOST) outback::check_device(to_device, 1);
    if (from_device != OUTBACK_HOST) outback::check_device(from_device, 1);
    const std::lock_guard lock(mutex_);  // one piece of work at a time
    if (size != 0) std::memcpy(to, from, size);
  }

  void mem_fill(int32_t device, void* memory, std::size_t size, const void* pattern,
                std::size_t pattern_size, outback_stream) {
    outback::check_device(device, 1);
    const std::lock_guard lock(mutex_);
    auto* to = static_cast<unsigned char*>(memory);
    if (pattern_size == 1) {
      std::fill_n(to, size, *static_cast<const unsigned char*>(pattern));
    } else {
      for (std::size_t i = 0; i < size; i += pattern_size)
        std::memcpy(to + i, pattern, pattern_size);
    }
  }

 private:
  static constexpr std::size_t memory_size = 64 << 20;
  std::mutex mutex_;
  std::size_t used_ = 0;
  std::unordered_map<void*, std::size_t> sizes_;
};

extern "C" const outback_runtime* cpp_runtime() {
  static auto& device = *new my_device;  // leaked: tensors may outlive main()
  return outback::table_of(device);
}

// For the suite: with the layers that the environment asks for.
extern "C" const outback_runtime* cpp_runtime_layered() {
  static const outback_runtime* table = outback::layers::from_environment(cpp_runtime());
  return table;
}
