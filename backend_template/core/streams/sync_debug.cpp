#include "backend_template/core/streams/sync_debug.h"

#include <c10/util/Exception.h>

#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace detail {

std::atomic<sync_debug_mode> sync_debug_mode_now{sync_debug_mode::off};

void report_synchronizing(sync_debug_mode mode) {
  TORCH_CHECK(mode != sync_debug_mode::error, "called a synchronizing ", backend_name(),
              " operation");
  TORCH_WARN("called a synchronizing ", backend_name(), " operation");
}

}  // namespace detail

void set_sync_debug_mode(sync_debug_mode mode) noexcept {
  detail::sync_debug_mode_now.store(mode, std::memory_order_relaxed);
}

sync_debug_mode get_sync_debug_mode() noexcept {
  return detail::sync_debug_mode_now.load(std::memory_order_relaxed);
}

}  // namespace outback::core
