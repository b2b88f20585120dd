#include "backend_template/core/memory/allocator/history.h"

#include <exception>
#include <new>
#include <utility>

namespace outback::core {
namespace {

using c10::CachingDeviceAllocator::CreateContextFn;
using c10::CachingDeviceAllocator::RecordContext;

// Converts the approximate clock to nanoseconds since 1970, by comparing both clocks when it is
// made and when makeConverter() is called: the longer between the two, the more exact. Never
// destroyed.
c10::ApproximateClockToUnixTimeConverter& clocks() {
  static auto& converter = *new c10::ApproximateClockToUnixTimeConverter;
  return converter;
}

std::atomic<CreateContextFn> gather_now{nullptr};
}  // namespace

namespace detail {

std::shared_ptr<c10::GatheredContext> gather() noexcept try {
  const CreateContextFn make = gather_now.load(std::memory_order_acquire);
  return make == nullptr ? nullptr : make();
} catch (const std::exception&) {
  return nullptr;
}

}  // namespace detail

void history::configure(const history_settings& settings) {
  settings_ = settings;
  if (settings_.most_entries == 0) settings_.most_entries = 1;
  // Puts the entries in order, the oldest at 0, so that the ring can grow from its end.
  std::vector<trace_entry> kept;
  // As in torch.cuda, what was recorded goes when recording stops.
  if (settings.enabled && !settings.clear) kept = entries();
  if (kept.size() > settings_.most_entries) {
    kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(settings_.most_entries));
  }
  ring_ = std::move(kept);
  oldest_ = 0;
}

void history::add(trace_entry::Action action, c10::DeviceIndex device, size_t address, size_t size,
                  c10::StreamId stream, c10::MempoolId_t pool,
                  std::shared_ptr<c10::GatheredContext> context) noexcept try {
  if ((settings_.skipped >> action & 1U) != 0) return;
  // With RecordContext::STATE only blocks keep stacks, and entries do not.
  if (settings_.contexts < RecordContext::ALLOC) context = nullptr;
  // torch's field is a pointer, for the stream's address. Here it holds the stream's number. The
  // empty string is the compile context, which this history does not record.
  trace_entry entry(action, device, address, size,
                    reinterpret_cast<void*>(stream),  // NOLINT(performance-no-int-to-ptr)
                    pool, c10::getApproximateTime(), std::move(context), "", metadata_);
  if (ring_.size() < settings_.most_entries) {
    ring_.push_back(std::move(entry));
    return;
  }
  ring_[oldest_] = std::move(entry);
  oldest_ = (oldest_ + 1) % ring_.size();
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
}

std::vector<trace_entry> history::entries() const {
  std::vector<trace_entry> all;
  all.reserve(ring_.size());
  const auto middle = ring_.begin() + static_cast<std::ptrdiff_t>(oldest_);
  all.insert(all.end(), middle, ring_.end());
  all.insert(all.end(), ring_.begin(), middle);
  return all;
}

void configure_contexts(const history_settings& settings) {
  // Makes the clock now, long before a snapshot asks for the second comparison.
  clocks();
  gather_now.store(settings.gather, std::memory_order_release);
  detail::contexts_now.store(settings.enabled ? settings.contexts : RecordContext::NEVER,
                             std::memory_order_relaxed);
}

std::function<time_t(c10::approx_time_t)> entry_clock() {
  return clocks().makeConverter();
}

}  // namespace outback::core
