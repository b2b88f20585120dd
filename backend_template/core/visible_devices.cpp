#include "backend_template/core/visible_devices.h"

#include <c10/util/Exception.h>
#include <c10/util/env.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <optional>

#include "backend_template/core/runtime.h"
#include "outback/answer_check.hpp"
#include "outback/layers.hpp"
#include "outback/runtime_error.hpp"

namespace outback::core {
namespace {

std::atomic<bool> is_selected{false};
// Leaked. Null if the variable is not set.
std::atomic<const std::string*> selected_by{nullptr};

}  // namespace

std::string visible_devices_variable() {
  std::string name = backend_name();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name + "_VISIBLE_DEVICES";
}

namespace {

const outback_runtime* narrowed(const outback_runtime* all, const std::string& list) {
  try {
    return layers::select_devices(all, layers::parse_visible_devices(all, list));
  } catch (const runtime_error& error) {
    TORCH_CHECK(false, backend_name(), ": ", visible_devices_variable(), "=", list, ": ",
                as_utf8(error.what()));
  }
}

}  // namespace

void select_visible_devices() {
  if (is_selected.load(std::memory_order_acquire)) return;
  const std::string name = visible_devices_variable();
  if (const std::optional<std::string> list = c10::utils::get_env(name.c_str())) {
    // Of two threads that come here at once, one keeps its table. The other's is leaked, as every
    // layer is.
    if (cover_runtime(narrowed(&installed_runtime(), *list))) {
      selected_by.store(new std::string(name + "=" + *list), std::memory_order_release);
    }
  }
  is_selected.store(true, std::memory_order_release);
}

std::string visible_devices_text() {
  const std::string* by = selected_by.load(std::memory_order_acquire);
  return by == nullptr ? "" : " (" + *by + ")";
}

}  // namespace outback::core
