// Sums at places that an index has.
#pragma once

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "backend_template/portable/engine/index_kernels.h"
#include "backend_template/portable/engine/number_type.h"

namespace outback::portable {

/// Returns true if the kernel may add in a fixed order, and so has to know the order:
/// floating-point numbers, if PyTorch is to be deterministic, and float64 always, since some
/// devices have no atomic operations of 64 bits.
inline bool is_ordered(number_type type) {
  return type == number_type::f64 ||
         (type == number_type::f32 && at::globalContext().deterministicAlgorithms());
}

/// Returns the dtype in which sums of `dtype` are made: float32, float64 or int64.
inline c10::ScalarType dtype_of_sum(c10::ScalarType dtype) {
  const number_type type = type_computed_in(dtype);
  return type == number_type::f32   ? c10::kFloat
         : type == number_type::f64 ? c10::kDouble
                                    : c10::kLong;
}

/// Calls `sum(to, type)`, which adds to the tensor `to` with launch_add_at: to `out` itself or, for
/// a dtype in which no sums are made, to a copy, whose values then go back to `out`.
template <class Sum>
void sum_into(const at::Tensor& out, const Sum& sum) {
  const number_type type = type_computed_in(out.scalar_type());
  const c10::ScalarType dtype = dtype_of_sum(out.scalar_type());
  if (dtype == out.scalar_type()) return sum(out, type);
  const at::Tensor wide = at::empty(out.sizes(), out.options().dtype(dtype));
  copy_values(wide, out);
  sum(wide, type);
  copy_values(out, wide);
}

}  // namespace outback::portable
