// Blocks that were freed while streams used them, in a queue for each of those streams. A stream's
// work ends in its order: while the first of a queue is not over, nothing behind it is asked for.
//
// The runtime is asked without a lock, by any number of threads at once. Who asks holds the use;
// who finds it over takes it out.
#pragma once

#include <c10/core/Stream.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backend_template/core/memory/allocator/block.h"
#include "backend_template/core/streams/event.h"

namespace outback::core {

/// One stream's use of a block. `over` says when it ends; it is kept from one use to the next,
/// since a driver may take long to make an event.
struct pending_use {
  event over;
  block* freed = nullptr;
  uint64_t number = 0;  // they count up
  pending_use* next = nullptr;
  std::atomic<int> holders{0};  // the queue, and those who ask
};

/// Of one device. Thread-safe; calls no runtime slot but where it says so.
class pending_uses {
 public:
  using recorded = std::pair<c10::StreamId, std::unique_ptr<pending_use>>;

  pending_uses() = default;
  pending_uses(const pending_uses&) = delete;
  pending_uses& operator=(const pending_uses&) = delete;
  /// What is pending stays so for ever. Destroys events.
  ~pending_uses();

  /// One load.
  bool any() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }
  /// Whether an allocation should ask, though the cache may serve it: at the first chance, and now
  /// and then where that was in vain, since a driver's answer may cost more than the allocation.
  bool should_ask() noexcept {
    if (C10_LIKELY(!any())) return false;
    const int left = rests_.load(std::memory_order_relaxed);
    if (left > 0) rests_.store(left - 1, std::memory_order_relaxed);
    return left <= 0;
  }
  /// Nothing was over.
  void asked_in_vain() noexcept { rests_.store(most_rests, std::memory_order_relaxed); }
  /// The number of the use that was added last.
  uint64_t newest() const noexcept { return newest_.load(std::memory_order_relaxed); }

  /// A use whose event is to be recorded: one that was over, if there is any.
  std::unique_ptr<pending_use> make();
  /// The block waits for all of `uses`, of which there is at least one.
  void add(block* freed, c10::SmallVectorImpl<recorded>&& uses);

  /// The first use of the first queue from number `queue` on, which becomes that queue's, that is
  /// not younger than `until`. Held: it goes to `leave` or `end`. Null when there is none.
  pending_use* ask(size_t& queue, uint64_t until) noexcept;
  /// It is not over.
  void leave(pending_use* asked) noexcept;
  /// It is over. Answers its block if that waits for nothing any more, once.
  block* end(pending_use* asked, size_t queue) noexcept;

  /// Destroys the events that are kept for later uses.
  void drop_spares() noexcept;

 private:
  struct line {
    c10::StreamId stream;
    pending_use* first = nullptr;
    pending_use* last = nullptr;
  };

  line& line_of(c10::StreamId stream);      // with the mutex held
  void let_go(pending_use* held) noexcept;  // likewise

  static constexpr int most_rests = 15;

  std::atomic<int> rests_{0};
  std::mutex mutex_;
  std::vector<line> lines_;       // none goes
  pending_use* spare_ = nullptr;  // by `next`
  // Written with the mutex held.
  std::atomic<size_t> count_{0};
  std::atomic<size_t> line_count_{0};
  std::atomic<uint64_t> newest_{0};
};

}  // namespace outback::core
