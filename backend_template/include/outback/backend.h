// The torch half as a C++ program sees it: register a device runtime as a PyTorch backend, and the
// calls that the Python methods are made of. Needs libtorch, not Python; outback/python.h adds the
// latter.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outback/runtime.h"

namespace at {
class Tensor;
}  // namespace at

namespace outback {

/// What a backend says of itself, once.
struct backend_options {
  /// The device's name: `torch.device("<name>:0")`, `tensor.<name>()`, `torch.<name>`. Lower-case
  /// letters and underscores; not the name of a device that PyTorch has already.
  std::string name;
  /// The device. The table and all that it points to live until the process ends.
  const outback_runtime* runtime = nullptr;
  /// What `torch.autocast("<name>")` may cast to; the first one is its default. Empty: no autocast.
  std::vector<c10::ScalarType> amp_dtypes = {};
  /// The Python methods to add, one by one. Ignored without Python.
  bool tensor_methods = true;
  bool module_methods = true;
};

/// Makes the runtime the process's PrivateUse1 backend: guard, hooks, allocators, operators, name.
/// Makes no driver call: the device starts when it is first used. Everything is checked before
/// anything changes; a second call with the same name and runtime does nothing, any other throws
/// c10::Error. Not safe to call while other threads create tensors.
void register_backend(const backend_options& options);

/// True once `register_backend` has returned.
bool is_registered() noexcept;

/// The registered name, "" before.
const std::string& backend_name() noexcept;

/// True when `tensor` lives on this backend's device: `tensor.is_<name>`.
bool is_backend(const at::Tensor& tensor);

/// `tensor.<name>(index)`: the tensor itself when it is there already, else a copy. No index: the
/// current device. Throws c10::Error when the index is out of range.
at::Tensor to_backend(const at::Tensor& tensor,
                      std::optional<c10::DeviceIndex> index = std::nullopt,
                      bool non_blocking = false);

/// The index that a user's device argument names, checked against the number of devices. Absent, or
/// a device without an index, means the current device. Throws c10::Error with what was expected.
c10::DeviceIndex normalize_device(std::optional<c10::Device> device);
c10::DeviceIndex normalize_device(c10::DeviceIndex index);
c10::DeviceIndex normalize_device(std::string_view device);

}  // namespace outback
