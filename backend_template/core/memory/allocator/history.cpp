#include "backend_template/core/memory/allocator/history.h"

#include <utility>

namespace outback::core {
namespace {

using c10::CachingDeviceAllocator::CreateContextFn;
using c10::CachingDeviceAllocator::RecordContext;

// It compares the two clocks now and later: the longer between, the more exact.
c10::ApproximateClockToUnixTimeConverter& clocks() {
  static auto& it = *new c10::ApproximateClockToUnixTimeConverter;
  return it;
}

std::atomic<CreateContextFn> gather_now{nullptr};
}  // namespace

namespace detail {

std::atomic<RecordContext> contexts_now{RecordContext::NEVER};

std::shared_ptr<c10::GatheredContext> gather() {
  const CreateContextFn make = gather_now.load(std::memory_order_acquire);
  return make == nullptr ? nullptr : make();
}

}  // namespace detail

void history::configure(const history_settings& settings) {
  settings_ = settings;
  if (settings_.most_entries == 0) settings_.most_entries = 1;
  if (settings.clear || settings.enabled || ring_.size() > settings_.most_entries) {
    // In order again, so that a larger ring goes on where the old one ended.
    std::vector<trace_entry> kept;
    if (!settings.clear) kept = entries();
    if (kept.size() > settings_.most_entries) {
      kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(settings_.most_entries));
    }
    ring_ = std::move(kept);
    oldest_ = 0;
  }
}

void history::add(trace_entry::Action action, c10::DeviceIndex device, size_t address, size_t size,
                  c10::StreamId stream, c10::MempoolId_t pool,
                  std::shared_ptr<c10::GatheredContext> context) {
  if ((settings_.skipped >> action & 1U) != 0) return;
  if (settings_.contexts < RecordContext::ALLOC) context = nullptr;
  // The stream's number takes the place of its address.
  trace_entry entry(action, device, address, size,
                    reinterpret_cast<void*>(stream),  // NOLINT(performance-no-int-to-ptr)
                    pool, c10::getApproximateTime(), std::move(context), "", metadata_);
  if (ring_.size() < settings_.most_entries) {
    ring_.push_back(std::move(entry));
    return;
  }
  ring_[oldest_] = std::move(entry);
  oldest_ = (oldest_ + 1) % ring_.size();
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
  clocks();
  gather_now.store(settings.gather, std::memory_order_release);
  detail::contexts_now.store(settings.enabled ? settings.contexts : RecordContext::NEVER,
                             std::memory_order_relaxed);
}

std::function<time_t(c10::approx_time_t)> entry_clock() {
  return clocks().makeConverter();
}

}  // namespace outback::core
