// The fields of a c10::TensorImpl that turn a tensor of one device into one of another, in place.
#pragma once

#include <ATen/core/TensorBase.h>
#include <c10/core/Backend.h>
#include <c10/core/Device.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/Storage.h>
#include <c10/core/TensorImpl.h>

namespace outback::ops {

/// TensorImpl fixes its device and its keys at birth, and its setters for sizes work them out anew.
/// Both are protected members: a derived class may name them, and a pointer to such a member works
/// on any TensorImpl. Only for tensors that nobody else can see yet.
struct tensor_fields : c10::TensorImpl {
  tensor_fields() = delete;

  static void set_device(c10::TensorImpl& tensor, c10::Device device) {
    tensor.*(&tensor_fields::device_opt_) = device;
  }

  static void set_keys(c10::TensorImpl& tensor, c10::DispatchKeySet keys) {
    tensor.*(&tensor_fields::key_set_) = keys;
  }

  /// Sizes, strides, offset, dtype, contiguity and flags, without working any of them out. The
  /// device too.
  static void copy_geometry(const c10::TensorImpl& from, c10::TensorImpl& to) {
    copy_generic_tensor_metadata(&from, &to);
  }
};

/// `keys` with everything that names the backend `from` naming `to` instead.
inline c10::DispatchKeySet move_keys(c10::DispatchKeySet keys, c10::BackendComponent from,
                                     c10::BackendComponent to) {
  const c10::DispatchKeySet autocast = c10::getAutocastRelatedKeySetFromBackend(from);
  if (!(keys & autocast).empty()) {
    keys = (keys - autocast) | c10::getAutocastRelatedKeySetFromBackend(to);
  }
  return keys.remove_backend(from) | c10::DispatchKeySet(to);
}

/// The keys of tensors that are more than sizes, strides and a storage.
inline constexpr c10::DispatchKeySet special_layout_keys{
    c10::DispatchKey::Sparse, c10::DispatchKey::SparseCsr, c10::DispatchKey::Quantized,
    c10::DispatchKey::NestedTensor};

/// No more than sizes, strides and a storage.
inline bool is_plain(const c10::TensorImpl& tensor) {
  return (tensor.key_set() & special_layout_keys).empty();
}

inline bool is_ours(const at::TensorBase& tensor) {
  return tensor.unsafeGetTensorImpl()->is_privateuseone();
}

}  // namespace outback::ops
