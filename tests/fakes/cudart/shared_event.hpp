// What two processes see of one event: how often it was recorded, and which record is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace fake_cuda {

/// A page of a file in memory. The counters need no lock.
class shared_event {
 public:
  /// Null where the system has no memory or no descriptor left.
  static std::shared_ptr<shared_event> make();
  /// The page behind a descriptor of another process, which stays the caller's. Null if it is none.
  static std::shared_ptr<shared_event> open(int file);
  ~shared_event();
  shared_event(const shared_event&) = delete;
  shared_event& operator=(const shared_event&) = delete;

  int file() const { return file_; }
  uint64_t recorded() const { return page_->recorded.load(std::memory_order_acquire); }
  bool done(uint64_t record) const { return page_->done.load(std::memory_order_acquire) >= record; }
  /// The number of a new record.
  uint64_t record() { return page_->recorded.fetch_add(1, std::memory_order_acq_rel) + 1; }
  /// That record is done, and all before it count as done.
  void finish(uint64_t record);
  /// Returns when it is done. Looks again and again.
  void wait(uint64_t record) const;

 private:
  struct page {
    std::atomic<uint64_t> recorded, done;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  shared_event(int file, page* mapped) : file_(file), page_(mapped) {}
  static std::shared_ptr<shared_event> map(int file);

  const int file_;
  page* const page_;
};

}  // namespace fake_cuda
