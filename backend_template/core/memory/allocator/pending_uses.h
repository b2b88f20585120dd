// Blocks that were freed while streams still used them. Each such use waits in a queue of its
// stream. A stream's work ends in order, so as long as the first use of a queue is not over, the
// later uses need no check.
//
// A thread asks the runtime without a lock whether a use is over, and several threads may ask at
// once. While a thread asks, it counts as a holder of the use, so that the use is not recycled. The
// first thread that finds the use over takes it out of its queue.
#pragma once

#include <c10/core/Stream.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backend_template/core/memory/allocator/block.h"
#include "backend_template/core/streams/event.h"

namespace outback::core {

/// One stream's use of a block, which ends when the event `over` is done. The object and its event
/// are reused for later uses, since a driver may take long to make an event.
struct pending_use {
  event over;
  block* freed = nullptr;
  uint64_t number = 0;          // counts up from 1, over all queues
  pending_use* next = nullptr;  // in its queue, or in the list of spares
  int holders = 0;              // the queue, and the threads that ask for its state
};

/// The queues of one device. They call no slot. The device_cache's lock guards them; only `any` and
/// `should_ask` need no lock.
class pending_uses {
 public:
  using recorded = std::pair<c10::StreamId, std::unique_ptr<pending_use>>;
  using uses = c10::SmallVector<recorded, 2>;

  pending_uses() = default;
  pending_uses(const pending_uses&) = delete;
  pending_uses& operator=(const pending_uses&) = delete;
  /// Destroys the events. Blocks that are still pending never return to the cache.
  ~pending_uses();

  /// Returns true if a use is pending. Costs one load.
  bool any() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }
  /// Returns true if an allocation should check the pending uses although the cache may serve it.
  /// After a check that found no use over, the next `most_rests` allocations skip the check, since
  /// asking a driver may cost more than allocating. A new use at the front of a queue ends the
  /// skipping.
  bool should_ask() noexcept {
    if (C10_LIKELY(!any())) return false;
    const int left = rests_.load(std::memory_order_relaxed);
    if (left > 0) rests_.store(left - 1, std::memory_order_relaxed);
    return left <= 0;
  }
  /// Notes that a check found no use over.
  void asked_in_vain() noexcept { rests_.store(most_rests, std::memory_order_relaxed); }
  /// Returns the number of the use that was added last.
  uint64_t newest() const noexcept { return newest_; }

  /// Returns a spare use, or null if there is none.
  std::unique_ptr<pending_use> take_spare() noexcept;
  /// Enqueues `all`, at least one use. The block waits for them. The caller has recorded their
  /// events.
  void add(block* freed, uses&& all);

  /// Searches the queues from index `queue` on for a first use whose number is at most `until`.
  /// Returns this use and sets `queue` to the index of its queue, or returns null. The caller then
  /// holds the use, and must pass it to `leave` or to `end`.
  pending_use* ask(size_t& queue, uint64_t until) noexcept;
  /// Ends the caller's hold on a use that is not over.
  void leave(pending_use* asked) noexcept;
  /// Ends the caller's hold on a use that is over, and takes the use out of its queue. If it was
  /// the block's last use, returns the block, to only one of several callers; otherwise returns
  /// null.
  block* end(pending_use* asked, size_t queue) noexcept;

  /// Returns the spare uses as a list. The caller releases the lock and then calls `destroy`.
  pending_use* take_spares() noexcept { return std::exchange(spare_, nullptr); }
  /// Destroys the uses of a list and their events, which calls a slot.
  static void destroy(pending_use* list) noexcept;

 private:
  struct line {
    c10::StreamId stream;
    pending_use* first = nullptr;
    pending_use* last = nullptr;
  };

  line& line_of(c10::StreamId stream);

  static constexpr int most_rests = 15;

  std::vector<line> lines_;       // a queue is never removed
  pending_use* spare_ = nullptr;  // linked by `next`
  uint64_t newest_ = 0;
  // Read without the lock.
  std::atomic<size_t> count_{0};  // pending uses
  std::atomic<int> rests_{0};     // how many allocations still skip asking
};

}  // namespace outback::core
