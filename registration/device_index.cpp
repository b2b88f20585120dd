// What a user's device argument means: outback::normalize_device, is_backend, to_backend.
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <charconv>

#include "backend_template/core/device.h"
#include "backend_template/core/runtime.h"
#include "outback/backend.h"

namespace outback {

c10::DeviceIndex normalize_device(c10::DeviceIndex index) {
  core::check_index(index);
  return index;
}

c10::DeviceIndex normalize_device(std::optional<c10::Device> device) {
  if (!device.has_value()) return core::current_device();
  TORCH_CHECK_VALUE(device->type() == core::device_type, "expected a device of type ",
                    backend_name(), ", got \"", device->str(), "\"");
  return device->has_index() ? normalize_device(device->index()) : core::current_device();
}

c10::DeviceIndex normalize_device(std::string_view device) {
  const std::string& name = backend_name();
  const auto expect = [&](bool met) {
    TORCH_CHECK_VALUE(met, "expected \"", name, "\" or \"", name, ":<index>\", got \"", device,
                      "\"");
  };
  expect(device.substr(0, name.size()) == name);
  if (device.size() == name.size()) return core::current_device();
  expect(device[name.size()] == ':');
  const std::string_view digits = device.substr(name.size() + 1);
  // As in torch.device: no sign, no leading zero.
  expect(!digits.empty() && (digits.size() == 1 || digits.front() != '0'));
  int index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  expect(digits.front() != '-' && end == digits.data() + digits.size() &&
         error != std::errc::invalid_argument);
  TORCH_CHECK_INDEX(error == std::errc() && index < core::max_devices, device,
                    " does not exist: this process has ", static_cast<int>(core::device_count()),
                    " ", name, " devices");
  return normalize_device(static_cast<c10::DeviceIndex>(index));
}

bool is_backend(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_privateuseone();
}

at::Tensor to_backend(const at::Tensor& tensor, std::optional<c10::DeviceIndex> index,
                      bool non_blocking) {
  TORCH_CHECK_VALUE(tensor.defined(), "expected a tensor, got an undefined one");
  const c10::DeviceIndex target =
      index.has_value() ? normalize_device(*index) : core::current_device();
  return tensor.to(tensor.options().device(c10::Device(core::device_type, target)), non_blocking);
}

const std::string& backend_name() noexcept {
  return core::backend_name();
}

}  // namespace outback
