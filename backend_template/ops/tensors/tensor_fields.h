// The fields of a c10::TensorImpl that turn a tensor of one device into one of another, in place.
// Aliases and results need them; all other code should use torch's own functions.
#pragma once

#include <ATen/core/TensorBase.h>
#include <c10/core/Backend.h>
#include <c10/core/Device.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/TensorImpl.h>

namespace outback::ops {

/// Access to protected members of TensorImpl. torch offers no setter for a tensor's device and
/// keys, and its setters for sizes compute contiguity again. A derived class may form pointers to
/// protected members, and such a pointer works on any TensorImpl. No object of this class is ever
/// made.
///
/// Only for tensors that no other code can see yet.
struct tensor_fields : c10::TensorImpl {
  tensor_fields() = delete;

  static void set_device(c10::TensorImpl& tensor, c10::Device device) {
    tensor.*(&tensor_fields::device_opt_) = device;
  }

  static void set_keys(c10::TensorImpl& tensor, c10::DispatchKeySet keys) {
    tensor.*(&tensor_fields::key_set_) = keys;
  }

  /// Copies sizes, strides, offset, dtype, contiguity and flags, without computing them again.
  /// Copies the device too, so call `set_device` afterwards.
  static void copy_geometry(const c10::TensorImpl& from, c10::TensorImpl& to) {
    copy_generic_tensor_metadata(&from, &to);
  }

  /// `offset` counts elements.
  static void set_offset(c10::TensorImpl& tensor, int64_t offset) {
    tensor.*(&tensor_fields::storage_offset_) = offset;
  }

  static void set_storage(c10::TensorImpl& tensor, c10::Storage storage) {
    tensor.*(&tensor_fields::storage_) = std::move(storage);
  }

  /// Returns true if the tensor has no state except for the fields that the functions above set and
  /// its own version counter, at 0: no Python object, gradient, names or symbolic sizes.
  static bool has_nothing_else(const c10::TensorImpl& tensor) {
    const c10::VariableVersion& version = tensor.version_counter();
    return tensor.pyobj_slot()->load_pyobj() == nullptr && tensor.autograd_meta() == nullptr &&
           version.unique() && (!version.enabled() || version.current_version() == 0) &&
           tensor.*(&tensor_fields::extra_meta_) == nullptr;
  }
};

/// Returns `keys` with the backend `to` instead of `from`, also in the autocast keys.
inline c10::DispatchKeySet move_keys(c10::DispatchKeySet keys, c10::BackendComponent from,
                                     c10::BackendComponent to) {
  const c10::DispatchKeySet autocast = c10::getAutocastRelatedKeySetFromBackend(from);
  if (!(keys & autocast).empty()) {
    keys = (keys - autocast) | c10::getAutocastRelatedKeySetFromBackend(to);
  }
  return keys.remove_backend(from) | c10::DispatchKeySet(to);
}

/// The keys of tensors that have more than sizes, strides and a storage.
inline constexpr c10::DispatchKeySet special_layout_keys{
    c10::DispatchKey::Sparse, c10::DispatchKey::SparseCsr, c10::DispatchKey::Quantized,
    c10::DispatchKey::NestedTensor};

/// The keys of subclasses written in Python, and of the wrappers of transforms and tracers.
inline constexpr c10::DispatchKeySet wrapper_keys{
    c10::DispatchKey::Python, c10::DispatchKey::FuncTorchGradWrapper,
    c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::Functionalize};

/// Returns true if the tensor has only sizes, strides and a storage.
inline bool is_plain(const c10::TensorImpl& tensor) {
  return (tensor.key_set() & special_layout_keys).empty();
}

/// Returns true if `tensor`, which must be defined, is on a device of this backend.
inline bool is_ours(const at::TensorBase& tensor) {
  return tensor.unsafeGetTensorImpl()->is_privateuseone();
}

}  // namespace outback::ops
