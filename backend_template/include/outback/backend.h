// The torch half as a C++ program sees it: the call that registers a device runtime as a PyTorch
// backend, and the functions that the Python methods call. Read this to register a backend and to
// see its options. Needs libtorch but no Python. A Python extension module uses outback/module.h or
// outback/python.h instead, which include this file.
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

/// The treatment of an operator that has no kernel for the device and cannot run in place on the
/// device's memory. The CPU's kernel can still run over copies of the tensors, which is correct but
/// slow for large data.
enum class fallback_mode : uint8_t {
  allow,  // run the CPU's kernel over copies
  warn,   // also run it, but warn at the first call of each operator
  error   // throw c10::NotImplementedError (NotImplementedError in Python)
};

/// Two functions that carry a vendor's c10::BackendMeta of a tensor through torch.save and
/// torch.load, pickling and copy.copy (torch::jit::TensorBackendMetaRegistry). copy.deepcopy and
/// the queues of torch.multiprocessing lose the BackendMeta, because PyTorch does not call these
/// functions there.
///
/// Set both functions or neither. Both are called from any thread, with or without the GIL, and
/// live until the process ends. An exception reaches the caller of torch.save or torch.load.
struct backend_meta_functions {
  /// The part of a BackendMeta that a pickle keeps: names, each true or false. "conj" and "neg" are
  /// PyTorch's own names; if `save` adds one of them, torch.save fails with c10::ValueError.
  using names = std::unordered_map<std::string, bool>;
  /// Adds to `saved` the names that must be kept of the BackendMeta of `tensor`. Called only for
  /// tensors that have a BackendMeta.
  std::function<void(const at::Tensor& tensor, names& saved)> save = {};
  /// Gives `tensor` a BackendMeta made from `saved`. Called only if `save` added a name, and not if
  /// the tensor is loaded on another device.
  std::function<void(const at::Tensor& tensor, const names& saved)> load = {};
};

/// The description of a backend, which `register_backend` takes. Write it with designated
/// initializers: {.name = "acme", .runtime = table}. Only `name` and `runtime` are required.
struct backend_options {
  /// The device's name: `torch.device("<name>:0")`, `tensor.<name>()`, `torch.<name>`. 1 to 32
  /// lower-case letters and underscores. The first and the last character must be letters. Names
  /// that PyTorch, Python or C++ use already are refused (registration/taken_names.txt lists them).
  std::string name;
  /// The runtime's table. It is borrowed: the table and everything that it points to must live
  /// until the process ends. `outback::table_problem` says whether a table is accepted.
  const outback_runtime* runtime = nullptr;
  /// The dtypes that `torch.autocast("<name>")` may cast to; floating-point types only. An empty
  /// list means no autocast. The first dtype becomes the default in the thread that registers.
  /// PyTorch keeps a default for each thread, and a later thread begins with float16 until it calls
  /// `torch.set_autocast_dtype` or passes a dtype to `torch.autocast`. Autograd's threads take the
  /// default of the thread that called backward.
  std::vector<c10::ScalarType> amp_dtypes = {};
  /// The dtypes that tensors and storages of this device cannot have, besides those that the
  /// runtime rules out: with OUTBACK_NO_FLOAT64 in the flags of device 0, at::kDouble and
  /// at::kComplexDouble. Making such a tensor on the device, or moving such a tensor or module to
  /// it, throws c10::TypeError (TypeError in Python) before anything has moved.
  /// torch.accelerator.get_device_capability() lists the supported dtypes. For tests, the
  /// environment variable OUTBACK_FLOAT64=0 adds at::kDouble and at::kComplexDouble to this list.
  std::vector<c10::ScalarType> unsupported_dtypes = {};
  /// The fallback mode at the start. The environment variable OUTBACK_FALLBACK ("allow", "warn",
  /// "error") takes precedence; `set_fallback_mode` changes it later.
  fallback_mode fallback = fallback_mode::allow;
  /// Operators that get no kernel from Outback, written as "aten::add.Tensor" or "aten::mm". A
  /// vendor's kernel serves such an operator, or PyTorch composes it from other operators, or it
  /// raises NotImplementedError.
  std::vector<std::string> excluded_operators = {};
  /// The functions that keep, in files, a c10::BackendMeta that the vendor attached to a tensor.
  /// Without these functions, loaded tensors have no BackendMeta.
  backend_meta_functions backend_meta = {};
  /// Which Python methods to add. They correspond to the parameters `for_tensor` and so on of
  /// PyTorch's torch.utils.generate_methods_for_privateuse1_backend. The methods of modules and
  /// packed sequences need the methods of tensors. Ignored without Python.
  bool tensor_methods = true;
  bool module_methods = true;
  bool packed_sequence_methods = true;
  bool storage_methods = true;
};

