// The torch half as a C++ program sees it: register a device runtime as a PyTorch backend, and the
// calls that the Python methods are made of. Needs libtorch, not Python; outback/python.h adds the
// latter.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "outback/runtime.h"

namespace at {
class Tensor;
}  // namespace at

namespace outback {

/// What to do with an operator that has no kernel for the device where the CPU cannot address its
/// memory: the CPU's kernel can run all the same, over copies of the tensors.
enum class fallback_mode : uint8_t {
  allow,  // run it so
  warn,   // and say so, once an operator
  error   // c10::NotImplementedError instead
};

/// What a vendor's c10::BackendMeta says of a tensor, through torch.save and torch.load, pickling
/// and copy.copy. Both functions or none; they may be called from any thread, with or without the
/// GIL, and what they throw arrives at the caller of torch.save or torch.load. copy.deepcopy and
/// multiprocessing's queues make tensors without: PyTorch does not ask there.
struct backend_meta_functions {
  /// All that a pickle of PyTorch's keeps: names, each true or false. "conj" and "neg" are its own.
  using names = std::unordered_map<std::string, bool>;
  /// Adds what there is to say of `tensor`'s BackendMeta. Only for tensors that have one.
  std::function<void(const at::Tensor& tensor, names& saved)> save = {};
  /// Gives `tensor` a BackendMeta made of what `save` added. Only where it added something; not
  /// where the tensor is loaded on another device.
  std::function<void(const at::Tensor& tensor, const names& saved)> load = {};
};

/// What a backend says of itself, once.
struct backend_options {
  /// The device's name: `torch.device("<name>:0")`, `tensor.<name>()`, `torch.<name>`. Lower-case
  /// letters and underscores; not the name of a device that PyTorch has already.
  std::string name;
  /// The device. The table and all that it points to live until the process ends.
  const outback_runtime* runtime = nullptr;
  /// What `torch.autocast("<name>")` may cast to; the first one is its default, in the thread that
  /// registers. PyTorch has a default for each thread, and nobody can set those of threads to come:
  /// there it is float16 until `torch.set_autocast_dtype`, or until `torch.autocast` is given a
  /// dtype. Autograd's threads have that of whoever called backward. Empty: no autocast.
  std::vector<c10::ScalarType> amp_dtypes = {};
  /// What tensors and storages of this device cannot be. Moving such a tensor or module there is a
  /// TypeError, before anything has moved.
  std::vector<c10::ScalarType> unsupported_dtypes = {};
  /// The mode to begin with. The environment's OUTBACK_FALLBACK ("allow", "warn", "error") comes
  /// first.
  fallback_mode fallback = fallback_mode::allow;
  /// Operators that get no kernel of Outback's, spelled "aten::add.Tensor" or "aten::mm": a
  /// vendor's serves them, or what PyTorch composes them of, or they are not implemented.
  std::vector<std::string> excluded_operators = {};
  /// How tensors keep a c10::BackendMeta of the vendor's in files. None: they lose it.
  backend_meta_functions backend_meta = {};
  /// The Python methods to add, one by one: `for_tensor` and so on of PyTorch's
  /// generate_methods_for_privateuse1_backend. Modules and packed
  /// sequences need the tensor's. Ignored without Python.
  bool tensor_methods = true;
  bool module_methods = true;
  bool packed_sequence_methods = true;
  bool storage_methods = true;
};

/// Makes the runtime the process's PrivateUse1 backend: guard, hooks, allocators, operators, name.
/// Makes no driver call: the device starts when it is first used. Everything is checked before
/// anything changes; a second call with the same name and runtime does nothing, from whichever
/// thread, any other throws c10::Error. Not safe to call while other threads create tensors.
void register_backend(const backend_options& options);

/// True once `register_backend` has returned.
bool is_registered() noexcept;

/// The registered name, "" before.
const std::string& backend_name() noexcept;

/// The mode from now on, for all threads; `register_backend` sets the first one. Operators that
/// move or convert data (copy_, zero_, tensor.to) are not judged by it.
void set_fallback_mode(fallback_mode mode) noexcept;
fallback_mode get_fallback_mode() noexcept;

/// True when it lives on this backend's device: `tensor.is_<name>`, `storage.is_<name>`. False for
/// undefined ones.
bool is_backend(const at::Tensor& tensor) noexcept;
bool is_backend(const c10::Storage& storage) noexcept;

// What follows throws c10::Error before `register_backend`, and may be called from any thread.

/// `tensor.<name>(index)` and `storage.<name>(index)`: itself when it is there already, else a
/// copy. No index: the current device. With `non_blocking` a copy from pinned memory returns before
/// it is done. Throws c10::AcceleratorError when the index is out of range, c10::TypeError for an
/// unsupported dtype, c10::ValueError when nothing is there to move, and c10::OutOfMemoryError.
/// outback/nn.h has the same for modules and packed sequences.
at::Tensor to_backend(const at::Tensor& tensor,
                      std::optional<c10::DeviceIndex> index = std::nullopt,
                      bool non_blocking = false);
c10::Storage to_backend(const c10::Storage& storage,
                        std::optional<c10::DeviceIndex> index = std::nullopt,
                        bool non_blocking = false);

/// What `normalize_device` takes besides a device of this backend with an index.
struct device_rules {
  /// No device, or one without an index: the current device.
  bool optional = true;
  /// The CPU: -1.
  bool allow_cpu = false;
};

/// The index that a user's device argument names, checked against the number of devices. Throws
/// c10::ValueError for what is no device of this backend and c10::AcceleratorError for one that
/// does not exist, with what was expected. Never starts a device.
c10::DeviceIndex normalize_device(int64_t index);
c10::DeviceIndex normalize_device(std::optional<c10::Device> device, device_rules rules = {});
c10::DeviceIndex normalize_device(std::string_view device, device_rules rules = {});

}  // namespace outback
