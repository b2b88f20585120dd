#include "backend_template/ops/fallback/policy.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <mutex>
#include <unordered_set>

#include "backend_template/core/runtime.h"

namespace outback {
namespace {

std::atomic<fallback_mode> mode{fallback_mode::allow};

// True the first time.
bool is_news(const std::string& op) {
  static auto& guard = *new std::mutex;
  static auto& known = *new std::unordered_set<std::string>;
  const std::lock_guard<std::mutex> lock(guard);
  return known.insert(op).second;
}

}  // namespace

fallback_mode get_fallback_mode() noexcept {
  return mode.load(std::memory_order_relaxed);
}

void set_fallback_mode(fallback_mode wanted) noexcept {
  mode.store(wanted, std::memory_order_relaxed);
}

std::string ops::operator_text::text() const {
  return *overload == '\0' ? std::string(name) : std::string(name) + "." + overload;
}

void ops::before_fallback(const operator_text& op) {
  const fallback_mode now = get_fallback_mode();
  if (C10_LIKELY(now == fallback_mode::allow)) return;
  const std::string text = op.text();
  const std::string& device = core::backend_name();
  TORCH_CHECK_NOT_IMPLEMENTED(
      now != fallback_mode::error, text, " has no kernel for ", device,
      ". It could run on the CPU, over copies of its tensors, but the fallback mode is \"error\"; "
      "\"warn\" and \"allow\" let it");
  if (is_news(text)) {
    TORCH_WARN(text, " has no kernel for ", device,
               ": it runs on the CPU, over copies of its tensors. This is said once an operator.");
  }
}

}  // namespace outback
