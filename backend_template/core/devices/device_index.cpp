// The meaning of a user's device argument: outback::normalize_device (outback/backend.h), and the
// two steps of it in device_index.h.
#include <c10/util/Exception.h>

#include <charconv>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/device_index.h"
#include "backend_template/core/runtime/runtime.h"
#include "outback/backend.h"

namespace outback {
namespace {

constexpr c10::DeviceIndex cpu_index = -1;

std::string_view or_the_cpu(device_rules rules) {
  return rules.allow_cpu ? " or \"cpu\"" : "";
}

void check_registered() {
  TORCH_CHECK(core::is_installed(),
              "no backend is registered: call outback::register_backend first");
}

c10::DeviceIndex without_index(device_rules rules) {
  TORCH_CHECK_VALUE(rules.optional, "expected an index or a device with one, such as \"",
                    backend_name(), ":0\", got none");
  check_registered();
  return core::current_device();
}

[[noreturn]] void refuse_text(std::string_view device, device_rules rules) {
  const std::string& name = backend_name();
  TORCH_CHECK_VALUE(false, "expected \"", name, "\" or \"", name, ":<index>\"", or_the_cpu(rules),
                    ", got \"", device, "\"");
  __builtin_unreachable();
}

// Takes what torch.device takes: no sign, and no leading zero.
int64_t read_index(std::string_view digits, std::string_view device, device_rules rules) {
  int64_t index = -1;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, index);
  const bool is_number = !digits.empty() && digits.front() != '-' && end == last &&
                         error != std::errc::invalid_argument;
  if (!is_number || (digits.size() > 1 && digits.front() == '0')) refuse_text(device, rules);
  // What is left is a number beyond int64_t, which is an index that does not exist.
  if (error != std::errc()) core::refuse_index(digits);
  return index;
}

// Returns what follows the name, which may be "", or nothing if the text begins otherwise.
std::optional<std::string_view> after_name(std::string_view device, std::string_view name) {
  if (device.substr(0, name.size()) != name) return std::nullopt;
  return device.substr(name.size());
}

}  // namespace

c10::DeviceIndex normalize_device(int64_t index) {
  check_registered();
  core::check_index(index);
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
  const int64_t index = core::read_device(device, rules);
  return index == cpu_index ? cpu_index : normalize_device(index);
}

int64_t core::read_device(std::string_view device, device_rules rules) {
  if (rules.allow_cpu && (device == "cpu" || device == "cpu:0")) return cpu_index;
  std::optional<std::string_view> rest = after_name(device, backend_name());
  // torch.device takes its own name for the type, besides the registered one, in any process.
  if (!rest) rest = after_name(device, "privateuseone");
  if (!rest) refuse_text(device, rules);
  if (rest->empty()) return without_index(rules);
  if (rest->front() != ':') refuse_text(device, rules);
  return read_index(rest->substr(1), device, rules);
}

c10::DeviceIndex core::index_or_current(std::optional<c10::DeviceIndex> index) {
  return index.has_value() ? normalize_device(int64_t{*index}) : normalize_device(std::nullopt);
}

}  // namespace outback
