// The history of one device's memory: the entries that a snapshot shows, and the stacks of the
// threads that caused them. torch.<name>.memory._record_memory_history and _snapshot use it.
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
#include <utility>
#include <vector>

namespace outback::core {

using trace_entry = c10::CachingDeviceAllocator::TraceEntry;

/// The settings for recording: the arguments of torch.cuda.memory._record_memory_history.
struct history_settings {
  /// If false, drops all earlier entries, as torch.cuda does.
  bool enabled = false;
  /// Returns the calling thread's stack. If null, no stacks are recorded.
  c10::CachingDeviceAllocator::CreateContextFn gather = nullptr;
  /// The events for which a stack is taken. STATE: allocations; the snapshot shows the stacks of
  /// the allocated blocks. ALLOC: the entries of allocations show their stacks too. ALL: the
  /// entries of frees have stacks as well.
  c10::CachingDeviceAllocator::RecordContext contexts =
      c10::CachingDeviceAllocator::RecordContext::NEVER;
  /// How many entries a device keeps. In a full history each new entry replaces the oldest. 0 means
  /// 1.
  size_t most_entries = 1;
  /// If true, drops all earlier entries.
  bool clear = false;
  /// If bit i is set, leaves out entries with the action number i of trace_entry::Action.
  uint32_t skipped = 0;
};

/// A ring of entries. Not thread-safe.
class history {
 public:
  /// Applies the settings. Keeps as many of the newest entries as `most_entries` allows; keeps no
  /// entry with `clear`, or if the settings stop the recording.
  void configure(const history_settings& settings);
  bool enabled() const noexcept { return settings_.enabled; }

  /// Adds an entry with the present time, unless the settings skip `action`. `address` and `size`
  /// mean what torch's TraceEntry says for the action. The caller asks `enabled` first. Leaves the
  /// entry out if there is no host memory for it, since an allocation or a free must not fail
  /// because of its entry.
  void add(trace_entry::Action action, c10::DeviceIndex device, size_t address, size_t size,
           c10::StreamId stream, c10::MempoolId_t pool,
           std::shared_ptr<c10::GatheredContext> context) noexcept;

  /// Attaches `text` to later entries. "" attaches nothing.
  void set_metadata(std::string text) { metadata_ = std::move(text); }

  /// Returns the entries, oldest first. Their times are c10::approx_time_t; `entry_clock` converts
  /// them.
  std::vector<trace_entry> entries() const;

 private:
  history_settings settings_;
  std::string metadata_;
  std::vector<trace_entry> ring_;
  size_t oldest_ = 0;  // index of the oldest entry; 0 until the ring is full
};

namespace detail {
// The events for which stacks are taken, in all threads. NEVER while nothing is recorded.
inline constinit std::atomic<c10::CachingDeviceAllocator::RecordContext> contexts_now{
    c10::CachingDeviceAllocator::RecordContext::NEVER};
std::shared_ptr<c10::GatheredContext> gather() noexcept;
}  // namespace detail

/// Returns the calling thread's stack, for the event that it is about to cause. Returns null if the
/// settings record no stacks at `wanted_from`, or if taking the stack fails. Takes locks, among
/// them Python's GIL, so the caller must hold no lock. Thread-safe; costs one load while no stacks
/// are recorded.
inline std::shared_ptr<c10::GatheredContext> gather_context(
    c10::CachingDeviceAllocator::RecordContext wanted_from) noexcept {
  if (C10_LIKELY(detail::contexts_now.load(std::memory_order_relaxed) < wanted_from)) return {};
  return detail::gather();
}

/// Sets how `gather_context` works in this process, and starts the clock of the entries.
/// record_history (caches.h) calls it. Thread-safe.
void configure_contexts(const history_settings& settings);

/// Returns a function that converts the time of an entry into nanoseconds since 1970.
std::function<time_t(c10::approx_time_t)> entry_clock();

}  // namespace outback::core
