#include "backend_template/ops/copies/policy.h"

#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "backend_template/core/runtime/environment.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback {
namespace {

std::atomic<fallback_mode> mode{fallback_mode::allow};

// In the order of the enumeration: `name_of` takes the mode as an index.
constexpr std::array<std::pair<fallback_mode, std::string_view>, 3> mode_names{{
    {fallback_mode::allow, "allow"},
    {fallback_mode::warn, "warn"},
    {fallback_mode::error, "error"},
}};

constexpr const char* mode_variable = "OUTBACK_FALLBACK";

// True at the first call with this operator. Leaked sets: operators may run until the process ends.
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

std::string_view ops::name_of(fallback_mode mode) noexcept {
  return mode_names[static_cast<size_t>(mode)].second;
}

fallback_mode ops::read_fallback_mode(std::string_view text, std::string_view what) {
  for (const auto& [mode, name] : mode_names) {
    if (text == name) return mode;
  }
  TORCH_CHECK_VALUE(false, what, ": expected \"allow\", \"warn\" or \"error\", got \"", text, "\"");
}

fallback_mode ops::initial_fallback_mode(fallback_mode otherwise) {
  const auto named = core::from_environment([] {
    return outback::detail::choice_variable(
        mode_variable, {mode_names[0].second, mode_names[1].second, mode_names[2].second});
  });
  return named ? mode_names[*named].first : otherwise;
}

void ops::before_fallback(const operator_text& op) {
  // First, since every operator over copies comes here: no text is made unless something is said.
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
