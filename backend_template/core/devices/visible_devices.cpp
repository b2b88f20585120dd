#include "backend_template/core/devices/visible_devices.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/runtime.h"
#include "outback/answer_check.hpp"
#include "outback/detail/variables.hpp"
#include "outback/layers.hpp"
#include "outback/runtime_error.hpp"

namespace outback::core {
namespace {

using outback::detail::shown;

std::atomic<bool> is_selected{false};
// What the variable asked for. Null if it is not set. Never freed.
struct selection {
  std::string variable;  // and its value, for error texts
  std::vector<int32_t> devices;
};
std::atomic<const selection*> selected{nullptr};

}  // namespace

std::string visible_devices_variable() {
  std::string name = backend_name();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name + "_VISIBLE_DEVICES";
}

namespace {

// The layer over `all` for a list, and the devices that are left.
std::pair<const outback_runtime*, std::vector<int32_t>> narrowed(const outback_runtime* all,
                                                                 const std::string& list) {
  try {
    std::vector<int32_t> devices = layers::parse_visible_devices(all, list);
    const outback_runtime* const layer = layers::select_devices(all, devices);
    return {layer, std::move(devices)};
  } catch (const runtime_error& error) {
    TORCH_CHECK(false, backend_name(), ": ", visible_devices_variable(), "=", shown(list), ": ",
                outback::detail::printable(error.what()));
  }
}

// Returns what the runtime says of device 0 if it counts no device: its reason. Returns "" if it
// has devices, which are hidden then. It asks the table without the selection, which sees them all.
std::string why_there_are_none() {
  const outback_runtime& all = installed_runtime();
  int32_t count = 0;
  if (all.device_count(all.self, &count) == OUTBACK_OK && count > 0) return "";
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  if (all.device_info(all.self, 0, &info) == OUTBACK_OK) return "";
  const char* const why = all.last_error(all.self);
  return why == nullptr ? "" : as_utf8(why);
}

// True also if counting fails: then the selection meets the failure, and throws it.
bool has_devices(const outback_runtime& all) {
  int32_t count = 0;
  return all.device_count(all.self, &count) != OUTBACK_OK || count > 0;
}

}  // namespace

void select_visible_devices() {
  if (is_selected.load(std::memory_order_acquire)) return;
  const std::string name = visible_devices_variable();
  if (const auto list = outback::detail::raw_variable(name.c_str())) {
    // Without a device there is nothing to select from. A driver may come up later, so the next
    // call reads the variable again.
    if (!has_devices(installed_runtime())) return;
    auto [layer, devices] = narrowed(&installed_runtime(), *list);
    // Of two threads that come here at once, one puts its layer in place, and one tells what the
    // variable says, which is the same for both. The other's are leaked, as every layer is.
    cover_runtime(layer);
    const selection* before = nullptr;
    selected.compare_exchange_strong(before,
                                     new selection{name + "=" + shown(*list), std::move(devices)},
                                     std::memory_order_acq_rel);
  }
  is_selected.store(true, std::memory_order_release);
}

int32_t runtime_device(c10::DeviceIndex index) {
  check_index(index);
  const selection* const by = selected.load(std::memory_order_acquire);
  return by == nullptr ? index : by->devices.at(static_cast<size_t>(index));
}

std::string visible_devices_text() {
  const selection* const by = selected.load(std::memory_order_acquire);
  const std::string hidden = by == nullptr ? "" : " (" + by->variable + ")";
  const std::string why = device_count() == 0 ? why_there_are_none() : "";
  return why.empty() ? hidden : hidden + ": " + why;
}

}  // namespace outback::core
