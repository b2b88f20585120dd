#include "backend_template/runtimes/level_zero/allocations.hpp"

#include <atomic>
#include <string>

#include "outback/runtime_error.hpp"

namespace outback::level_zero {

void allocations::charge(std::size_t size, uint64_t limit) {
  const std::lock_guard lock(mutex_);
  // Written so that the subtraction cannot wrap, whatever limit a caller passes.
  const uint64_t left = limit > used_ ? limit - used_ : 0;
  if (size > left) {
    throw out_of_memory(std::to_string(size) + " bytes were asked for, and this process may have " +
                        std::to_string(left) + " more of the device's " + std::to_string(limit));
  }
  used_ += size;
}

void allocations::discharge(std::size_t size) noexcept {
  const std::lock_guard lock(mutex_);
  used_ -= size;
}

uint64_t allocations::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

void allocations::add(void* base, std::size_t size) {
  // One count for all devices: another process knows an allocation by its serial alone.
  static std::atomic<uint64_t> serials{0};
  const std::lock_guard lock(mutex_);
  by_base_.insert_or_assign(base, allocation{base, size, ++serials});
}

allocation allocations::take(void* base) {
  const std::lock_guard lock(mutex_);
  const auto found = by_base_.find(base);
  if (found == by_base_.end()) {
    throw invalid_argument(
        "the pointer is not what mem_alloc answered for this device: freed already, of another "
        "device, or inside of an allocation");
  }
  const allocation taken = found->second;
  by_base_.erase(found);
  return taken;
}

void allocations::forget(void* base) noexcept {
  const std::lock_guard lock(mutex_);
  by_base_.erase(base);
}

void allocations::restore(const allocation& taken) {
  const std::lock_guard lock(mutex_);
  by_base_.insert_or_assign(taken.base, taken);
}

std::optional<allocation> allocations::find(void* base) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_base_.find(base);
  if (found == by_base_.end()) return std::nullopt;
  return found->second;
}

}  // namespace outback::level_zero
