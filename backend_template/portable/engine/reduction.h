// Reductions: launches a kernel of portable/kernels/reduce.k over a TensorIterator that reduces.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>

#include "backend_template/portable/engine/kernel_cache.h"
#include "backend_template/portable/engine/numbers.h"

namespace outback::portable {

/// A reduction of portable/kernels/reduce.k: the name of its kernels.
struct reduction {
  explicit constexpr reduction(const char* name, bool of_floats = false)
      : name(name), of_floats(of_floats) {}

  const char* name;
  bool of_floats;  // there are no kernels for integers
  // For each of 6 types of kernels: by groups, by items, and of parts.
  kernel_cache<18> kernels;
};

/// Reduces the input of `elements` to its output, both on the device, on its current stream. The
/// iterator is what at::meta::make_reduction makes without a cast: it has one input of at least one
/// value, and kernels read and write any dtype that `takes` accepts. Computes in the type for
/// `dtype`: that of the result for sums, that of the input for maxima. `s` is a number that the
/// reduction takes. Makes the same bits each time.
///
/// Throws no_kernel, before anything is written, if there is no kernel for `dtype`; and what
/// core::launch_kernel throws.
void run_reduction(const at::TensorIteratorBase& elements, reduction& which, c10::ScalarType dtype,
                   double s = 0);

/// Computes the variance of the input into the output, or its root, and the mean into `mean` if it
/// is defined: a tensor of the output's sizes, strides and dtype. `correction` is subtracted from
/// the count.
void run_variance(const at::TensorIteratorBase& elements, double correction, bool take_root,
                  const at::Tensor& mean);

/// Finds the largest value, or the smallest, and its place along the reduced dimensions in their
/// order. `elements` has the places, int64, as output 0, and may have the values as output 1.
void run_extreme(const at::TensorIteratorBase& elements, bool is_largest);

}  // namespace outback::portable
