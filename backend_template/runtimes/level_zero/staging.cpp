#include "backend_template/runtimes/level_zero/staging.hpp"

#include <utility>

#include "backend_template/runtimes/level_zero/driver.hpp"

namespace outback::level_zero {

staging::~staging() {
  for (const block& each : blocks_) {
    if (each.memory != nullptr) driver_.api().zeMemFree(driver_.context(), each.memory);
  }
}

void* staging::acquire() {
  // The blocks are used in turn, so this one is the likeliest to be free. If it is not, none is
  // waited for.
  block& oldest = blocks_[next_];
  if (oldest.until) {
    if (!oldest.until.complete()) return nullptr;
    oldest.until = event_ref();
  }
  if (oldest.memory == nullptr) oldest.memory = driver_.alloc_pinned(staging_size);
  return oldest.memory;
}

void staging::use(event_ref signal) noexcept {
  blocks_[next_].until = std::move(signal);
  next_ = (next_ + 1) % blocks_.size();
}

}  // namespace outback::level_zero
