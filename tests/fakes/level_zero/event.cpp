#include "tests/fakes/level_zero/event.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "tests/fakes/level_zero/clock.hpp"

namespace outback::software_ze {

event_pool::event_pool(std::shared_ptr<context> of_, std::vector<std::shared_ptr<device>> on_,
                       ze_event_pool_flags_t flags_, uint32_t count_, uint32_t counter_based_,
                       int file)
    : of(std::move(of_)),
      on(std::move(on_)),
      flags(flags_),
      count(count_),
      counter_based(counter_based_),
      opened(file >= 0),
      file_(file),
      size_(count_ * sizeof(signal_state)),
      taken_(count_) {
  int mapping = MAP_PRIVATE | MAP_ANONYMOUS;
  if (!opened && (flags & ZE_EVENT_POOL_FLAG_IPC)) {
    file_ = ::memfd_create("outback_ze_events", MFD_CLOEXEC);
    if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(size_)) != 0) {
      throw std::system_error(errno, std::generic_category(), "memfd_create");
    }
  }
  if (file_ >= 0) mapping = MAP_SHARED;
  void* mapped = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, mapping, file_, 0);
  if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  places_ = static_cast<signal_state*>(mapped);
  if (!opened) std::uninitialized_default_construct_n(places_, count);
}

event_pool::~event_pool() {
  ::munmap(places_, size_);
  if (file_ >= 0) ::close(file_);
}

bool event_pool::take_place(uint32_t index) {
  const std::lock_guard lock(mutex_);
  if (taken_[index]) return false;
  taken_[index] = true;
  return true;
}

void event_pool::give_place(uint32_t index) {
  const std::lock_guard lock(mutex_);
  taken_[index] = false;
}

uint32_t event_pool::places_taken() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(std::count(taken_.begin(), taken_.end(), true));
}

event::event(std::shared_ptr<event_pool> pool_, uint32_t index_)
    : pool(std::move(pool_)), index(index_) {
  if (pool->counter_based) {
    state_ = std::make_shared<signal_state>();
    state_->signal();  // nothing has to be waited for yet
  } else {
    // The pool's place, which lives as long as anybody looks at it.
    state_ = signal_pointer(pool, pool->place(index));
    if (!pool->opened) state_->reset();
  }
}

signal_pointer event::current() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

signal_pointer event::next() {
  const std::lock_guard lock(mutex_);
  if (pool->counter_based) state_ = std::make_shared<signal_state>();
  return state_;
}

ze_kernel_timestamp_result_t kernel_timestamps(const signal_state& of) {
  const ze_kernel_timestamp_data_t read{
      low_bits(of.began.load(std::memory_order_relaxed), kernel_timestamp_bits),
      low_bits(of.ended.load(std::memory_order_relaxed), kernel_timestamp_bits)};
  return {read, read};
}

}  // namespace outback::software_ze
