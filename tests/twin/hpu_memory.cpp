// HPU's memory, and host memory that it pins, from the runtime. Nothing is cached.
#include <ATen/core/CachingHostAllocator.h>

#include <array>
#include <cstring>
#include <memory>
#include <mutex>

#include "tests/twin/hpu.h"

namespace outback::test {
namespace {

using c10::CachingDeviceAllocator::DeviceStats;

std::mutex& mutex() {
  static auto& made = *new std::mutex;
  return made;
}
std::array<DeviceStats, 2>& stats() {
  static auto& made = *new std::array<DeviceStats, 2>;
  return made;
}

struct block {
  void* data;
  size_t size;
  c10::DeviceIndex device;
};

void account(const block& of, int64_t sign) {
  const std::lock_guard<std::mutex> lock(mutex());
  auto& bytes = stats().at(of.device).allocated_bytes[0];
  const auto size = static_cast<int64_t>(of.size);
  if (sign > 0) bytes.increase(size);
  if (sign < 0) bytes.decrease(size);
}

void give_back(void* context) {
  const std::unique_ptr<block> freed(static_cast<block*>(context));
  account(*freed, -1);
  ++hpu_counted().freed;
  hpu_runtime().mem_free(hpu_runtime().self, freed->device, freed->data);
}

// Its memory is on the thread's current device, as CUDA's is.
class device_allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    const c10::Device device = hpu_guard().getDevice();
    if (size == 0) return {nullptr, nullptr, &give_back, device};
    auto made = std::make_unique<block>(block{nullptr, size, device.index()});
    const outback_status status =
        hpu_runtime().mem_alloc(hpu_runtime().self, device.index(), size, &made->data);
    TORCH_CHECK_WITH(OutOfMemoryError, status != OUTBACK_OUT_OF_MEMORY, "HPU out of memory");
    check_hpu(status);
    account(*made, 1);
    void* const data = made->data;
    return {data, made.release(), &give_back, device};
  }
  void copy_data(void* to, const void* from, size_t size) const override {
    std::memcpy(to, from, size);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t /*pool*/) override { ++hpu_counted().emptied; }
  void recordStream(const c10::DataPtr& memory, c10::Stream stream) override {
    TORCH_CHECK(memory.get_deleter() == &give_back, "the memory is not HPU's");
    hpu_recorded().emplace_back(memory.get(), stream);
  }
  DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    const std::lock_guard<std::mutex> lock(mutex());
    return stats().at(device);
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    const std::lock_guard<std::mutex> lock(mutex());
    stats().at(device).allocated_bytes[0].reset_accumulated();
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    const std::lock_guard<std::mutex> lock(mutex());
    stats().at(device).allocated_bytes[0].reset_peak();
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex /*device*/) override { return {4, 8}; }
};

void free_pinned(void* data) {
  hpu_runtime().host_memory->free(hpu_runtime().self, data);
}

class host_allocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* data = nullptr;
    check_hpu(hpu_runtime().host_memory->alloc(hpu_runtime().self, size, &data));
    stats_.num_host_alloc++;
    return {data, data, &free_pinned, c10::Device(c10::kCPU)};
  }
  void copy_data(void* to, const void* from, size_t size) const override {
    std::memcpy(to, from, size);
  }
  bool record_event(void* data, void* /*context*/, c10::Stream stream) override {
    hpu_recorded().emplace_back(data, stream);
    return true;
  }
  void empty_cache() override { ++hpu_counted().emptied; }
  at::HostStats get_stats() override { return stats_; }
  void reset_accumulated_stats() override { stats_ = {}; }
  void reset_peak_stats() override {}

 private:
  at::HostStats stats_;
};

}  // namespace

c10::DeviceAllocator& hpu_allocator() {
  static auto& made = *new device_allocator;
  return made;
}

at::HostAllocator& hpu_host_allocator() {
  static auto& made = *new host_allocator;
  return made;
}

std::vector<std::pair<const void*, c10::Stream>>& hpu_recorded() {
  static auto& made = *new std::vector<std::pair<const void*, c10::Stream>>;
  return made;
}

hpu_counts& hpu_counted() {
  static hpu_counts made;
  return made;
}

}  // namespace outback::test
