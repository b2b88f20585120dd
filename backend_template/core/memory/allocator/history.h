// What happened to one device's memory: the entries that a snapshot shows, and who caused them.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/ApproximateClock.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace outback::core {

using trace_entry = c10::CachingDeviceAllocator::TraceEntry;

/// What to record; as torch.cuda.memory._record_memory_history's arguments.
struct history_settings {
  bool enabled = false;
  /// Makes the context of an entry: the stack of the calling thread.
  c10::CachingDeviceAllocator::CreateContextFn gather = nullptr;
  c10::CachingDeviceAllocator::RecordContext contexts =
      c10::CachingDeviceAllocator::RecordContext::NEVER;
  size_t most_entries = 1;  // of a device; the oldest go first
  bool clear = false;       // forget what was recorded before
  uint32_t skipped = 0;     // bit i: leaves out the action number i
};

/// Not thread-safe.
class history {
 public:
  void configure(const history_settings& settings);
  bool enabled() const noexcept { return settings_.enabled; }

  /// Adds an entry, in place of the oldest one when there are as many as may be.
  void add(trace_entry::Action action, c10::DeviceIndex device, size_t address, size_t size,
           c10::StreamId stream, c10::MempoolId_t pool,
           std::shared_ptr<c10::GatheredContext> context);

  /// What is attached to the entries from now on; "": nothing.
  void set_metadata(std::string text) { metadata_ = std::move(text); }

  /// Oldest first. Their times are approximate ones still.
  std::vector<trace_entry> entries() const;

 private:
  history_settings settings_;
  std::string metadata_;
  std::vector<trace_entry> ring_;
  size_t oldest_ = 0;
};

namespace detail {
extern std::atomic<c10::CachingDeviceAllocator::RecordContext> contexts_now;
std::shared_ptr<c10::GatheredContext> gather();
}  // namespace detail

/// For the calling thread: the context of what it is about to do, or null where less than
/// `wanted_from` is recorded. Takes locks, the GIL among them: hold none.
inline std::shared_ptr<c10::GatheredContext> gather_context(
    c10::CachingDeviceAllocator::RecordContext wanted_from) {
  if (C10_LIKELY(detail::contexts_now.load(std::memory_order_relaxed) < wanted_from)) return {};
  return detail::gather();
}

/// Sets what `gather_context` does, and starts the clock of the entries. Process-wide.
void configure_contexts(const history_settings& settings);

/// Turns the time of an entry into nanoseconds since 1970.
std::function<time_t(c10::approx_time_t)> entry_clock();

}  // namespace outback::core
