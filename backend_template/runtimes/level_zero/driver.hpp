// One driver of the loader: its features, its one context, which all its devices share, and its
// pooled events.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "backend_template/runtimes/level_zero/driver_api.hpp"
#include "backend_template/runtimes/level_zero/event_pool.hpp"
#include "backend_template/runtimes/level_zero/options.hpp"

namespace outback::level_zero {

/// The alignment of every allocation in bytes.
inline constexpr uint32_t memory_alignment = 64;

/// Lives as long as the process, as does its context. May be used from any thread.
class driver {
 public:
  /// Asks the driver for its version and extensions; makes no context. Throws like `check`.
  driver(const driver_api& api, ze_driver_handle_t handle, const level_zero_options& options);
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;

  const driver_api& api() const noexcept { return api_; }
  ze_driver_handle_t handle() const noexcept { return handle_; }

  /// Returns the context; the first call makes it. Throws like `check`.
  ze_context_handle_t context();
  /// Returns the context, or null if there is none yet.
  ze_context_handle_t context_if_any() const noexcept {
    return context_.load(std::memory_order_acquire);
  }

  /// Allocates `size` bytes of pinned host memory. Throws like `check`.
  void* alloc_pinned(std::size_t size);

  /// Lists the GPUs in zeDeviceGet's order. Throws like `check`.
  std::vector<ze_device_handle_t> gpus() const;

  // ---- Features that both loader and driver have. An old driver accepts new flags and ignores
  // them, so these functions check the driver's version.

  bool keeps_order() const noexcept { return in_order_; }        // lists with the in-order flag
  bool syncs_lists() const noexcept { return list_sync_; }       // zeCommandListHostSynchronize
  bool puts_handles() const noexcept { return put_handles_; }    // zeMemPutIpcHandle
  bool has_relaxed_limits() const noexcept { return relaxed_; }  // allocations of any size
  bool tells_clock_rate() const noexcept { return version_ >= newer::api_version(1, 2); }

  /// Pooled events that the host and any list may signal.
  event_pool& events() noexcept { return events_; }
  /// Pooled events for lists with the in-order flag: counter-based if the driver has such events.
  event_pool& ordered_events() noexcept { return counter_based_ ? counting_events_ : events_; }

 private:
  bool has_extension(const char* name) const;

  const driver_api& api_;
  const ze_driver_handle_t handle_;
  uint32_t version_ = 0;
  bool in_order_ = false, list_sync_ = false, put_handles_ = false, counter_based_ = false;
  bool relaxed_ = false;
  std::mutex mutex_;
  std::atomic<ze_context_handle_t> context_{nullptr};
  event_pool events_{*this, false};
  event_pool counting_events_{*this, true};
};

}  // namespace outback::level_zero
