// What a user's device argument means: outback::normalize_device.
#include <c10/util/Exception.h>

#include <charconv>

#include "backend_template/core/device.h"
#include "backend_template/core/runtime.h"
#include "outback/backend.h"

namespace outback {
namespace {

constexpr c10::DeviceIndex cpu_index = -1;

std::string_view or_the_cpu(device_rules rules) {
  return rules.allow_cpu ? " or \"cpu\"" : "";
}

c10::DeviceIndex without_index(device_rules rules) {
  TORCH_CHECK_VALUE(rules.optional, "expected an index or a device with one, such as \"",
                    backend_name(), ":0\", got none");
  return core::current_device();
}

[[noreturn]] void refuse_text(std::string_view device, device_rules rules) {
  const std::string& name = backend_name();
  TORCH_CHECK_VALUE(false, "expected \"", name, "\" or \"", name, ":<index>\"", or_the_cpu(rules),
                    ", got \"", device, "\"");
  __builtin_unreachable();
}

// The index in "<name>:<index>". As in torch.device: no sign, no leading zero.
c10::DeviceIndex parse_index(std::string_view digits, std::string_view device, device_rules rules) {
  int64_t index = -1;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, index);
  const bool is_number = !digits.empty() && digits.front() != '-' && end == last &&
                         error != std::errc::invalid_argument;
  if (!is_number || (digits.size() > 1 && digits.front() == '0')) refuse_text(device, rules);
  TORCH_CHECK_INDEX(error == std::errc(), device, " does not exist: this process has ",
                    static_cast<int>(core::device_count()), " ", backend_name(), " devices");
  return normalize_device(index);
}

}  // namespace

c10::DeviceIndex normalize_device(int64_t index) {
  TORCH_CHECK_INDEX(index >= -core::max_devices && index < core::max_devices, backend_name(), ":",
                    index, " does not exist: expected an index below the number of devices, ",
                    static_cast<int>(core::device_count()));
  core::check_index(static_cast<c10::DeviceIndex>(index));
  return static_cast<c10::DeviceIndex>(index);
}

c10::DeviceIndex normalize_device(std::optional<c10::Device> device, device_rules rules) {
  if (!device.has_value()) return without_index(rules);
  if (device->is_cpu() && rules.allow_cpu) return cpu_index;
  TORCH_CHECK_VALUE(device->type() == core::device_type, "expected a device of type ",
                    backend_name(), or_the_cpu(rules), ", got \"", device->str(), "\"");
  return device->has_index() ? normalize_device(int64_t{device->index()}) : without_index(rules);
}

c10::DeviceIndex normalize_device(std::string_view device, device_rules rules) {
  const std::string& name = backend_name();
  if (rules.allow_cpu && (device == "cpu" || device == "cpu:0")) return cpu_index;
  if (device.substr(0, name.size()) != name) refuse_text(device, rules);
  if (device.size() == name.size()) return without_index(rules);
  if (device[name.size()] != ':') refuse_text(device, rules);
  return parse_index(device.substr(name.size() + 1), device, rules);
}

}  // namespace outback