/// Makes the runtime this process's PrivateUse1 backend: registers the device guard, the hooks, the
/// allocators, the operators and the name with PyTorch. Calls no slot and starts no driver: a
/// device starts when it is first used. Copies `options`, but not the table.
///
/// Checks everything before it changes anything. Throws c10::ValueError for a wrong option, for a
/// table that cannot be used and for a malformed environment variable. Throws c10::Error if another
/// backend is registered already, by Outback or by another library. A second call with the same
/// name and runtime does nothing, and may come from another thread at the same time. Do not call it
/// while other threads create tensors.
void register_backend(const backend_options& options);

/// Returns true once a backend is registered. Thread-safe.
bool is_registered() noexcept;

/// Returns the registered name, "" before the registration. The reference stays valid until the
/// process ends.
const std::string& backend_name() noexcept;

/// Sets and gets the fallback mode, which holds for all threads from then on. `register_backend`
/// sets the first mode. The mode does not affect operators that move or convert data (copy_, zero_,
/// tensor.to) or kernels that run in place. Thread-safe.
void set_fallback_mode(fallback_mode mode) noexcept;
fallback_mode get_fallback_mode() noexcept;

/// Returns true if the tensor or storage lives on a device of this backend, as `tensor.is_<name>`
/// and `storage.is_<name>` do. Returns false for an undefined tensor or storage. Thread-safe.
bool is_backend(const at::Tensor& tensor) noexcept;
bool is_backend(const c10::Storage& storage) noexcept;

// The functions below throw c10::Error before `register_backend`. They may be called from any
// thread.

/// Moves a tensor or a storage to the device, as `tensor.<name>(index)` and `storage.<name>(index)`
/// do. Returns the argument itself if it is on that device already, otherwise a copy. Without
/// `index` the target is the calling thread's current device. With `non_blocking` a copy from
/// pinned memory may still be running when the function returns; later work on the current stream
/// waits for it.
///
/// Throws c10::AcceleratorError (torch.AcceleratorError) if the index is out of range,
/// c10::TypeError for a tensor with an unsupported dtype, c10::ValueError if the argument is
/// undefined, and c10::OutOfMemoryError. outback/nn.h has the same functions for modules and packed
/// sequences.
at::Tensor to_backend(const at::Tensor& tensor,
                      std::optional<c10::DeviceIndex> index = std::nullopt,
                      bool non_blocking = false);
c10::Storage to_backend(const c10::Storage& storage,
                        std::optional<c10::DeviceIndex> index = std::nullopt,
                        bool non_blocking = false);

/// The arguments that `normalize_device` accepts besides a device of this backend with an index.
struct device_rules {
  /// Accepts no device, or a device without an index. Both mean the current device.
  bool optional = true;
  /// Accepts the CPU: the result is -1.
  bool allow_cpu = false;
};

/// Returns the device index that a user's argument names, such as 1, "acme:1" or a c10::Device,
/// after a check against the number of devices. Text is parsed as in torch.device, and
/// "privateuseone" counts as the backend's name.
///
/// Throws c10::ValueError (ValueError in Python) if the argument is not a device of this backend,
/// and c10::AcceleratorError if the device does not exist; the text names the valid values. Counts
/// the devices but starts none of them.
c10::DeviceIndex normalize_device(int64_t index);
c10::DeviceIndex normalize_device(std::optional<c10::Device> device, device_rules rules = {});
c10::DeviceIndex normalize_device(std::string_view device, device_rules rules = {});

}  // namespace outback
