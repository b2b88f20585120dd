// Tensors of kernels that take contiguous memory of one floating-point type.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "backend_template/portable/engine/kernel_cache.h"
#include "backend_template/portable/engine/launch.h"
#include "backend_template/portable/engine/number_type.h"

namespace outback::portable {

/// Returns the type of kernels for contiguous floating-point memory of `dtype`. Throws no_kernel if
/// `dtype` is no such type.
inline number_type type_of_floats(c10::ScalarType dtype) {
  if (dtype == c10::kDouble) return number_type::f64;
  if (const auto type = type_of_memory(dtype)) return *type;
  throw no_kernel();
}

/// Calls `run` with a 0 of the type in which kernels of `type` compute: double for f64, float for
/// all other floating-point types.
template <class Run>
void with_computed_type(number_type type, const Run& run) {
  if (type == number_type::f64) {
    run(double{});
  } else {
    run(float{});
  }
}

/// Returns the dtype of with_computed_type's type.
inline c10::ScalarType computed_dtype(number_type type) {
  return type == number_type::f64 ? c10::kDouble : c10::kFloat;
}

/// Returns the tensor with contiguous memory: itself, or a copy on its device. An undefined one
/// stays undefined.
inline at::Tensor dense(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.contiguous() : tensor;
}

/// Returns the address of the tensor's values; null if it is undefined.
inline device_pointer pointer_to(const at::Tensor& tensor) {
  return {tensor.defined() ? tensor.const_data_ptr() : nullptr};
}

/// An output that the kernel writes as contiguous memory of `dtype`: in place, or in a temporary if
/// the output lies otherwise.
class dense_output {
 public:
  dense_output(const at::Tensor& output, c10::ScalarType dtype);
  explicit dense_output(const at::Tensor& output) : dense_output(output, output.scalar_type()) {}

  /// What the kernel writes.
  const at::Tensor& written() const { return written_; }

  /// Copies a temporary to the output, in stream order. Call it after the launch.
  void finish() const;

 private:
  const at::Tensor& output_;
  at::Tensor written_;
};

}  // namespace outback::portable
